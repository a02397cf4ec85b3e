//! Fits a workload to a run or to a trace.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::prefixes;
use super::spec::{ClassFit, FitError, FittedWorkload, assemble, class_fit};
use crate::analysis::wording::{percent, seconds};
use crate::clock::Timestamp;
use crate::generator::{RequestTrace, TracedRequest};
use crate::record::{RecordRef, RequestRecord, RunLog};
use crate::workload::{ArrivalPattern, Trace, TraceFindings, WorkloadSpec, as_name, lacks_texts};

/// Fits a stored run, called as `path`: its arrivals and, class by class, the lengths that it asked for, warm-up
/// included. What the run's workload declares beside them stays: prompts, prefixes, conversations, images, priorities,
/// SLOs, tenants and models.
pub fn fit_run(log: &RunLog, path: &str) -> Result<FittedWorkload, FitError> {
    refuse(log, path)?;
    let workload = &log.header.workload;
    let mut notes = given_up(log);
    let end = end(log, &mut notes);
    let records = log.records.iter().filter(|record| record.is_opener() && record.scheduled < end);
    let mut records: Vec<RecordRef<'_>> = records.collect();
    records.sort_by_key(|record| (record.scheduled, record.index));
    let mut gathered: BTreeMap<String, Vec<&RequestRecord>> = BTreeMap::new();
    for record in &records {
        let class = workload.classes.get(usize::from(record.class));
        let name = class.map_or_else(|| "requests".to_owned(), |class| as_name(&class.name));
        gathered.entry(name).or_default().push(record);
    }
    let mut spec = serde_json::to_value(workload).unwrap_or_default();
    let declared = spec["classes"].take();
    let declared: Vec<Value> = declared.as_array().cloned().unwrap_or_default();
    let mut spec = spec.as_object().cloned().unwrap_or_default();
    keep_senders(&mut spec, &gathered, &mut notes);
    let classes = gathered.iter().filter_map(|(name, records)| {
        // A shared prefix is declared, and comes on top of the lengths of a class.
        let own = records.iter().map(|record| {
            let prefix = record.prefix.map_or(0, |prefix| prefix.tokens);
            record.input_tokens_asked.saturating_sub(prefix).max(1)
        });
        let answers = records.iter().map(|record| record.output_tokens_asked);
        let fit = class_fit(name, &own.collect::<Vec<_>>(), &answers.collect::<Vec<_>>())?;
        Some((recipe(&declared, name, &mut notes), fit))
    });
    let classes: Vec<_> = classes.collect();
    for field in ["seed", "requests", "trace", "arrival"] {
        spec.remove(field);
    }
    if spec.get("checks").is_some_and(lacks_texts) {
        spec.remove("checks");
        spec.remove("check_every_s");
        notes.push(
            "golden prompts are left out: the run was stored without their texts (--save-text)".to_owned(),
        );
    }
    let ends_s = end.as_secs_f64();
    spec.insert("warmup_s".to_owned(), json!(workload.warmup_s.min(ends_s / 4.0)));
    let moments: Vec<u64> = records.iter().map(|record| record.scheduled.as_nanos()).collect();
    assemble(spec, &format!("{}_fitted", workload.name), path, &moments, ends_s, classes, notes)
}

/// Refuses runs whose moments are of no process that a workload could have.
fn refuse(log: &RunLog, path: &str) -> Result<(), FitError> {
    let path = path.to_owned();
    if let Some(shard) = log.header.shard {
        return Err(FitError::Shard { path, shard });
    }
    log.header.workload.arrival.users().map_or(Ok(()), |users| Err(FitError::ClosedLoop { path, users }))
}

/// Notes on what a workload fitted to the run cannot express.
fn given_up(log: &RunLog) -> Vec<String> {
    let WorkloadSpec { arrival, classes, .. } = &log.header.workload;
    let mut notes: Vec<String> =
        log.damage.warning().into_iter().chain(RequestTrace::unstored_blocks(log)).collect();
    if matches!(arrival, ArrivalPattern::ByClass { .. }) {
        notes.push(
            "each class of the run had arrivals of its own; those of the fit are one process for all, of which classes \
             take shares by chance"
                .to_owned(),
        );
    }
    if classes.iter().any(|class| class.conversation.is_some()) {
        notes.push(
            "of conversations only the first turns are fitted; later turns stay as the run's workload declares: their \
             number, length and timing"
                .to_owned(),
        );
    }
    notes
}

/// The end of the time in which requests were dispatched: that of the plan, or of a run that was stopped early, which
/// `notes` then say.
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

/// What the run's workload declares of a class beside its lengths.
fn recipe(declared: &[Value], name: &str, notes: &mut Vec<String>) -> Map<String, Value> {
    let recipe = declared.iter().find(|class| class["name"] == name);
    let mut recipe = recipe.and_then(Value::as_object).cloned().unwrap_or_default();
    if recipe.get("prompt").is_some_and(|prompt| prompt["kind"] == "dataset") {
        recipe.remove("prompt");
        notes.push(format!("prompts of `{name}` were a dataset's; those of the fit are everyday questions"));
    }
    for (field, now) in [("prompt", "everyday questions"), ("answer", "free text")] {
        if recipe.get(field).is_some_and(lacks_texts) {
            recipe.remove(field);
            notes.push(format!(
                "the {field} of `{name}` is now {now}: the run was stored without texts (--save-text)"
            ));
        }
    }
    recipe
}

/// Leaves out the classes that sent nothing, and tenants that send none but them.
fn keep_senders<T>(spec: &mut Map<String, Value>, gathered: &BTreeMap<String, T>, notes: &mut Vec<String>) {
    let Some(tenants) = spec.get_mut("tenants").and_then(Value::as_array_mut) else { return };
    tenants.retain_mut(|tenant| {
        let Some(classes) = tenant.get_mut("classes").and_then(Value::as_array_mut) else { return true };
        classes.retain(|class| class.as_str().is_some_and(|class| gathered.contains_key(class)));
        let sends = !classes.is_empty();
        if !sends {
            notes.push(format!("tenant {} sent nothing and is left out", tenant["name"]));
        }
        sends
    });
}

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
             beginning hold {}, and the fit drops the rest, such as turns that continue one another. Replay the trace itself \
             where the prefix cache matters",
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_were_not_stored_are_replaced_and_said() {
        let hash = format!("sha256:{}", "0".repeat(64));
        let declared = [json!({ "name": "c", "images": 1,
            "prompt": { "kind": "templates", "templates": [hash] },
            "answer": { "kind": "json_schema", "schema": { "$comment": hash } } })];
        let mut notes = Vec::new();
        let kept = recipe(&declared, "c", &mut notes);
        assert_eq!(kept.keys().collect::<Vec<_>>(), ["name", "images"]);
        assert!(notes[0].contains("everyday questions") && notes[1].contains("free text"), "{notes:?}");
        let with_texts = [json!({ "name": "c", "prompt": { "kind": "templates", "templates": ["Hello."] } })];
        assert!(recipe(&with_texts, "c", &mut Vec::new()).contains_key("prompt"));
    }
}
