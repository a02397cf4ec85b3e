//! A workload fitted to a trace.
use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::prefixes;
use super::spec::{ClassFit, FitError, FittedWorkload, assemble, class_fit};
use crate::analysis::wording::percent;
use crate::generator::{RequestTrace, TracedRequest};
use crate::workload::{Trace, TraceFindings, as_name};

/// Most tenants and models that are taken over by name.
const MOST_NAMES: usize = 1_000;

/// Fits the slice of a trace, read as `traced`: a class for each of its kinds, with its priorities, tenants, models and
/// the prefixes that its blocks tell.
pub fn fit_trace(
    trace: &Trace,
    found: &TraceFindings,
    traced: &RequestTrace,
) -> Result<FittedWorkload, FitError> {
    let mut notes = Vec::new();
    let mut spec = Map::new();
    let senders = named(traced.requests.iter().map(|request| request.tenant.as_deref().map(as_name)));
    if !senders.is_empty() {
        let tenant = |(name, weight): (String, u64)| json!({ "name": name, "weight": weight });
        spec.insert("tenants".to_owned(), senders.into_iter().map(tenant).collect());
    }
    let models = named(traced.requests.iter().map(|request| request.model.as_deref().map(str::to_owned)));
    if !models.is_empty() {
        let (names, weights): (Vec<_>, Vec<_>) = models.into_iter().unzip();
        spec.insert("models".to_owned(), json!({ "names": names, "weights": weights }));
    }
    // Rare kinds share one name, as when a trace is replayed.
    let mut gathered: BTreeMap<String, Vec<&TracedRequest>> = BTreeMap::new();
    for request in &traced.requests {
        let name = match request.kind.as_deref().filter(|_| !found.kinds.is_empty()) {
            Some(kind) => found.kind(kind).map_or_else(|| as_name(kind), |kind| kind.name.clone()),
            None => "requests".to_owned(),
        };
        gathered.entry(name).or_default().push(request);
    }
    let mut classes = Vec::new();
    let mut repeated = 0.0;
    for (name, requests) in &gathered {
        let whole = || requests.iter().map(|request| request.input_tokens).collect::<Vec<_>>();
        let shared = traced.block_tokens.and_then(|tokens| prefixes::fit(name, requests, tokens, &mut notes));
        let (prefixes, own) = shared.map(|shared| (shared.fit, shared.own)).unzip();
        let answers: Vec<u32> = requests.iter().map(|request| request.output_tokens).collect();
        let Some(fit) = class_fit(name, &own.unwrap_or_else(whole), &answers) else { continue };
        let all: f64 = requests.iter().map(|request| f64::from(request.input_tokens)).sum();
        repeated += prefixes.as_ref().map_or(0.0, |prefixes| prefixes.repeated * all);
        classes.push((priorities(requests), ClassFit { prefixes, ..fit }));
    }
    if let Some(reusable) = found.reusable_share {
        let all: f64 = traced.requests.iter().map(|request| f64::from(request.input_tokens)).sum();
        notes.push(format!(
            "{} of the prompt tokens are in leading blocks that came before; prefixes that requests share from their \
             beginning hold {}, and the fit gives up the rest, such as turns that go on from one another. Replay the trace \
             itself where the prefix cache matters",
            percent(reusable),
            percent(repeated / all)
        ));
    }
    let stem =
        std::path::Path::new(&trace.path).file_stem().and_then(|stem| stem.to_str()).unwrap_or("trace");
    let name = format!("{}_fitted", as_name(stem).chars().take(50).collect::<String>());
    let moments = traced.requests.iter().map(|request| u64::try_from(request.at_ns).unwrap_or(0));
    let moments: Vec<u64> = moments.collect();
    assemble(spec, &name, &trace.path, &moments, found.ends_s, classes, notes)
}

/// How often each name occurs; empty where not all requests have one, or there are too many.
fn named(names: impl Iterator<Item = Option<String>>) -> BTreeMap<String, u64> {
    let mut times = BTreeMap::new();
    for name in names {
        let Some(name) = name else { return BTreeMap::new() };
        *times.entry(name).or_insert(0) += 1;
    }
    if times.len() > MOST_NAMES { BTreeMap::new() } else { times }
}

/// The priorities of a class from the trace.
fn priorities(requests: &[&TracedRequest]) -> Map<String, Value> {
    let priorities = requests.iter().map(|request| request.priority.map(|priority| priority.to_string()));
    let priorities = named(priorities);
    let share = |(priority, weight): (String, u64)| json!({ "priority": priority, "weight": weight });
    let shares: Vec<Value> = priorities.into_iter().map(share).collect();
    if shares.is_empty() { Map::new() } else { Map::from_iter([("priorities".to_owned(), json!(shares))]) }
}
