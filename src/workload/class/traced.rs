//! Fields of a class in a workload that replays a trace, and lengths that something else gives.

use crate::workload::lengths::Distribution;
use crate::workload::prompt::dataset::Dataset;
use crate::workload::prompt::source::PromptSource;
use crate::workload::reading::{Fields, Given, SpecValue};
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

/// The lengths of prompts and answers of a dataset's rows.
pub(super) fn row_lengths(dataset: &Dataset) -> (Distribution, Distribution) {
    let found = dataset.found.as_ref();
    let prompts = Distribution::Dataset { mean: found.map(|found| found.mean_input_tokens) };
    (prompts, Distribution::Dataset { mean: found.and_then(|found| found.mean_output_tokens) })
}

/// The length of texts that are not there. One that the class gives as `is_own` is a mistake, said by the sentence.
pub(super) fn no_length(
    fields: &mut Fields<'_>,
    (name, sentence): (&'static str, &str),
    given: &Given<Distribution>,
    is_own: bool,
) -> Given<Distribution> {
    if let (Given::Right(_), true) = (given, is_own) {
        fields.complain_of(name, sentence);
    }
    Given::Right(Distribution::NONE)
}
