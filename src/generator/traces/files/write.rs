//! Writes Skyline's own traces: moments, lengths and categories, no text.

use std::io::{self, Write};

use super::json_lines::{Heading, OwnLine, SCHEMA};
use crate::generator::traces::requests::{TracedRequest, TracedWindow};

/// Writes a trace, request by request, in order.
#[derive(Debug)]
pub struct TraceWriter<W> {
    out: W,
}

impl<W: Write> TraceWriter<W> {
    /// Begins a trace. `block_tokens` is the size of its requests' blocks, if any; `window` is what a run measured,
    /// if it was made from one.
    pub fn begin(mut out: W, block_tokens: Option<u32>, window: Option<TracedWindow>) -> io::Result<Self> {
        serde_json::to_writer(&mut out, &Heading { skyline_trace: SCHEMA, block_tokens, window })?;
        out.write_all(b"\n")?;
        Ok(Self { out })
    }

    /// Adds a request; a moment before the trace's zero counts as zero.
    pub fn add(&mut self, request: TracedRequest) -> io::Result<()> {
        let TracedRequest { at_ns, input_tokens, output_tokens, kind, priority, tenant, model, blocks } =
            request;
        let line = OwnLine {
            at_ns: u64::try_from(at_ns).unwrap_or(0),
            input_tokens: u64::from(input_tokens),
            output_tokens: u64::from(output_tokens),
            class: kind,
            priority,
            tenant,
            model,
            blocks,
        };
        serde_json::to_writer(&mut self.out, &line)?;
        self.out.write_all(b"\n")
    }

    /// Ends the trace.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.flush()
    }
}
