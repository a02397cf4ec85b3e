//! Keeps, for every stream of a connection, which read brought which of its bytes, and which write took its request.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use tokio::sync::Notify;

use super::frames::{ACK, CONTINUATION, DATA, FramePart, FrameWalk, GO_AWAY, HEADERS, SETTINGS};
use crate::clock::Timestamp;
use crate::engine::transport::receiver::ArrivalStamp;

/// Bytes that a client sends before its first frame (RFC 9113, section 3.4).
const PREFACE: usize = 24;

/// Bytes of data that one read brought of one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ByteRun {
    pub(super) bytes: usize,
    pub(super) arrival: ArrivalStamp,
}

/// A read that brought something of answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AnswerRead {
    /// How many streams it brought data of.
    pub(super) streams: u32,
    /// Time that its bytes lay in the kernel, where known.
    pub(super) delay: Option<Duration>,
}

/// The notes on one stream, until its request takes them.
#[derive(Debug, Default)]
pub(super) struct StreamNotes {
    /// Moment when the write that took the last of its request began.
    pub(super) sent: Option<Timestamp>,
    /// Arrival of the head of its answer, and of its last frame so far.
    pub(super) head: Option<ArrivalStamp>,
    pub(super) last: Option<ArrivalStamp>,
    runs: VecDeque<ByteRun>,
    /// Reads that are counted with this stream: each read with one of its streams.
    pub(super) reads: Vec<AnswerRead>,
    /// Whoever waits for the request to be sent.
    pub(super) waker: Option<Waker>,
    /// Whether data has come.
    has_data: bool,
}

impl StreamNotes {
    /// The arrival of the next bytes of data, and how many of `bytes` have it.
    pub(super) fn next_run(&mut self, bytes: usize) -> Option<ByteRun> {
        let run = self.runs.front_mut()?;
        let taken = ByteRun { bytes: run.bytes.min(bytes), ..*run };
        run.bytes -= taken.bytes;
        if run.bytes == 0 {
            self.runs.pop_front();
        }
        Some(taken)
    }

    fn add(&mut self, part: FramePart, arrival: ArrivalStamp) {
        self.last = Some(arrival);
        match part.kind {
            // Interim responses come before the head; a second block that ends the stream is the trailers.
            HEADERS | CONTINUATION if !(self.has_data || part.ends_stream() && self.head.is_some()) => {
                self.head = Some(arrival);
            }
            DATA if part.data > 0 => {
                self.has_data = true;
                match self.runs.back_mut().filter(|run| run.arrival.read == arrival.read) {
                    Some(run) => run.bytes += part.data,
                    None => self.runs.push_back(ByteRun { bytes: part.data, arrival }),
                }
            }
            _ => {}
        }
    }
}

/// The notes on one connection.
#[derive(Debug)]
pub(super) struct Ledger {
    streams: HashMap<u32, StreamNotes>,
    incoming: FrameWalk,
    outgoing: FrameWalk,
    /// Streams whose request is written, but perhaps not flushed.
    unflushed: Vec<u32>,
    /// Streams of which the read at hand has data.
    brought: Vec<u32>,
    /// Arrival of the last bytes.
    heard: Option<Timestamp>,
    /// Whether the server may be gone. A request was given up, and nothing has come since it was sent.
    pub(super) is_doubted: bool,
    /// Tells the connection's task of a doubt.
    pub(super) doubts: Arc<Notify>,
    /// Whether the server's settings have come.
    pub(super) is_settled: bool,
    /// Whether the server takes no more streams on it.
    pub(super) is_closing: bool,
}

impl Default for Ledger {
    fn default() -> Self {
        Self {
            streams: HashMap::new(),
            incoming: FrameWalk::default(),
            outgoing: FrameWalk::behind(PREFACE),
            unflushed: Vec::new(),
            brought: Vec::new(),
            heard: None,
            is_doubted: false,
            doubts: Arc::default(),
            is_settled: false,
            is_closing: false,
        }
    }
}

impl Ledger {
    /// Begins to keep notes on a stream.
    pub(super) fn begin(&mut self, stream: u32) {
        self.streams.insert(stream, StreamNotes::default());
    }

    /// Forgets a stream, which may leave a doubt.
    pub(super) fn forget(&mut self, stream: u32) {
        let sent = self.streams.remove(&stream).and_then(|notes| notes.sent);
        if sent.is_some_and(|sent| self.heard.is_none_or(|heard| heard < sent)) {
            self.is_doubted = true;
            self.doubts.notify_one();
        }
    }

    /// The notes on a stream.
    pub(super) fn of_stream(&mut self, stream: u32) -> &mut StreamNotes {
        self.streams.entry(stream).or_default()
    }

    /// Notes a read; none of its bytes are kept.
    pub(super) fn read(&mut self, mut bytes: &[u8], arrival: ArrivalStamp, delay: Option<Duration>) {
        if !bytes.is_empty() {
            (self.heard, self.is_doubted) = (Some(arrival.at), false);
        }
        let mut first = None;
        self.brought.clear();
        while let Some(part) = self.incoming.next(&mut bytes) {
            self.is_settled |= part.kind == SETTINGS && part.flags & ACK == 0 && part.is_last;
            self.is_closing |= part.kind == GO_AWAY;
            if let Some(notes) = self.streams.get_mut(&part.stream) {
                notes.add(part, arrival);
                first.get_or_insert(part.stream);
                if part.data > 0 && !self.brought.contains(&part.stream) {
                    self.brought.push(part.stream);
                }
            }
        }
        if let Some(notes) = first.and_then(|stream| self.streams.get_mut(&stream)) {
            notes.reads.push(AnswerRead { streams: self.brought.len() as u32, delay });
        }
    }

