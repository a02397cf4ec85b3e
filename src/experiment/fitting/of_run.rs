//! A workload fitted to a stored run.

use serde_json::{Map, Value, json};

use super::FitError;
use super::spec::{FittedWorkload, Gathered, assemble, by_class, class_fit};
use crate::generator::{Traced, TracedRequest};
use crate::record::RunLog;
use crate::workload::as_name;

/// Fits a stored run, called as `path`: its arrivals and, class by class, the lengths that it asked for, warm-up included.
/// What the run's workload declares beside them stays: prompts, prefixes, images, priorities, SLOs, tenants and models.
pub fn fit_run(log: &RunLog, path: &str) -> Result<FittedWorkload, FitError> {
    let (plan, workload) = (&log.header.plan, &log.header.workload);
    let mut traced = Traced::of_run(log);
    // Of a run that was broken off or stopped, only the time in which requests were let go.
    let released = match &log.footer {
        Some(footer) => Some(footer.released_until),
        None => log.records.iter().map(|record| record.scheduled).max(),
    };
    let window_end = released.map_or(plan.window_end, |released| released.min(plan.window_end));
    let end = i64::try_from(window_end.as_nanos()).unwrap_or(i64::MAX);
    traced.requests.retain(|request| request.at_ns < end);
    let mut notes = Vec::new();
    let mut spec = serde_json::to_value(workload).unwrap_or_default();
    let declared = spec["classes"].take();
    let declared: Vec<Value> = declared.as_array().cloned().unwrap_or_default();
    let recipe = |name: &str, notes: &mut Vec<String>| {
        let recipe = declared.iter().find(|class| class["name"] == name);
        let mut recipe = recipe.and_then(Value::as_object).cloned().unwrap_or_default();
        if recipe.get("prompt").is_some_and(|prompt| prompt["kind"] == "dataset") {
            recipe.remove("prompt");
            notes.push(format!(
                "prompts of `{name}` were a dataset's; those of the fit are everyday questions"
            ));
        }
        recipe
    };
    // Every block of a run's trace is a shared prefix, which its workload declares.
    let block_tokens = traced.block_tokens.unwrap_or(0);
    let own = |request: &TracedRequest| {
        let prefix = block_tokens.saturating_mul(request.blocks.len() as u32);
        request.input_tokens.saturating_sub(prefix).max(1)
    };
    let gathered = by_class(&traced.requests, "requests", as_name);
    let mut spec = spec.as_object().cloned().unwrap_or_default();
    keep_senders(&mut spec, &gathered, &mut notes);
    let classes = gathered.iter().filter_map(|(name, requests)| {
        let own: Vec<u32> = requests.iter().map(|request| own(request)).collect();
        let fit = class_fit(name, requests, &own)?;
        Some((recipe(name, &mut notes), fit))
    });
    let classes: Vec<_> = classes.collect();
    for field in ["seed", "requests", "trace", "arrival"] {
        spec.remove(field);
    }
    spec.insert("warmup_s".to_owned(), json!(workload.warmup_s.min(window_end.as_secs_f64() / 4.0)));
    let name = format!("{}_fitted", workload.name);
    assemble(spec, &name, path, &traced.requests, window_end.as_secs_f64(), classes, notes)
}

/// Leaves out the classes that sent nothing, and tenants that send none but them.
fn keep_senders(spec: &mut Map<String, Value>, gathered: &Gathered<'_>, notes: &mut Vec<String>) {
    let Some(tenants) = spec.get_mut("tenants").and_then(Value::as_array_mut) else { return };
    tenants.retain_mut(|tenant| {
        let Some(classes) = tenant.get_mut("classes").and_then(Value::as_array_mut) else { return true };
        classes.retain(|class| gathered.iter().any(|(name, _)| class == name));
        let sends = !classes.is_empty();
        if !sends {
            notes.push(format!("tenant {} sent nothing and is left out", tenant["name"]));
        }
        sends
    });
}
