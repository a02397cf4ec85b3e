//! The socket beneath HTTP/2, whose reads and writes are noted in a ledger.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::ledger::Ledger;
use crate::engine::transport::socket::Socket;

/// A ledger that the socket writes, and that all streams of its connection read.
#[derive(Clone, Default)]
pub(super) struct SharedLedger(Arc<Mutex<Ledger>>);

impl SharedLedger {
    /// Opens it; a panic elsewhere leaves it valid.
    pub(super) fn open(&self) -> MutexGuard<'_, Ledger> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A socket that is watched. What it reads is decoded elsewhere, and not before it is noted.
pub(super) struct Watched {
    socket: Socket,
    ledger: SharedLedger,
}

impl Watched {
    /// Watches a socket whose clock runs.
    pub(super) fn new(socket: Socket, ledger: SharedLedger) -> Self {
        Self { socket, ledger }
    }

    fn flushed(&mut self) {
        if let Some(at) = self.socket.stamped().last_write() {
            self.ledger.open().flushed(at);
        }
    }
}

impl AsyncRead for Watched {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let Self { socket, ledger } = &mut *self;
        let before = buffer.filled().len();
        ready!(match socket {
            Socket::Plain(socket) => Pin::new(socket).poll_read(cx, buffer),
            Socket::Tls(socket) => Pin::new(socket).poll_read(cx, buffer),
        })?;
        let stamped = socket.stamped();
        let delay = stamped.read_delay.take();
        ledger.open().read(&buffer.filled()[before..], stamped.arrival(), delay);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Watched {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let taken = ready!(self.socket.poll_write(cx, slices))?;
        let mut left = taken;
        for slice in slices {
            let length = left.min(slice.len());
            self.ledger.open().wrote(&slice[..length]);
            left -= length;
        }
        // TLS may hold what it took until it is flushed.
        if let Socket::Plain(_) = self.socket {
            self.flushed();
        }
        Poll::Ready(Ok(taken))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.socket.poll_flush(cx))?;
        self.flushed();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.socket {
            Socket::Plain(socket) => Pin::new(socket).poll_shutdown(cx),
            Socket::Tls(socket) => Pin::new(socket).poll_shutdown(cx),
        }
    }
}
