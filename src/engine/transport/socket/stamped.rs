//! Notes when bytes pass through a socket.

use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::receive::{ask_for_stamps, receive};
use super::ticks::ReaderTicks;
use crate::clock::{KernelClock, RunClock, Timestamp};
use crate::engine::transport::receiver::ArrivalStamp;

thread_local! {
    static KERNEL_CLOCK: RefCell<KernelClock> = RefCell::default();
}

/// A socket that stamps each read and each write. A read has the time at which its bytes arrived, a write that at which
/// it begins.
///
/// Bytes arrive when the kernel has them, where it reports that; otherwise when the read returns, before
/// anyone looks at them. A read of several packets has the time of the last: the first came after the read before
/// and after the thread last looked, see [`ReaderTicks`](super::ReaderTicks).
///
/// A write is stamped before the system call, not after it: on the same machine the server may read a request
/// and begin to answer before the call that wrote it returns. A request is sent when the write that took its
/// last bytes began; a write that found no room in the socket does not count.
pub(crate) struct Stamped<S> {
    socket: S,
    clock: Option<RunClock>,
    last_read: Timestamp,
    /// How much earlier than that the first bytes of the last read may have come.
    late_by: Duration,
    reads: u64,
    /// Time that the bytes of the last read lay in the kernel, where known.
    pub(crate) read_delay: Option<Duration>,
    first_write: Option<Timestamp>,
    last_write: Option<Timestamp>,
    /// Moment when the write that took the last of the request began. It is there once all of it is written and
    /// flushed.
    pub(crate) sent: Option<Timestamp>,
}

impl<S> Stamped<S> {
    /// Wraps a socket.
    fn wrap(socket: S) -> Self {
        Self {
            socket,
            clock: None,
            last_read: Timestamp::ZERO,
            late_by: Duration::ZERO,
            reads: 0,
            read_delay: None,
            first_write: None,
            last_write: None,
            sent: None,
        }
    }

    /// Starts to note the times of a request on this clock.
    pub(crate) fn begin(&mut self, clock: RunClock) {
        self.clock = Some(clock);
        self.last_read = Timestamp::ZERO;
        (self.first_write, self.last_write, self.sent) = (None, None, None);
    }

    /// The last read.
    pub(crate) fn arrival(&self) -> ArrivalStamp {
        ArrivalStamp { at: self.last_read, late_by: self.late_by, read: self.reads }
    }

    /// The moment when the last write began.
    pub(crate) fn last_write(&self) -> Option<Timestamp> {
        self.last_write
    }

    fn wrote(&mut self, began: Timestamp) {
        self.first_write.get_or_insert(began);
        self.last_write = Some(began);
    }

    fn now(&self) -> Timestamp {
        self.clock.map_or(Timestamp::ZERO, |clock| clock.now())
    }
}

impl Stamped<TcpStream> {
    /// Wraps a connected socket.
    pub(crate) fn new(socket: TcpStream) -> Self {
        ask_for_stamps(&socket);
        Self::wrap(socket)
    }

    /// Reads into `buffer`; nothing at the end of the stream.
    pub(crate) fn poll_receive(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.socket.poll_read_ready(cx))?;
            match receive(&self.socket, buffer) {
                Ok(received) => {
                    self.note(received.bytes, received.stamp);
                    return Poll::Ready(Ok(received.bytes));
                }
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    fn note(&mut self, bytes: usize, stamp: Option<Duration>) {
        if let Some(clock) = self.clock {
            let asked = self.first_write.unwrap_or_default();
            let receipt = KERNEL_CLOCK.with_borrow_mut(|kernel| clock.receipt(kernel, stamp, asked));
            let before = self.last_read.max(asked);
            // The bytes of a stream arrive in order, whichever clock stamps them. Its end is stamped too.
            self.last_read = self.last_read.max(receipt.at());
            self.late_by = ReaderTicks::late_by(self.last_read, before);
            self.read_delay = receipt.delay;
        }
        self.reads += u64::from(bytes > 0);
    }
}

impl AsyncRead for Stamped<TcpStream> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let bytes = ready!(self.get_mut().poll_receive(cx, buffer.initialize_unfilled()))?;
        buffer.advance(bytes);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Stamped<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let began = self.now();
        let written = ready!(Pin::new(&mut self.socket).poll_write(cx, bytes))?;
        self.wrote(began);
        Poll::Ready(Ok(written))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let began = self.now();
        let written = ready!(Pin::new(&mut self.socket).poll_write_vectored(cx, slices))?;
        self.wrote(began);
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    /// A request is flushed once, when all of it is written.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.socket).poll_flush(cx))?;
        self.sent = self.sent.or(self.last_write);
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

    /// A socket without room at the first try. Its peer has the bytes well before a write returns.
    struct Slow {
        clock: RunClock,
        tries: u32,
        /// Moments when the bytes were taken, and when the write before had returned.
        taken_at: Timestamp,
        returned: [Timestamp; 2],
    }

    impl AsyncWrite for Slow {
        fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
            self.tries += 1;
            if self.tries == 1 {
                std::thread::sleep(Duration::from_millis(2));
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            self.taken_at = self.clock.now();
            std::thread::sleep(Duration::from_millis(2));
            self.returned = [self.returned[1], self.clock.now()];
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
        let mut socket =
            Stamped::wrap(Slow { clock, tries: 0, taken_at: Timestamp::ZERO, returned: [Timestamp::ZERO; 2] });
        socket.begin(clock);
        socket.write_all(b"request").await.unwrap();
        assert_eq!(socket.sent, None, "not before the flush");
        socket.flush().await.unwrap();
        // The second of two writes took the last bytes: the stamp lies between the two.
        let sent = socket.sent.unwrap();
        let (first, second) = (socket.socket.returned[0], socket.socket.taken_at);
        assert!(first <= sent && sent <= second && first > Timestamp::ZERO, "{first:?} {sent:?} {second:?}");
        assert_eq!(socket.socket.tries, 3);
    }
}
