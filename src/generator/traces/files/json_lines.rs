//! JSON-lines traces: Mooncake's, Bailian's and Skyline's own.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::generator::objects::Object;
use crate::generator::traces::requests::{BadLine, TracedRequest, TracedWindow, nanoseconds, tokens};
use crate::workload::Priority;

/// The newest schema of Skyline's own traces that this program writes and reads.
pub(crate) const SCHEMA: u32 = 1;

/// The first line of Skyline's own traces.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Heading {
    /// The schema.
    pub(crate) skyline_trace: u32,
    /// Tokens of the blocks that requests name, where they name any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) block_tokens: Option<u32>,
    /// The window that a run measured, if the trace was made from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) window: Option<TracedWindow>,
}

/// A request in Skyline's own traces.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OwnLine {
    /// Nanoseconds since the trace's zero.
    pub(crate) at_ns: u64,
    pub(crate) input_tokens: u64,
    pub(crate) output_tokens: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) class: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) priority: Option<Priority>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tenant: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "<[u64]>::is_empty")]
    pub(crate) blocks: Box<[u64]>,
}

/// A request in the traces of Mooncake and Bailian; other fields are ignored.
#[derive(Debug, Deserialize)]
struct PublicLine {
    timestamp: f64,
    input_length: u64,
    output_length: u64,
    #[serde(default)]
    hash_ids: Box<[u64]>,
    #[serde(default, rename = "type")]
    kind: Option<Box<str>>,
}

/// Reads a line of Mooncake's or Bailian's, with timestamps in units of `unit_ns` nanoseconds.
pub(crate) fn public(line: &[u8], unit_ns: f64) -> Result<TracedRequest, BadLine> {
    let PublicLine { timestamp, input_length, output_length, hash_ids, kind } = json(line)?;
    let at_ns = nanoseconds(timestamp, unit_ns).filter(|at| *at >= 0).ok_or_else(|| {
        of_field(line, "timestamp", format!("{timestamp} is not a time after the trace's zero"))
    })?;
    Ok(TracedRequest {
        at_ns,
        input_tokens: tokens(input_length).map_err(|cause| of_field(line, "input_length", cause))?,
        output_tokens: tokens(output_length).map_err(|cause| of_field(line, "output_length", cause))?,
        kind,
        blocks: hash_ids,
        ..TracedRequest::default()
    })
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
    })
}

pub(crate) fn json<T: DeserializeOwned>(line: &[u8]) -> Result<T, BadLine> {
    serde_json::from_slice(line).map(|Object(value)| value).map_err(|error| {
        let cause = error.to_string();
        let cause = cause.rsplit_once(" at line ").map_or(cause.as_str(), |(cause, _)| cause).to_owned();
        BadLine { place: format!("column {}", error.column().max(1)), cause }
    })
}

/// An error in a field's value, at the column where its name begins.
pub(crate) fn of_field(line: &[u8], field: &str, cause: String) -> BadLine {
    let column = memchr::memmem::find(line, format!("\"{field}\"").as_bytes()).map_or(1, |at| at + 1);
    BadLine { place: format!("column {column} (`{field}`)"), cause }
}
