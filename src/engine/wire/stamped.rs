//! Notes the moments at which bytes go through a socket.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::clock::{RunClock, Timestamp};
use crate::engine::stream::reader::Arrival;

/// A socket that stamps each read as it returns, before anyone looks at the bytes, and each write as it begins.
///
/// A write is stamped before the system is asked, not after: on one machine the server may read a request and
/// begin to answer it while the call that wrote it has not returned. A request counts as sent when the last of
/// its writes began, the one that took its last bytes; a try that found no room in the socket does not count.
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

    /// When the write that took the last of the request began, once all of it is written.
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

    fn now(&self) -> Timestamp {
        self.with(|noted| noted.clock.map_or(Timestamp::ZERO, |clock| clock.now()))
    }

    fn wrote(&self, bytes: usize, began: Timestamp) {
        self.with(|noted| {
            noted.last_write = began;
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
        let began = self.marks.now();
        let written = ready!(Pin::new(&mut self.socket).poll_write(cx, bytes))?;
        self.marks.wrote(written, began);
        Poll::Ready(Ok(written))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let began = self.marks.now();
        let written = ready!(Pin::new(&mut self.socket).poll_write_vectored(cx, slices))?;
        self.marks.wrote(written, began);
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::AsyncWriteExt;

    use super::*;

    /// A socket that has no room at the first try, and whose peer has the bytes well before a write returns.
    struct Slow {
        clock: RunClock,
        tries: u32,
        taken_at: Timestamp,
    }

    impl AsyncWrite for Slow {
        fn poll_write(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            self.tries += 1;
            if self.tries == 1 {
                std::thread::sleep(Duration::from_millis(2));
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            self.taken_at = self.clock.now();
            std::thread::sleep(Duration::from_millis(2));
            Poll::Ready(Ok(bytes.len().min(4)))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[tokio::test]
    async fn a_request_is_sent_when_its_last_write_begins() {
        let clock = RunClock::starting_in(Duration::ZERO);
        let (mut socket, marks) = Stamped::new(Slow { clock, tries: 0, taken_at: Timestamp::ZERO });
        marks.begin(clock);
        socket.write_all(b"request").await.unwrap();
        assert_eq!(marks.sent(), None, "not before the flush");
        socket.flush().await.unwrap();
        // The second of two writes took the last bytes: the stamp lies between the two, and not after it.
        let sent = marks.sent().unwrap();
        let second = socket.socket.taken_at;
        assert!(sent <= second && second.since(sent) < Duration::from_millis(2), "{sent:?} {second:?}");
        assert_eq!(socket.socket.tries, 3);
    }
}
