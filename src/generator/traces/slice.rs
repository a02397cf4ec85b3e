//! The requests of a trace from a moment on, by their distance from it.

use super::error::TraceError;
use super::order::InOrder;
use super::reader::TraceReader;
use super::requests::TracedRequest;
use crate::workload::{Trace, TraceZero};

/// The requests of a trace from `from_s` on, each with its distance from there in nanoseconds of the trace.
#[derive(Debug)]
pub(super) struct Slice {
    requests: InOrder,
    /// The trace's zero on its clock; not known before the first request where that decides it.
    zero_ns: Option<i64>,
    from_ns: i64,
    /// The latest moment met, before the slice too: nanoseconds after the trace's zero.
    last_ns: Option<i64>,
}

impl Slice {
    pub(super) fn open(trace: &Trace) -> Result<Self, TraceError> {
        let reader = TraceReader::open(trace)?;
        let zero_ns = match reader.format().zero() {
            TraceZero::OwnClock => Some(0),
            TraceZero::FirstRequest => None,
        };
        let from_ns = (trace.from_s * 1e9).round() as i64;
        Ok(Self { requests: InOrder::new(reader), zero_ns, from_ns, last_ns: None })
    }

    /// The latest moment met, before the slice too: seconds after the trace's zero.
    pub(super) fn last_s(&self) -> Option<f64> {
        self.last_ns.map(|last| last as f64 / 1e9)
    }

    pub(super) fn in_order(&self) -> &InOrder {
        &self.requests
    }
}

impl Iterator for Slice {
    type Item = Result<(u64, TracedRequest), TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let request = match self.requests.next()? {
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
