//! The requests of a trace from a moment on, with their distance from it.

use super::error::TraceError;
use super::requests::{TraceFacts, TracedRequest};
use super::sessions::SessionOpeners;
use crate::generator::traces::files::order::SortedRequests;
use crate::generator::traces::files::reader::TraceReader;
use crate::generator::traces::serve_gen::pool::ClientPool;
use crate::workload::{Trace, TraceZero};

/// The requests of a trace from `from_s` on. Each has its distance from there in nanoseconds of the trace.
#[derive(Debug)]
pub(super) struct TraceSlice {
    source: SliceSource,
    /// The trace's zero on its clock; unknown before the first request where that decides it.
    zero_ns: Option<i64>,
    from_ns: i64,
    /// The latest moment so far, including before the slice: nanoseconds after the trace's zero.
    last_ns: Option<i64>,
    /// End of the trace, nanoseconds after its zero, if that is known without reading it.
    ends_ns: Option<u64>,
}

/// Source of the requests.
#[derive(Debug)]
enum SliceSource {
    /// The lines of a file.
    Recorded(Box<SortedRequests>),
    /// Randomly drawn requests of clients.
    Drawn(ClientPool),
    /// Sessions of a file, of which the first requests are meant.
    Sessions(SessionOpeners),
}

impl TraceSlice {
    /// Opens the slice; `seed` decides what is drawn. A file of sessions has these.
    pub(super) fn open(trace: &Trace, seed: u64, sessions: Option<&SessionOpeners>) -> Result<Self, TraceError> {
        let (source, zero_ns, ends_ns) = if let Some(sessions) = sessions {
            (SliceSource::Sessions(sessions.begun_anew()), None, None)
        } else if ClientPool::is(trace) {
            let pool = ClientPool::open(trace, seed)?;
            let ends_ns = pool.ends_ns();
            (SliceSource::Drawn(pool), Some(0), Some(ends_ns))
        } else {
            let reader = TraceReader::open(trace)?;
            let facts = &reader.facts;
            let zero_ns = (facts.format.zero() == TraceZero::OwnClock && !facts.dated).then_some(0);
            (SliceSource::Recorded(Box::new(SortedRequests::new(reader))), zero_ns, None)
        };
        Ok(Self { source, zero_ns, from_ns: (trace.from_s * 1e9).round() as i64, last_ns: None, ends_ns })
    }

    pub(super) fn facts(&self) -> &TraceFacts {
        match &self.source {
            SliceSource::Recorded(requests) => requests.facts(),
            SliceSource::Drawn(pool) => pool.facts(),
            SliceSource::Sessions(sessions) => sessions.facts(),
        }
    }

    /// Returns the seconds from the trace's zero to its last moment. That is the latest moment so far of a recorded
    /// trace, the end of a drawn one.
    pub(super) fn last_s(&self) -> Option<f64> {
        let last = self.last_ns.map(|last| last as f64);
        self.ends_ns.map(|ends| ends as f64).or(last).map(|ns| ns / 1e9)
    }

    /// Length of the trace after the beginning of the slice, nanoseconds. It is there where it is known without reading
    /// to the end.
    pub(super) fn declared_ns(&self) -> Option<u64> {
        self.ends_ns.map(|ends_ns| ends_ns.saturating_sub(u64::try_from(self.from_ns).unwrap_or(0)))
    }

    fn next_request(&mut self) -> Option<Result<TracedRequest, TraceError>> {
        match &mut self.source {
            SliceSource::Recorded(requests) => requests.next(),
            SliceSource::Drawn(pool) => pool.next().map(Ok),
            SliceSource::Sessions(sessions) => sessions.next().map(Ok),
        }
    }
}

impl Iterator for TraceSlice {
    type Item = Result<(u64, TracedRequest), TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let request = match self.next_request()? {
                Ok(request) => request,
                Err(error) => return Some(Err(error)),
            };
            let zero_ns = *self.zero_ns.get_or_insert(request.at_ns);
            let after_zero = request.at_ns.saturating_sub(zero_ns);
            self.last_ns = self.last_ns.max(Some(after_zero));
            let distance = after_zero.saturating_sub(self.from_ns);
            if let Ok(distance) = u64::try_from(distance) {
                return Some(Ok((distance, request)));
            }
        }
    }
}
