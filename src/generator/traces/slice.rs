//! The requests of a trace from a moment on, with their distance from it.

use super::error::TraceError;
use super::requests::{TracedRequest, TracedWindow};
use crate::generator::traces::files::order::SortedRequests;
use crate::generator::traces::files::reader::TraceReader;
use crate::generator::traces::serve_gen::pool::ClientPool;
use crate::workload::{Trace, TraceFormat, TraceZero};

/// The requests of a trace from `from_s` on, each with its distance from there in nanoseconds of the trace.
#[derive(Debug)]
pub(super) struct TraceSlice {
    source: SliceSource,
    /// The trace's zero on its clock; unknown before the first request where that decides it.
    zero_ns: Option<i64>,
    from_ns: i64,
    /// The latest moment so far, including before the slice: nanoseconds after the trace's zero.
    last_ns: Option<i64>,
}

/// Where requests come from.
#[derive(Debug)]
enum SliceSource {
    /// The lines of a file.
    Recorded(Box<SortedRequests>),
    /// Randomly drawn requests of clients.
    Drawn(ClientPool),
}

impl TraceSlice {
    /// Opens the slice; `seed` decides what is drawn.
    pub(super) fn open(trace: &Trace, seed: u64) -> Result<Self, TraceError> {
        let from_ns = (trace.from_s * 1e9).round() as i64;
        if ClientPool::is(trace) {
            let source = SliceSource::Drawn(ClientPool::open(trace, seed)?);
            return Ok(Self { source, zero_ns: Some(0), from_ns, last_ns: None });
        }
        let reader = TraceReader::open(trace)?;
        let zero_ns = match reader.format().zero() {
            TraceZero::OwnClock => Some(0),
            TraceZero::FirstRequest => None,
        };
        let source = SliceSource::Recorded(Box::new(SortedRequests::new(reader)));
        Ok(Self { source, zero_ns, from_ns, last_ns: None })
    }

    /// Seconds after the trace's zero: the latest moment so far of a recorded trace, the end of a drawn one.
    pub(super) fn last_s(&self) -> Option<f64> {
        match &self.source {
            SliceSource::Recorded(_) => self.last_ns.map(|last| last as f64 / 1e9),
            SliceSource::Drawn(pool) => Some(pool.ends_ns() as f64 / 1e9),
        }
    }

    /// The window that a run measured, if the trace was made from one.
    pub(super) fn window(&self) -> Option<TracedWindow> {
        match &self.source {
            SliceSource::Recorded(requests) => requests.reader().window(),
            SliceSource::Drawn(_) => None,
        }
    }

    pub(super) fn format(&self) -> TraceFormat {
        match &self.source {
            SliceSource::Recorded(requests) => requests.reader().format(),
            SliceSource::Drawn(_) => TraceFormat::ServeGen,
        }
    }

    /// Tokens of its requests' blocks; `None` where they have none.
    pub(super) fn block_tokens(&self) -> Option<u32> {
        match &self.source {
            SliceSource::Recorded(requests) => requests.reader().block_tokens(),
            SliceSource::Drawn(_) => None,
        }
    }

    pub(super) fn skipped(&self) -> u64 {
        match &self.source {
            SliceSource::Recorded(requests) => requests.reader().skipped(),
            SliceSource::Drawn(pool) => pool.skipped(),
        }
    }

    /// Lines and tables of a pool replaced by the nearest that can be drawn.
    pub(super) fn nearest(&self) -> u64 {
        match &self.source {
            SliceSource::Recorded(_) => 0,
            SliceSource::Drawn(pool) => pool.nearest(),
        }
    }

    /// Requests so far that the file lists after a later one.
    pub(super) fn reordered(&self) -> u64 {
        match &self.source {
            SliceSource::Recorded(requests) => requests.reordered(),
            SliceSource::Drawn(_) => 0,
        }
    }

    /// Length of the trace after the beginning of the slice, nanoseconds, where it is known without reading to the
    /// end.
    pub(super) fn declared_ns(&self) -> Option<u64> {
        match &self.source {
            SliceSource::Recorded(_) => None,
            SliceSource::Drawn(pool) => {
                Some(pool.ends_ns().saturating_sub(u64::try_from(self.from_ns).unwrap_or(0)))
            }
        }
    }

    fn next_request(&mut self) -> Option<Result<TracedRequest, TraceError>> {
        match &mut self.source {
            SliceSource::Recorded(requests) => requests.next(),
            SliceSource::Drawn(pool) => pool.next().map(Ok),
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
