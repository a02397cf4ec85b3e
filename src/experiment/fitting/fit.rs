//! Fits a workload to a run or to a trace.

use std::collections::BTreeMap;

use super::spec::{FitError, FittedWorkload, assemble, class_fit};
use crate::clock::Timestamp;
use crate::generator::{RequestTrace, TracedRequest};
use crate::record::RunLog;
use crate::units::seconds;
use crate::workload::{Trace, TraceFindings, as_name};

/// Fits a stored run, called as `path`. Fitted are its arrivals and, class by class, the lengths that it asked for,
/// warm-up included.
pub fn fit_run(log: &RunLog, path: &str) -> Result<FittedWorkload, FitError> {
    if let Some(shard) = log.header.shard {
        return Err(FitError::Shard { path: path.to_owned(), shard });
    }
    if let Some(users) = log.header.workload.arrival.users() {
        return Err(FitError::ClosedLoop { path: path.to_owned(), users });
    }
    let mut notes = RequestTrace::given_up_of(log);
    let end = end(log, &mut notes);
    let mut traced = RequestTrace::of_run(log);
    traced.requests.retain(|request| u64::try_from(request.at_ns).is_ok_and(|at_ns| at_ns < end.as_nanos()));
    let of_kind = |kind: &str| as_name(kind);
    fit(path, &log.header.workload.name, &traced.requests, end.as_secs_f64(), of_kind, notes)
}

/// Returns the end of the time in which requests were dispatched. It is that of the plan, or of a run that was stopped
/// early, which `notes` then say.
fn end(log: &RunLog, notes: &mut Vec<String>) -> Timestamp {
    let planned = log.header.plan.window_end;
    let released = match &log.footer {
        Some(footer) => Some(footer.released_until),
        None => log.records.iter().filter(|record| record.is_opener()).map(|record| record.scheduled).max(),
    };
    let Some(released) = released.filter(|released| *released < planned) else { return planned };
    notes.push(format!(
        "the run ended after {} of {}, and is fitted as far as it went",
        seconds(released.as_secs_f64()),
        seconds(planned.as_secs_f64())
    ));
    released
}

/// Fits the slice of a trace, read as `traced`. It gets a class for each of its kinds.
pub fn fit_trace(trace: &Trace, found: &TraceFindings, traced: &RequestTrace) -> Result<FittedWorkload, FitError> {
    let shared = traced.block_tokens.map(|_| {
        "prefixes that prompts share are not fitted: replay the trace itself where the prefix cache matters".to_owned()
    });
    let stem = std::path::Path::new(&trace.path).file_stem().and_then(|stem| stem.to_str()).unwrap_or("trace");
    let name: String = as_name(stem).chars().take(50).collect();
    // Rare kinds share one name, as when a trace is replayed.
    let of_kind = |kind: &str| match found.kind(kind) {
        Some(found) => found.name.clone(),
        None if found.kinds.is_empty() => REQUESTS.to_owned(),
        None => as_name(kind),
    };
    fit(&trace.path, &name, &traced.requests, found.ends_s, of_kind, shared.into_iter().collect())
}

/// The class of requests of no kind.
const REQUESTS: &str = "requests";

fn fit(
    path: &str,
    name: &str,
    requests: &[TracedRequest],
    ends_s: f64,
    of_kind: impl Fn(&str) -> String,
    notes: Vec<String>,
) -> Result<FittedWorkload, FitError> {
    let mut gathered: BTreeMap<String, (Vec<u32>, Vec<u32>)> = BTreeMap::new();
    for request in requests {
        let class = request.kind.as_deref().map_or_else(|| REQUESTS.to_owned(), &of_kind);
        let (prompts, answers) = gathered.entry(class).or_default();
        prompts.push(request.input_tokens);
        answers.push(request.output_tokens);
    }
    let classes = gathered.iter().filter_map(|(name, (prompts, answers))| class_fit(name, prompts, answers));
    let moments: Vec<u64> = requests.iter().map(|request| u64::try_from(request.at_ns).unwrap_or(0)).collect();
    assemble(&format!("{name}_fitted"), path, &moments, ends_s, classes.collect(), notes)
}
