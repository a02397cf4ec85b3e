//! Puts the requests of a trace in the order of their moments.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::reader::TraceReader;
use crate::generator::traces::error::TraceError;
use crate::generator::traces::requests::TracedRequest;

/// How far back a request may belong, seconds of the trace. Logs that are written when answers end are out of order by
/// as long as answers take.
const BOUND_S: u32 = 60;
const BOUND_NS: i64 = 1_000_000_000 * 60;
/// Most requests held at a time, however close together they are.
const MOST_HELD: usize = 100_000;

/// The requests of a trace in order; those of one moment in the order of their lines.
#[derive(Debug)]
pub(crate) struct SortedRequests {
    reader: TraceReader,
    /// Requests that an earlier one may still follow.
    held: BinaryHeap<Reverse<Held>>,
    /// The latest moment read.
    latest: i64,
    /// The moment of the request let go last.
    let_go: i64,
    reordered: u64,
    /// Whether nothing more is to be read.
    read: bool,
}

/// A request with the number of its line, which settles who comes first.
#[derive(Debug)]
struct Held {
    at_ns: i64,
    line: u64,
    request: TracedRequest,
}

impl PartialEq for Held {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Held {}

impl PartialOrd for Held {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Held {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at_ns, self.line).cmp(&(other.at_ns, other.line))
    }
}

impl SortedRequests {
    pub(crate) fn new(reader: TraceReader) -> Self {
        Self {
            reader,
            held: BinaryHeap::new(),
            latest: i64::MIN,
            let_go: i64::MIN,
            reordered: 0,
            read: false,
        }
    }

    pub(crate) fn reader(&self) -> &TraceReader {
        &self.reader
    }

    /// Requests so far that came later in the file than one of a later moment.
    pub(crate) fn reordered(&self) -> u64 {
        self.reordered
    }

    /// Takes one request in; false when there is none left.
    fn take_in(&mut self) -> Result<bool, TraceError> {
        let Some(request) = self.reader.next().transpose()? else { return Ok(false) };
        let (at_ns, line) = (request.at_ns, self.reader.line_number());
        if at_ns < self.let_go {
            return Err(TraceError::Disorder {
                path: self.reader.path().to_owned(),
                line,
                late_s: self.latest.saturating_sub(at_ns) as f64 / 1e9,
                bound_s: BOUND_S,
                bound: MOST_HELD,
            });
        }
        self.reordered += u64::from(at_ns < self.latest);
        self.latest = self.latest.max(at_ns);
        self.held.push(Reverse(Held { at_ns, line, request }));
        Ok(true)
    }
}

impl Iterator for SortedRequests {
    type Item = Result<TracedRequest, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.read {
            let first = self.held.peek().map(|Reverse(held)| held.at_ns);
            let settled = first.is_some_and(|first| first.saturating_add(BOUND_NS) <= self.latest);
            if settled || self.held.len() >= MOST_HELD {
                break;
            }
            match self.take_in() {
                Ok(more) => self.read = !more,
                Err(error) => {
                    self.read = true;
                    self.held.clear();
                    return Some(Err(error));
                }
            }
        }
        let Reverse(held) = self.held.pop()?;
        self.let_go = held.at_ns;
        Some(Ok(held.request))
    }
}
