//! Fields of a class in a workload that replays a trace.

use crate::workload::prompt::dataset::Dataset;
use crate::workload::prompt::source::PromptSource;
use crate::workload::reading::{Fields, SpecValue};
use crate::workload::trace::findings::TraceFindings;
use crate::workload::trace::source::Trace;

/// Returns a reader of what a class may have only without a trace. The trace says `what` already.
pub(super) fn without<T>(
    trace: Option<&Trace>,
    what: &str,
    read: impl FnOnce(SpecValue<'_>) -> Option<T>,
) -> impl FnOnce(SpecValue<'_>) -> Option<T> {
    move |value| match trace {
        Some(_) => value.reject(&format!("is given with a trace, which says {what}; leave it out")),
        None => read(value),
    }
}

/// The trace, where it is one of requests and no file of sessions.
pub(super) fn of_requests(trace: Option<&Trace>) -> Option<&Trace> {
    trace.filter(|trace| !trace.has_sessions())
}

/// Prompts of a class that says nothing of them.
pub(super) fn usual_prompts(trace: Option<&Trace>) -> PromptSource {
    trace.and_then(Dataset::of_trace).map_or_else(PromptSource::default, PromptSource::Dataset)
}

/// Refuses prompts that contradict the trace.
pub(super) fn fit_trace(fields: &Fields<'_>, prompt: &PromptSource, trace: &Trace) {
    let is_own = |dataset: &Dataset| dataset.has_sessions() && dataset.path == trace.path;
    match prompt {
        PromptSource::Dataset(dataset) if trace.has_sessions() && is_own(dataset) => {
            if let Some(option) = dataset.off_order() {
                fields.complain_of(
                    "prompt",
                    &format!("has `{option}`, and the sessions of a trace come at its moments; leave it out"),
                );
            }
        }
        _ if trace.has_sessions() => fields.complain_of(
            "prompt",
            "is given with a trace of sessions, which says what they send; leave it out, or name the file of the trace",
        ),
        PromptSource::Dataset(_) => fields.complain_of(
            "prompt",
            "is a dataset with a trace, and both say how long requests are; choose another `prompt`, or leave the \
             trace out",
        ),
        PromptSource::RandomTokens { .. } if trace.found.as_ref().is_some_and(TraceFindings::names_blocks) => {
            fields.complain_of(
                "prompt",
                "is token ids with a trace that says which prompts begin alike, and token ids never do; choose another \
                 `prompt`",
            );
        }
        _ => {}
    }
}
