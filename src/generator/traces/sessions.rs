//! The sessions of a file by the moments at which they began.

use std::sync::Arc;

use super::error::TraceError;
use super::requests::{TraceFacts, TracedRequest};
use crate::generator::datasets::rows::RowDraws;
use crate::generator::datasets::{SessionStart, session_layout, session_starts};
use crate::workload::{Dataset, Trace, TraceFormat};

/// The first requests of the sessions of a file, in the order of their moments.
#[derive(Clone, Debug)]
pub(super) struct SessionOpeners {
    facts: TraceFacts,
    openers: Arc<[TracedRequest]>,
    next: usize,
}

impl SessionOpeners {
    /// Whether a trace is a file of sessions: it is said, or recognised.
    fn is(trace: &Trace) -> bool {
        let is_unknown = trace.format.is_none() && trace.found.is_none();
        trace.has_sessions() || is_unknown && session_layout(&trace.path).is_some()
    }

    /// Reads the sessions of a trace. It is `None` where that is one of requests.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or its sessions have no moments.
    pub(super) fn in_trace(trace: &Trace) -> Result<Option<Self>, TraceError> {
        if !Self::is(trace) {
            return Ok(None);
        }
        let trace = Trace { format: Some(TraceFormat::Sessions), ..trace.clone() };
        let dataset = Dataset::of_trace(&trace).unwrap_or_default();
        let (layout, starts, undated) = session_starts(&dataset)?;
        if starts.is_empty() || undated > 0 && !dataset.skip_bad {
            return Err(TraceError::Undated { path: trace.path, layout: layout.name(), undated, dated: starts.len() });
        }
        Ok(Some(Self::new(&starts, undated)))
    }

    /// The sessions of rows that were read.
    pub(super) fn of_rows(rows: &RowDraws) -> Self {
        Self::new(&rows.starts(), 0)
    }

    fn new(starts: &[SessionStart], undated: u64) -> Self {
        let facts = TraceFacts { skipped: undated, ..TraceFacts::from_format(TraceFormat::Sessions) };
        let opener = |start: &SessionStart| TracedRequest {
            at_ns: start.at_ns,
            input_tokens: start.input_tokens,
            output_tokens: start.output_tokens,
            session: Some((start.row, start.lasts)),
            ..TracedRequest::default()
        };
        let mut openers: Vec<TracedRequest> = starts.iter().map(opener).collect();
        openers.sort_by_key(|opener| opener.at_ns);
        Self { facts, openers: openers.into(), next: 0 }
    }

    pub(super) fn facts(&self) -> &TraceFacts {
        &self.facts
    }

    /// Returns the same sessions from the first on.
    pub(super) fn begun_anew(&self) -> Self {
        Self { next: 0, ..self.clone() }
    }
}

impl Iterator for SessionOpeners {
    type Item = TracedRequest;

    fn next(&mut self) -> Option<TracedRequest> {
        self.next += 1;
        self.openers.get(self.next - 1).cloned()
    }
}
