//! One request of a trace, whatever its format.

use serde::{Deserialize, Serialize};

use crate::units::cut;
use crate::workload::{Priority, TOKEN_LIMIT};

/// One request of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TracedRequest {
    /// When it arrived: nanoseconds on the trace's clock.
    pub at_ns: i64,
    /// Tokens of its prompt.
    pub input_tokens: u32,
    /// Tokens of its answer.
    pub output_tokens: u32,
    /// Its kind in the trace.
    pub kind: Option<Box<str>>,
    /// Its priority; only Skyline's own traces have it.
    pub priority: Option<Priority>,
    /// Its tenant; only Skyline's own traces have it.
    pub tenant: Option<Box<str>>,
    /// Its model; only Skyline's own traces have it.
    pub model: Option<Box<str>>,
    /// The blocks that its prompt begins with; empty where the trace has none.
    pub blocks: Box<[u64]>,
}

/// Requests in order, with the size of their blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestTrace {
    /// The requests.
    pub requests: Vec<TracedRequest>,
    /// Tokens per block; absent where they have none.
    pub block_tokens: Option<u32>,
    /// The window that a run measured; absent for other traces.
    pub window: Option<TracedWindow>,
}

/// The window of the run that a trace was made from, in nanoseconds after the trace's zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TracedWindow {
    /// Where the warm-up ended.
    pub from_ns: u64,
    /// Where the run ended; later requests only kept the load up.
    pub to_ns: u64,
}

/// What is wrong with a line, and where in it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BadLine {
    pub(super) place: String,
    pub(super) cause: String,
}

/// The beginning of a long text, for a message.
pub(super) fn excerpt(text: &str) -> String {
    /// Longest excerpt, characters.
    const ENOUGH: usize = 80;
    cut(text.to_owned(), ENOUGH)
}

/// Nanoseconds of a moment in this unit; `None` for NaN or beyond 145 years.
pub(super) fn nanoseconds(value: f64, unit_ns: f64) -> Option<i64> {
    let ns = (value * unit_ns).round();
    // Half of the type's range, so that differences fit too.
    (ns.abs() <= 4.6e18).then_some(ns as i64)
}

/// Checks a token count.
pub(super) fn tokens(count: u64) -> Result<u32, String> {
    match u32::try_from(count) {
        Ok(0) => {
            Err("0 tokens, and a request has at least one (traces mark failed requests in this way)"
                .to_owned())
        }
        Ok(count) if count <= TOKEN_LIMIT => Ok(count),
        _ => Err(format!("{count} tokens, and {TOKEN_LIMIT} are the most")),
    }
}

/// A date as traces write it, as nanoseconds since 1970: `2023-11-16 18:15:46.6805900`, with a time zone or without
/// (then UTC).
pub(super) fn parse_moment(text: &str) -> Option<i64> {
    let moment = text.parse::<jiff::Timestamp>().ok().or_else(|| {
        let civil = text.parse::<jiff::civil::DateTime>().ok()?;
        jiff::tz::TimeZone::UTC.to_timestamp(civil).ok()
    })?;
    i64::try_from(moment.as_nanosecond()).ok()
}
