//! Notes the moments at which bytes go through a socket.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::clock::{RunClock, Timestamp};
use crate::engine::stream::reader::Arrival;

/// A socket that stamps each read and each write as it returns, before anyone looks at the bytes.
#[derive(Debug)]
pub(crate) struct Stamped<S> {
    socket: S,
    marks: Marks,
}

/// The moments noted, shared by a socket and whoever reads its answers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marks(Arc<Mutex<Noted>>);

#[derive(Debug, Default)]
struct Noted {
    clock: Option<RunClock>,
    last_read: Timestamp,
    reads: u64,
    last_write: Timestamp,
    written: u64,
    sent: Option<Timestamp>,
}

impl Marks {
    /// Begins to note the moments of a request on this clock.
    pub(crate) fn begin(&self, clock: RunClock) {
        self.with(|noted| {
            *noted = Noted { clock: Some(clock), reads: noted.reads, ..Noted::default() };
        });
    }

    /// When the request had been written whole, once it has.
    pub(crate) fn sent(&self) -> Option<Timestamp> {
        self.with(|noted| noted.sent)
    }

    /// The last read.
    pub(crate) fn arrival(&self) -> Arrival {
        self.with(|noted| Arrival { at: noted.last_read, read: noted.reads })
    }

    fn with<T>(&self, action: impl FnOnce(&mut Noted) -> T) -> T {
        action(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn read(&self, bytes: usize) {
        self.with(|noted| {
            // The end of a stream is stamped too.
            noted.last_read = noted.clock.map_or(Timestamp::ZERO, |clock| clock.now());
            noted.reads += u64::from(bytes > 0);
        });
    }

    fn wrote(&self, bytes: usize) {
        self.with(|noted| {
            noted.last_write = noted.clock.map_or(Timestamp::ZERO, |clock| clock.now());
            noted.written += bytes as u64;
        });
    }

    /// The HTTP client flushes when it has written all that it had: the whole request, since bodies are ready.
    fn flushed(&self) {
        self.with(|noted| {
            if noted.written > 0 && noted.sent.is_none() {
                noted.sent = Some(noted.last_write);
            }
        });
    }
}

impl<S> Stamped<S> {
    /// Wraps a socket.
    pub(crate) fn new(socket: S) -> (Self, Marks) {
        let marks = Marks::default();
        (Self { socket, marks: marks.clone() }, marks)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Stamped<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let result = ready!(Pin::new(&mut self.socket).poll_read(cx, buffer));
        self.marks.read(buffer.filled().len() - before);
        Poll::Ready(result)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Stamped<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.socket).poll_write(cx, bytes))?;
        self.marks.wrote(written);
        Poll::Ready(Ok(written))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.socket).poll_write_vectored(cx, slices))?;
        self.marks.wrote(written);
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.socket).poll_flush(cx))?;
        self.marks.flushed();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}
