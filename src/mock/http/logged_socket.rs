//! A client's socket that logs when it takes bytes and can end with a reset.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::connection_log::ConnectionLog;

/// The socket beneath HTTP.
#[derive(Debug)]
pub(crate) struct LoggedSocket {
    socket: TcpStream,
    log: ConnectionLog,
}

impl LoggedSocket {
    pub(crate) fn new(socket: TcpStream, log: ConnectionLog) -> Self {
        Self { socket, log }
    }
}

impl AsyncRead for LoggedSocket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(context, buffer)
    }
}

impl AsyncWrite for LoggedSocket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let taken = ready!(Pin::new(&mut self.socket).poll_write(context, bytes))?;
        self.log.took();
        Poll::Ready(Ok(taken))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let taken = ready!(Pin::new(&mut self.socket).poll_write_vectored(context, slices))?;
        self.log.took();
        Poll::Ready(Ok(taken))
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // HTTP flushes when it has written all that it holds; a full socket keeps it from coming here.
        self.log.took_all();
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}

impl Drop for LoggedSocket {
    fn drop(&mut self) {
        if self.log.is_cut() {
            let _ = self.socket.set_zero_linger();
        }
        self.log.abandon();
    }
}
