//! Logs what happens on one connection: which tokens were handed to the socket, and when it took them.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use axum::http::Version;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::Notify;

use crate::clock::{RunClock, Timestamp};
use crate::mock::truth::{End, Record, TruthLog, Write};

/// Log of one connection. The handler of its requests, the bodies of its answers and its socket share it.
///
/// HTTP/1.1 answers one request at a time, HTTP/2 many. Whatever was handed over before the socket has taken all bytes
/// is done with it.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionLog {
    notes: Arc<Mutex<Notes>>,
    reset: Arc<Notify>,
    truth: Arc<TruthLog>,
    clock: RunClock,
    /// The request that this copy is for.
    request: Option<Arc<LoggedRequest>>,
}

/// The end of interest in a request: dropping it closes a record without an end.
#[derive(Debug)]
struct LoggedRequest {
    number: u64,
    version: Version,
    log: ConnectionLog,
}

#[derive(Debug, Default)]
struct Notes {
    open: Vec<OpenRecord>,
    /// Moment when the socket last took bytes.
    taken: Timestamp,
    /// The socket must end with a reset.
    cut: bool,
}

#[derive(Debug)]
struct OpenRecord {
    record: Record,
    /// Writes from this index on are not done.
    undone: usize,
}

impl ConnectionLog {
    pub(crate) fn new(truth: Arc<TruthLog>, clock: RunClock) -> Self {
        Self { notes: Arc::default(), reset: Arc::default(), truth, clock, request: None }
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        // A panic elsewhere leaves the log valid.
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the log for a request that has been read.
    pub(crate) fn begin(&self, record: Record, version: Version) -> Self {
        if version < Version::HTTP_2 {
            self.close(|_| true, Timestamp::ZERO);
        }
        let request = LoggedRequest { number: record.request, version, log: self.clone() };
        self.notes().open.push(OpenRecord { record, undone: 0 });
        Self { request: Some(Arc::new(request)), ..self.clone() }
    }

    /// Whether a request is reset by itself: over HTTP/2 others share its connection.
    pub(crate) fn resets_streams(&self) -> bool {
        self.request.as_ref().is_some_and(|request| request.version >= Version::HTTP_2)
    }

    /// Changes the open record of the request.
    pub(crate) fn note(&self, change: impl FnOnce(&mut Record)) {
        let Some(number) = self.request.as_ref().map(|request| request.number) else { return };
        if let Some(open) = self.notes().open.iter_mut().find(|open| open.record.request == number) {
            change(&mut open.record);
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
        let mut ended = false;
        for OpenRecord { record, undone } in &mut notes.open {
            // There may be nothing new: HTTP flushes after each step.
            for write in &mut record.writes[*undone..] {
                write.done_ns = Some(now);
                record.answer_tokens += u64::from(write.tokens);
            }
            *undone = record.writes.len();
            ended |= record.end.is_some();
        }
        drop(notes);
        if ended {
            self.close(|record| record.end.is_some(), now);
        }
    }

    /// Notes that the whole answer has been handed to the socket. It may also be handed over with the next write.
    pub(crate) fn finish(&self, end: End) {
        self.note(|record| record.end = Some(end));
    }

    /// The socket is gone. A record that is still open has bytes that nobody took, so it ends as
    /// disconnected, except where the mock broke it off on purpose.
    pub(crate) fn abandon(&self) {
        for OpenRecord { record, .. } in &mut self.notes().open {
            if record.end != Some(End::BrokenOff) {
                record.end = Some(End::Disconnected);
            }
        }
        self.close(|_| true, self.clock.now());
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

    /// Closes the records that are `over`.
    fn close(&self, over: impl Fn(&Record) -> bool, at: Timestamp) {
        let closed: Vec<_> = self.notes().open.extract_if(.., |open| over(&open.record)).collect();
        for OpenRecord { mut record, .. } in closed {
            let last = record.writes.iter().filter_map(|write| write.done_ns).max();
            record.ended_ns = at.max(last.unwrap_or(record.read_ns));
            self.truth.add(&record);
        }
    }
}

impl Drop for LoggedRequest {
    /// A client may leave one stream, and keep its connection.
    fn drop(&mut self) {
        let is_left = |record: &Record| record.request == self.number && record.end.is_none();
        for OpenRecord { record, .. } in &mut self.log.notes().open {
            if is_left(record) {
                record.end = Some(End::Disconnected);
            }
        }
        let is_left = |record: &Record| record.request == self.number && record.end == Some(End::Disconnected);
        self.log.close(is_left, self.log.clock.now());
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
