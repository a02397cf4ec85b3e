//! What was asked of what, as the report has it.

use serde_json::{Map, Value, json};

use super::identity;
use crate::analysis::LoadForm;
use crate::record::{Fact, Phase, RunHeader};
use crate::report::documents::arrivals;
use crate::report::run_report::RunReport;
use crate::units::joined;
use crate::workload::{Distribution, PromptSource, RequestClass, WorkloadSpec};

/// The label of the one component that a client knows of.
pub(super) const SERVER: &str = "server";

/// Describes what answered, as an `inference_engine` or as `generic`. It is the former where all that the schema
/// demands of one is known.
pub(super) fn server(report: RunReport<'_>) -> Value {
    let header = &report.log.header;
    let known = |fact| report.summary.reproduction.value(fact);
    let (engine, said) = (header.engine(), &header.deployment);
    let version = known(Fact::EngineVersion).unwrap_or("unknown");
    let mut standardized = json!({ "kind": "generic", "tool": engine.engine, "tool_version": version });
    let facts = match accelerator(header) {
        Some(accelerator) => json!({
            "kind": "inference_engine",
            "role": "replica",
            "replicas": header.engines.len(),
            "model": { "name": engine.model },
            "accelerator": accelerator,
        }),
        None => json!({
            "model": engine.model,
            "hardware": known(Fact::Hardware),
            "gpus": said.gpus,
            "precision": known(Fact::Precision),
            "driver": known(Fact::Driver),
        }),
    };
    if let (Value::Object(standardized), Value::Object(facts)) = (&mut standardized, facts) {
        standardized.extend(facts);
    }
    // How it was started: what a person said of it, and above that what it tells itself.
    let mut args: Map<String, Value> = said.labels.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    args.extend(engine.serving_flags.clone());
    let urls = joined(header.engines.iter().map(|engine| &engine.url), " ");
    let texts = [&engine.engine, version, &engine.model, &standardized.to_string()];
    json!({
        "metadata": { "label": SERVER, "cfg_id": identity(&texts), "description": urls },
        "standardized": standardized,
        "native": { "args": (!args.is_empty()).then_some(args) },
    })
}

/// Returns the accelerators, where it is known how they are used together. They are one alone, or as many as tensors
/// are split over. The schema takes what is left out for 1.
fn accelerator(header: &RunHeader) -> Option<Value> {
    let (hardware, gpus) = (header.deployment.hardware.as_ref()?, header.deployment.gpus?);
    let tensor_parallel = crate::analysis::tensor_parallel(header).unwrap_or(1);
    (tensor_parallel == u64::from(gpus))
        .then(|| json!({ "model": hardware, "count": gpus, "parallelism": { "tp": tensor_parallel } }))
}

pub(super) fn load(report: RunReport<'_>) -> Value {
    let (header, run) = (&report.log.header, &report.summary.run);
    let workload = &header.workload;
    let rate = arrivals::request_rate(report.summary).filter(|&rate| rate > 0.0);
    let measured = || report.log.records.iter().filter(|record| record.phase == Phase::Measured);
    // A distribution of the workload says the lengths where it alone decides them.
    let class = workload.classes.first().filter(|_| workload.classes.len() == 1);
    let is_simple = |class: &&RequestClass| class.shared_prefix.is_none() && !class.continues();
    let simple_input = class.filter(is_simple).map(|class| &class.input_tokens);
    let input = asked(simple_input, measured().map(|record| record.input_tokens_asked));
    // "If enforced", says the schema: some answers end by themselves.
    let enforced = !workload.classes.iter().any(RequestClass::ends_by_itself);
    let simple_output = class.map(|class| &class.output_tokens);
    let output = enforced.then(|| asked(simple_output, measured().map(|record| record.output_tokens_asked)));
    json!({
        "metadata": {
            "cfg_id": run.plan_hash,
            "description": format!("{}: {}", workload.name, workload.description),
        },
        "standardized": {
            "tool": "skyline",
            "tool_version": run.skyline_version,
            "source": source(workload),
            "input_seq_len": input,
            "output_seq_len": output,
            "multi_turn": (run.load != LoadForm::Open && report.summary.sessions.is_some())
                .then(|| json!({ "enabled": true })),
            "rate_qps": rate,
            "concurrency": run.limits.max_concurrency.into_iter().chain(run.arrival.users()).min(),
        },
        "native": { "args": { "command": run.command }, "config": workload },
    })
}

/// Says where prompts come from, in the schema's words.
fn source(workload: &WorkloadSpec) -> &'static str {
    let sampled = |prompt: &PromptSource| matches!(prompt, PromptSource::Dataset(_));
    let prompts = || workload.classes.iter().map(|class| &class.prompt);
    if workload.arrival.trace().is_some() || prompts().all(sampled) {
        "sampled"
    } else if prompts().any(sampled) {
        "unknown"
    } else {
        "random"
    }
}

/// Returns the lengths that were asked for. They are as the workload declares them where the schema has a name for
/// that, else their mean and bounds over the requests of the window.
fn asked(declared: Option<&Distribution>, lengths: impl Iterator<Item = u32>) -> Value {
    match declared {
        Some(Distribution::Constant { value }) => json!({ "distribution": "fixed", "value": value }),
        Some(Distribution::Uniform { min, max }) => json!({
            "distribution": "uniform",
            "value": f64::midpoint(f64::from(*min), f64::from(*max)),
            "min": min,
            "max": max,
        }),
        Some(Distribution::Normal { mean, std, min, max }) => json!({
            "distribution": "gaussian", "value": mean, "std_dev": std, "min": min, "max": max,
        }),
        _ => {
            let lengths: Vec<u32> = lengths.collect();
            let sum: f64 = lengths.iter().copied().map(f64::from).sum();
            json!({
                "distribution": "other",
                "value": if lengths.is_empty() { 0.0 } else { sum / lengths.len() as f64 },
                "min": lengths.iter().min(),
                "max": lengths.iter().max().filter(|&&max| max > 0),
            })
        }
    }
}
