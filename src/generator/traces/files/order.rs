//! Puts the requests of a trace in the order of their moments.

use std::collections::BTreeMap;

use super::reader::TraceReader;
use crate::generator::traces::error::TraceError;
use crate::generator::traces::requests::{TraceFacts, TracedRequest};

/// Longest time by which a request may belong further back, seconds of the trace. A log written at the end of answers
/// is out of order by their duration.
const BOUND_S: u32 = 60;
const BOUND_NS: i64 = 1_000_000_000 * 60;
/// Most requests held at a time.
const MOST_HELD: usize = 100_000;

/// The requests of a trace in order. At equal moments they have the order of their lines.
#[derive(Debug)]
pub(crate) struct SortedRequests {
    reader: TraceReader,
    /// Requests that an earlier one may still precede, by moment and line.
    held: BTreeMap<(i64, u64), TracedRequest>,
    /// The latest moment read.
    latest: i64,
    /// The moment of the request emitted last.
    released_ns: i64,
    /// Whether the file has been read to its end.
    read: bool,
}

impl SortedRequests {
    pub(crate) fn new(reader: TraceReader) -> Self {
        Self { reader, held: BTreeMap::new(), latest: i64::MIN, released_ns: i64::MIN, read: false }
    }

    pub(crate) fn facts(&self) -> &TraceFacts {
        &self.reader.facts
    }

    /// Reads one request; false at the end.
    fn read_next(&mut self) -> Result<bool, TraceError> {
        let Some(request) = self.reader.read()? else { return Ok(false) };
        let (at_ns, line) = (request.at_ns, self.reader.lines.number);
        if at_ns < self.released_ns {
            return Err(TraceError::Disorder {
                path: self.reader.path.clone(),
                line,
                late_s: self.latest.saturating_sub(at_ns) as f64 / 1e9,
                bound_s: BOUND_S,
                bound: MOST_HELD,
            });
        }
        self.reader.facts.reordered += u64::from(at_ns < self.latest);
        self.latest = self.latest.max(at_ns);
        self.held.insert((at_ns, line), request);
        Ok(true)
    }
}

impl Iterator for SortedRequests {
    type Item = Result<TracedRequest, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.read {
            let first = self.held.first_key_value().map(|((at_ns, _), _)| *at_ns);
            let settled = first.is_some_and(|first| first.saturating_add(BOUND_NS) <= self.latest);
            if settled || self.held.len() >= MOST_HELD {
                break;
            }
            match self.read_next() {
                Ok(more) => self.read = !more,
                Err(error) => {
                    self.read = true;
                    self.held.clear();
                    return Some(Err(error));
                }
            }
        }
        let ((at_ns, _), request) = self.held.pop_first()?;
        self.released_ns = at_ns;
        Some(Ok(request))
    }
}
