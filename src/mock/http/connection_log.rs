//! Notes what happens on one connection: which tokens are on their way, and when the socket took them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::clock::{RunClock, Timestamp};
use crate::mock::truth::{End, Record, Truth, Write};

/// The notes of one connection, shared by the handler of its requests, the body of its answer and its socket.
///
/// HTTP/1.1 answers one request at a time, so that what the socket takes belongs to the one record that is open.
#[derive(Clone, Debug)]
pub(in crate::mock) struct Tape {
    notes: Arc<Mutex<Notes>>,
    reset: Arc<Notify>,
    truth: Arc<Truth>,
    clock: RunClock,
}

#[derive(Debug, Default)]
struct Notes {
    record: Option<Record>,
    /// Writes from here on have not been done.
    undone: usize,
    /// When the socket last took bytes.
    taken: Timestamp,
    /// The socket is to end with a reset.
    cut: bool,
}

impl Tape {
    pub(in crate::mock) fn new(truth: Arc<Truth>, clock: RunClock) -> Self {
        Self { notes: Arc::default(), reset: Arc::default(), truth, clock }
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        // A panic elsewhere leaves the notes as true as they were.
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request has been read.
    pub(in crate::mock) fn begin(&self, record: Record) {
        self.close(Timestamp::ZERO);
        let mut notes = self.notes();
        notes.record = Some(record);
        notes.undone = 0;
    }

    /// Writes something down about the open request.
    pub(in crate::mock) fn note(&self, change: impl FnOnce(&mut Record)) {
        if let Some(record) = &mut self.notes().record {
            change(record);
        }
    }

    /// Tokens are about to go to the socket.
    pub(in crate::mock) fn expect(&self, writes: &[Write]) {
        self.note(|record| record.writes.extend_from_slice(writes));
    }

    /// The socket has taken some bytes.
    pub(in crate::mock) fn took(&self) {
        self.notes().taken = self.clock.now();
    }

    /// The socket has taken all bytes that there were.
    pub(in crate::mock) fn took_all(&self) {
        let mut notes = self.notes();
        let now = notes.taken;
        let Notes { record: Some(record), undone, .. } = &mut *notes else { return };
        // There may be nothing new: HTTP flushes after each step that it takes.
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

    /// All that there is to say has been handed to the socket, or will be with its next write.
    pub(in crate::mock) fn finish(&self, end: End) {
        self.note(|record| record.end = Some(end));
    }

    /// The socket is gone. A record that is still open has bytes that nobody took, whatever was to be its end; only
    /// what was broken off on purpose is that all the same.
    pub(in crate::mock) fn abandon(&self) {
        self.note(|record| {
            if record.end != Some(End::BrokenOff) {
                record.end = Some(End::Disconnected);
            }
        });
        self.close(self.clock.now());
    }

    /// Ends the connection with a reset; what the socket has taken still goes out.
    pub(in crate::mock) fn reset(&self) {
        self.notes().cut = true;
        self.finish(End::BrokenOff);
        self.reset.notify_one();
    }

    /// Waits for a [`reset`](Self::reset).
    pub(in crate::mock) async fn resets(&self) {
        self.reset.notified().await;
    }

    /// Whether the socket is to end with a reset.
    pub(in crate::mock) fn is_cut(&self) -> bool {
        self.notes().cut
    }

    fn close(&self, at: Timestamp) {
        let Some(mut record) = self.notes().record.take() else { return };
        let last = record.writes.iter().filter_map(|write| write.done_ns).max();
        record.ended_ns = at.max(last.unwrap_or(record.read_ns));
        self.truth.add(&record);
    }
}
