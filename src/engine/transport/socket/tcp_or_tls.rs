//! A connected socket, with or without TLS.

use std::cell::RefCell;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use super::stamped::Stamped;

/// The name of HTTP/2 among those that TLS offers (RFC 9113, section 3.2).
pub(crate) const HTTP2: &[u8] = b"h2";
/// Bytes per read.
const READ: usize = 64 << 10;

thread_local! {
    /// The read buffer. One buffer serves all connections of a thread, each while it looks at what it read: a
    /// waiting stream holds none.
    static READ_BUFFER: RefCell<Box<[u8]>> = RefCell::new(vec![0; READ].into());
}

pub(crate) enum Socket {
    /// Plain TCP.
    Plain(Stamped<TcpStream>),
    /// TLS over it.
    Tls(Box<TlsStream<Stamped<TcpStream>>>),
}

/// The result of a read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SocketRead<'a> {
    /// The bytes; none at the end of the stream.
    pub bytes: &'a [u8],
    /// Whether there may be more right away.
    pub filled: bool,
}

impl Socket {
    /// The TCP socket, also under TLS.
    pub(crate) fn stamped(&mut self) -> &mut Stamped<TcpStream> {
        match self {
            Self::Plain(socket) => socket,
            Self::Tls(socket) => socket.get_mut().0,
        }
    }

    /// Whether both sides agreed on HTTP/2 when TLS began (ALPN).
    pub(crate) fn has_agreed_on_http2(&self) -> bool {
        matches!(self, Self::Tls(socket) if socket.get_ref().1.alpn_protocol() == Some(HTTP2))
    }

    /// Reads and hands the bytes to `look`.
    pub(crate) fn poll_read<T>(
        &mut self,
        cx: &mut Context<'_>,
        look: impl FnOnce(&mut Self, io::Result<SocketRead<'_>>) -> T,
    ) -> Poll<T> {
        READ_BUFFER.with_borrow_mut(|buffer| {
            let read = match self {
                Self::Plain(socket) => socket.poll_receive(cx, buffer),
                Self::Tls(socket) => {
                    let mut buffer = ReadBuf::new(buffer);
                    let read = Pin::new(socket).poll_read(cx, &mut buffer);
                    read.map_ok(|()| buffer.filled().len())
                }
            };
            read.map(|read| {
                let read = read.map(|bytes| SocketRead { bytes: &buffer[..bytes], filled: bytes == buffer.len() });
                look(self, read)
            })
        })
    }

    /// Writes several slices at once.
    pub(crate) fn poll_write(&mut self, cx: &mut Context<'_>, slices: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        match self {
            Self::Plain(socket) => Pin::new(socket).poll_write_vectored(cx, slices),
            Self::Tls(socket) => Pin::new(socket).poll_write_vectored(cx, slices),
        }
    }

    /// Flushes what was written.
    pub(crate) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Plain(socket) => Pin::new(socket).poll_flush(cx),
            Self::Tls(socket) => Pin::new(socket).poll_flush(cx),
        }
    }
}
