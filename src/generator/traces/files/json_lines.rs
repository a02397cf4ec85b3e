//! JSON-lines traces: Mooncake's, Bailian's and Skyline's own, which are also written.

use std::io::{self, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::generator::rows::{Object, cause_of, nanoseconds, tokens};
use crate::generator::traces::requests::{BadLine, TracedRequest, TracedWindow};
use crate::workload::Priority;

/// The newest schema of Skyline's own traces that this program writes and reads.
pub(crate) const SCHEMA: u32 = 1;

/// The first line of Skyline's own traces.
#[serde_with::skip_serializing_none]
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Heading {
    /// The schema.
    pub(crate) skyline_trace: u32,
    /// Tokens of the blocks that requests name, where they name any.
    pub(crate) block_tokens: Option<u32>,
    /// The window that a run measured, if the trace was made from one.
    pub(crate) window: Option<TracedWindow>,
}

/// A request in Skyline's own traces, as [`TracedRequest`] is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OwnLine {
    /// Nanoseconds since the trace's zero.
    at_ns: u64,
    input_tokens: u64,
    output_tokens: u64,
    class: Option<Box<str>>,
    priority: Option<Priority>,
    tenant: Option<Box<str>>,
    model: Option<Box<str>>,
    #[serde(default)]
    blocks: Box<[u64]>,
}

/// A request in the traces of Mooncake and Bailian; other fields are ignored.
#[derive(Debug, Deserialize)]
struct PublicLine {
    timestamp: f64,
    input_length: u64,
    output_length: u64,
    #[serde(default)]
    hash_ids: Box<[u64]>,
    #[serde(rename = "type")]
    kind: Option<Box<str>>,
}

/// Reads a line of Mooncake's or Bailian's, with timestamps in units of `unit_ns` nanoseconds.
pub(crate) fn public(line: &[u8], unit_ns: f64) -> Result<TracedRequest, BadLine> {
    let PublicLine { timestamp, input_length, output_length, hash_ids, kind } = json(line)?;
    let at_ns = nanoseconds(timestamp, unit_ns)
        .filter(|at| *at >= 0)
        .ok_or_else(|| of_field(line, "timestamp", format!("{timestamp} is not a time after the trace's zero")))?;
    Ok(TracedRequest {
        at_ns,
        input_tokens: tokens(input_length).map_err(|cause| of_field(line, "input_length", cause))?,
        output_tokens: tokens(output_length).map_err(|cause| of_field(line, "output_length", cause))?,
        kind,
        blocks: hash_ids,
        ..TracedRequest::default()
    })
}

/// Returns the unit of a timestamp that is a date between 2001 and 2096. The date is in seconds, milliseconds,
/// microseconds or nanoseconds since 1970; `None` where it is none.
pub(crate) fn unit_of_date(line: &[u8]) -> Option<f64> {
    const SINCE_1970: std::ops::Range<f64> = 1e18..4e18;
    let timestamp = json::<PublicLine>(line).ok()?.timestamp;
    [1e9, 1e6, 1e3, 1.0].into_iter().find(|unit_ns| SINCE_1970.contains(&(timestamp * unit_ns)))
}

/// Reads a line of Skyline's own.
pub(crate) fn own(line: &[u8]) -> Result<TracedRequest, BadLine> {
    let OwnLine { at_ns, input_tokens, output_tokens, class, priority, tenant, model, blocks } = json(line)?;
    let late = |_| of_field(line, "at_ns", format!("{at_ns} is more than 292 years"));
    Ok(TracedRequest {
        at_ns: i64::try_from(at_ns).map_err(late)?,
        input_tokens: tokens(input_tokens).map_err(|cause| of_field(line, "input_tokens", cause))?,
        output_tokens: tokens(output_tokens).map_err(|cause| of_field(line, "output_tokens", cause))?,
        kind: class,
        priority,
        tenant,
        model,
        blocks,
        session: None,
    })
}

pub(crate) fn json<T: DeserializeOwned>(line: &[u8]) -> Result<T, BadLine> {
    serde_json::from_slice(line)
        .map(|Object(value)| value)
        .map_err(|error| BadLine { place: format!("column {}", error.column().max(1)), cause: cause_of(&error) })
}

/// An error in a field's value, at the column where its name begins.
pub(crate) fn of_field(line: &[u8], field: &str, cause: String) -> BadLine {
    let column = memchr::memmem::find(line, format!("\"{field}\"").as_bytes()).map_or(1, |at| at + 1);
    BadLine { place: format!("column {column} (`{field}`)"), cause }
}

/// Writer of a trace of Skyline's own, request by request, in order. It writes moments, lengths and categories, no
/// text.
#[derive(Debug)]
pub struct TraceWriter<W> {
    out: W,
}

impl<W: Write> TraceWriter<W> {
    /// Begins a trace. `block_tokens` is the size of its requests' blocks, if any; `window` is what a run measured,
    /// if it was made from one.
    pub fn begin(out: W, block_tokens: Option<u32>, window: Option<TracedWindow>) -> io::Result<Self> {
        let mut writer = Self { out };
        writer.line(&Heading { skyline_trace: SCHEMA, block_tokens, window })?;
        Ok(writer)
    }

    /// Adds a request; a moment before the trace's zero counts as zero.
    pub fn add(&mut self, request: TracedRequest) -> io::Result<()> {
        self.line(&TracedRequest { at_ns: request.at_ns.max(0), ..request })
    }

    fn line(&mut self, line: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.out, line)?;
        self.out.write_all(b"\n")
    }

    /// Ends the trace.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.flush()
    }
}
