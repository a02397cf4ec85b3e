//! Logs what happens on one connection: which tokens were handed to the socket, and when it took them.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::Notify;

use crate::clock::{RunClock, Timestamp};
use crate::mock::truth::{End, Record, TruthLog, Write};

/// Log of one connection. The handler of its requests, the body of its answer and its socket share it.
///
/// HTTP/1.1 answers one request at a time, so that bytes taken by the socket belong to the one open record.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionLog {
    notes: Arc<Mutex<Notes>>,
    reset: Arc<Notify>,
    truth: Arc<TruthLog>,
    clock: RunClock,
}

#[derive(Debug, Default)]
struct Notes {
    record: Option<Record>,
    /// Writes from this index on are not done.
    undone: usize,
    /// Moment when the socket last took bytes.
    taken: Timestamp,
    /// The socket must end with a reset.
    cut: bool,
}

impl ConnectionLog {
    pub(crate) fn new(truth: Arc<TruthLog>, clock: RunClock) -> Self {
        Self { notes: Arc::default(), reset: Arc::default(), truth, clock }
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        // A panic elsewhere leaves the log valid.
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request has been read.
    pub(crate) fn begin(&self, record: Record) {
        self.close(Timestamp::ZERO);
        let mut notes = self.notes();
        notes.record = Some(record);
        notes.undone = 0;
    }

    /// Changes the open record.
    pub(crate) fn note(&self, change: impl FnOnce(&mut Record)) {
        if let Some(record) = &mut self.notes().record {
            change(record);
        }
    }

    /// Tokens are about to go to the socket.
    pub(crate) fn expect(&self, writes: &[Write]) {
        self.note(|record| record.writes.extend_from_slice(writes));
    }

    /// The socket has taken some bytes.
    pub(crate) fn took(&self) {
        self.notes().taken = self.clock.now();
    }

    /// The socket has taken all bytes so far.
    pub(crate) fn took_all(&self) {
        let mut notes = self.notes();
        let now = notes.taken;
        let Notes { record: Some(record), undone, .. } = &mut *notes else { return };
        // There may be nothing new: HTTP flushes after each step.
        if record.writes.len() == *undone && record.end.is_none() {
            return;
        }
        for write in &mut record.writes[*undone..] {
            write.done_ns = Some(now);
            record.answer_tokens += u64::from(write.tokens);
        }
        *undone = record.writes.len();
        let ended = record.end.is_some();
        drop(notes);
        if ended {
            self.close(now);
        }
    }

    /// Notes that the whole answer has been handed to the socket. It may also be handed over with the next write.
    pub(crate) fn finish(&self, end: End) {
        self.note(|record| record.end = Some(end));
    }

    /// The socket is gone. A record that is still open has bytes that nobody took, so it ends as
    /// disconnected, except where the mock broke it off on purpose.
    pub(crate) fn abandon(&self) {
        self.note(|record| {
            if record.end != Some(End::BrokenOff) {
                record.end = Some(End::Disconnected);
            }
        });
        self.close(self.clock.now());
    }

    /// Ends the connection with a reset; bytes already taken still go out.
    pub(crate) fn reset(&self) {
        self.notes().cut = true;
        self.finish(End::BrokenOff);
        self.reset.notify_one();
    }

    /// Waits for a [`reset`](Self::reset).
    pub(crate) async fn resets(&self) {
        self.reset.notified().await;
    }

    /// Whether the socket must end with a reset.
    pub(crate) fn is_cut(&self) -> bool {
        self.notes().cut
    }

    fn close(&self, at: Timestamp) {
        let Some(mut record) = self.notes().record.take() else { return };
        let last = record.writes.iter().filter_map(|write| write.done_ns).max();
        record.ended_ns = at.max(last.unwrap_or(record.read_ns));
        self.truth.add(&record);
    }
}

/// A client's socket beneath HTTP. It logs when it takes bytes and can end with a reset.
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
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
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