    /// Notes bytes that the socket has taken.
    pub(super) fn wrote(&mut self, mut bytes: &[u8]) {
        while let Some(part) = self.outgoing.next(&mut bytes) {
            if part.is_last && part.ends_stream() {
                self.unflushed.push(part.stream);
            }
        }
    }

    /// Notes that what was written is on its way. The last write began `at` this moment.
    pub(super) fn flushed(&mut self, at: Timestamp) {
        for stream in self.unflushed.drain(..) {
            if let Some(notes) = self.streams.get_mut(&stream) {
                notes.sent = Some(at);
                if let Some(waker) = notes.waker.take() {
                    waker.wake();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::frames::tests::frame;
    use super::*;

    fn arrival(read: u64) -> ArrivalStamp {
        ArrivalStamp { at: Timestamp::from_nanos(read * 1_000), late_by: Duration::ZERO, read }
    }

    /// A ledger of streams 1 and 3 that reads these pieces, one read each.
    fn ledger(pieces: &[&[u8]]) -> Ledger {
        let mut ledger = Ledger::default();
        ledger.begin(1);
        ledger.begin(3);
        for (piece, read) in pieces.iter().zip(1..) {
            ledger.read(piece, arrival(read), Some(Duration::from_nanos(read)));
        }
        ledger
    }

    #[test]
    fn every_byte_of_data_has_the_stamp_of_the_read_that_brought_it() {
        let first = frame(0, 0, 1, b"abcdefgh");
        let (begun, rest) = first.split_at(12);
        let second = [rest, &frame(0, 0, 3, b"xyz"), &frame(0, 1, 1, b"ij")].concat();
        let mut ledger = ledger(&[begun, &second]);
        // The frame came in two reads, whatever h2 makes of it; the last two frames in the second of them.
        let notes = ledger.of_stream(1);
        assert_eq!(notes.next_run(8), Some(ByteRun { bytes: 3, arrival: arrival(1) }));
        assert_eq!(notes.next_run(5), Some(ByteRun { bytes: 5, arrival: arrival(2) }));
        assert_eq!(notes.next_run(2), Some(ByteRun { bytes: 2, arrival: arrival(2) }));
        assert_eq!(notes.next_run(1), None);
        let read = |read, streams| AnswerRead { streams, delay: Some(Duration::from_nanos(read)) };
        assert_eq!(notes.reads, [read(1, 1), read(2, 2)]);
        let other = ledger.of_stream(3);
        assert_eq!((other.next_run(9), other.reads.len()), (Some(ByteRun { bytes: 3, arrival: arrival(2) }), 0));
    }

    #[test]
    fn the_head_is_the_last_block_before_the_data_and_no_trailers() {
        let (interim, head) = (frame(1, 4, 1, b"103"), frame(1, 4, 1, b"200"));
        let (data, trailers) = (frame(0, 0, 1, b"x"), frame(1, 5, 1, b"t"));
        let mut ledger = ledger(&[&interim, &head, &data, &trailers]);
        let notes = ledger.of_stream(1);
        assert_eq!((notes.head, notes.last), (Some(arrival(2)), Some(arrival(4))));
        let mut ledger = self::ledger(&[&head, &trailers]);
        assert_eq!(ledger.of_stream(1).head, Some(arrival(1)), "no data between");
        let mut ledger = self::ledger(&[&trailers]);
        assert_eq!(ledger.of_stream(1).head, Some(arrival(1)), "a head alone");
    }

    #[test]
    fn a_request_is_sent_by_the_write_that_took_its_last_byte() {
        let mut ledger = ledger(&[]);
        let bytes = [vec![b'P'; PREFACE], frame(1, 4, 1, b"head"), frame(0, 1, 1, b"body")].concat();
        let (most, last) = bytes.split_at(bytes.len() - 1);
        ledger.wrote(most);
        ledger.flushed(Timestamp::from_nanos(5));
        assert_eq!(ledger.of_stream(1).sent, None);
        ledger.wrote(last);
        ledger.flushed(Timestamp::from_nanos(7));
        assert_eq!((ledger.of_stream(1).sent, ledger.of_stream(3).sent), (Some(Timestamp::from_nanos(7)), None));
    }

    #[test]
    fn a_request_that_is_given_up_leaves_a_doubt_until_something_comes() {
        let mut ledger = ledger(&[]);
        ledger.forget(3);
        assert!(!ledger.is_doubted, "it was not sent");
        ledger.of_stream(1).sent = Some(Timestamp::from_nanos(1_500));
        ledger.read(&frame(4, 0, 0, b""), arrival(1), None);
        ledger.forget(1);
        assert!(ledger.is_doubted);
        ledger.read(b"", arrival(2), None);
        assert!(ledger.is_doubted, "the end is no sign of life");
        ledger.read(&frame(6, 1, 0, &[0; 8]), arrival(3), None);
        assert!(!ledger.is_doubted);
        ledger.of_stream(5).sent = Some(Timestamp::from_nanos(2_500));
        ledger.forget(5);
        assert!(!ledger.is_doubted, "something has come since");
    }

    #[test]
    fn what_the_server_says_of_the_connection_is_known() {
        let ledger = ledger(&[&frame(4, 1, 0, b"")]);
        assert!(!ledger.is_settled && !ledger.is_closing, "a receipt");
        let ledger = self::ledger(&[&frame(4, 0, 0, b""), &frame(7, 0, 0, &[0; 8])]);
        assert!(ledger.is_settled && ledger.is_closing);
    }
}
