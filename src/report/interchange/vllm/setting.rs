//! What was asked of a run, under vLLM's names.

use serde_json::{Map, Value, json};

use crate::record::{Fact, PromptMethod};
use crate::report::documents::arrivals;
use crate::report::run_report::RunReport;
use crate::workload::ArrivalPattern;

/// The keys that vLLM writes before the figures. What vLLM's `--metadata` would add comes first, so that no label of a
/// person replaces a key of vLLM's.
pub(super) fn setting(report: RunReport<'_>, requests: usize) -> Map<String, Value> {
    let run = &report.summary.run;
    let mut map = metadata(report);
    let users = run.arrival.users();
    let tokenizer = match &run.prompt_method {
        PromptMethod::Tokenizer { source } => json!(source),
        _ => json!(run.engine.model),
    };
    // On average; vLLM runs a closed loop with all requests at once under a cap.
    let rate = users.map_or_else(|| json!(arrivals::request_rate(report.summary)), |_| json!("inf"));
    let mut set = |key: &str, value: Value| _ = map.insert(key.to_owned(), value);
    set("date", json!(run.started_at.strftime("%Y%m%d-%H%M%S").to_string()));
    let backend = crate::engine::Protocol::named(&run.engine.endpoint).map_or("openai", |protocol| protocol.backend);
    set("endpoint_type", json!(backend));
    set("backend", json!(backend));
    set("label", Value::Null);
    set("model_id", json!(run.engine.model));
    set("tokenizer_id", tokenizer);
    set("num_prompts", json!(requests));
    set("request_rate", rate);
    set("burstiness", burstiness(&run.arrival));
    set("max_concurrency", json!(run.limits.max_concurrency.into_iter().chain(users).min()));
    map
}

/// Returns what vLLM has no key for, as its `--metadata KEY=VALUE` keeps such. That is labels, and what tells the run
/// from others.
fn metadata(report: RunReport<'_>) -> Map<String, Value> {
    let (summary, run) = (report.summary, &report.summary.run);
    let said = &run.deployment;
    let mut map: Map<String, Value> = said.labels.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    let known = |fact| summary.reproduction.value(fact).map(Value::from);
    let facts = [
        ("hardware", known(Fact::Hardware)),
        ("gpus", said.gpus.map(Value::from)),
        ("precision", known(Fact::Precision)),
        ("driver", known(Fact::Driver)),
        ("tensor_parallel_size", crate::analysis::tensor_parallel(&report.log.header).map(Value::from)),
        ("server_version", known(Fact::EngineVersion)),
        ("skyline_version", Some(json!(run.skyline_version))),
        ("skyline_workload", Some(json!(run.workload))),
        ("skyline_seed", Some(json!(run.seed))),
        ("skyline_plan_hash", Some(json!(run.plan_hash))),
        ("skyline_verdict", Some(json!(summary.verdict.outcome.word()))),
    ];
    map.extend(facts.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
    map
}

/// vLLM's gamma shape; null of a process that is none of vLLM's.
fn burstiness(arrival: &ArrivalPattern) -> Value {
    match arrival {
        ArrivalPattern::Poisson { .. } => json!(1.0),
        ArrivalPattern::Gamma { burstiness, .. } => json!(burstiness),
        ArrivalPattern::Constant { .. } => json!("inf"),
        _ => Value::Null,
    }
}
