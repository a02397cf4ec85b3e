//! The fields by which a change to a server is decided on, as a table of Markdown.

use std::fmt::Write as _;

use serde_json::Value;

use super::risk::risk;
use crate::analysis::wording::percent;
use crate::analysis::{Judgement, RunDescription, Summary};
use crate::record::{PromptMethod, TelemetrySource};
use crate::report::markdown::text;
use crate::report::{Told, arrivals, promises};
use crate::units::count;

/// The table: model, tokenizer, runtime, hardware, precision, flags, traffic mix, SLO target, pass or fail, rollback risk.
/// What nobody recorded is named as missing, with the option that records it.
#[must_use]
pub fn decision_fields(told: Told<'_>) -> String {
    let (summary, run) = (told.summary, &told.summary.run);
    let said = &run.deployment;
    let label = |name: &str| said.labels.get(name).cloned();
    let model = if run.models.is_empty() { run.engine.model.clone() } else { run.models.join(", ") };
    let driver = label("driver").or_else(|| pages(told).find_map(|page| page.driver.clone()));
    let driver = or_missing(driver, "driver", "--label driver=…");
    let (risk, reasons) = risk(summary);
    let fields = [
        (
            "Model / revision",
            format!("{model} / {}", or_missing(label("revision"), "revision", "--label revision=…")),
        ),
        ("Tokenizer / template", tokenizer(told)),
        ("Runtime / version", runtime(run)),
        ("Hardware / driver", format!("{} / {driver}", hardware(told))),
        ("Precision / quantization", or_missing(said.precision.clone(), "precision", "--precision")),
        ("Serving flags", serving_flags(run)),
        ("Traffic mix", traffic(summary)),
        ("SLO target", target(summary)),
        ("Pass/fail decision", decision(summary)),
        ("Rollback risk", format!("{}: {}", risk.word(), reasons.join("; "))),
    ];
    let mut out = "| Field | Value |\n|---|---|\n".to_owned();
    for (field, value) in fields {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "| {field} | {} |", text(&value));
    }
    out
}

fn missing(what: &str, option: &str) -> String {
    format!("{what} not recorded ({option})")
}

fn or_missing(value: Option<String>, what: &str, option: &str) -> String {
    value.unwrap_or_else(|| missing(what, option))
}

fn tokenizer(told: Told<'_>) -> String {
    let source = match &told.summary.run.prompt_method {
        PromptMethod::Tokenizer { source } => source.clone(),
        PromptMethod::Server => "the server's".to_owned(),
        PromptMethod::WordList | PromptMethod::AsGiven | PromptMethod::LengthsOnly => {
            missing("tokenizer", "--tokenizer")
        }
    };
    let template = match told.log.header.prompts.template_tokens {
        Some(tokens) => format!("the server's, {} tokens a prompt", count(tokens)),
        None => "the server's".to_owned(),
    };
    format!("{source} / {template}")
}

fn runtime(run: &RunDescription) -> String {
    let version = run.engine.server_version.clone();
    format!(
        "{} / {}",
        run.engine.engine,
        version.unwrap_or_else(|| "the server does not tell its version".to_owned())
    )
}

fn hardware(told: Told<'_>) -> String {
    let said = &told.summary.run.deployment;
    match (&said.hardware, said.gpus) {
        (Some(hardware), Some(gpus)) => format!("{gpus} × {hardware}"),
        (Some(hardware), None) => hardware.clone(),
        (None, _) => {
            let seen = pages(told).find_map(|page| page.hardware.clone());
            or_missing(seen, "hardware", "--hardware, --gpus")
        }
    }
}

/// The pages of metrics that were read, which may tell of devices.
fn pages(told: Told<'_>) -> impl Iterator<Item = &TelemetrySource> {
    told.log.header.telemetry.iter()
}

/// How the server was started, as a label says or it tells itself.
fn serving_flags(run: &RunDescription) -> String {
    let told = &run.engine.serving_flags;
    let labelled = run.deployment.labels.get("flags").cloned();
    let told = (!told.is_empty()).then(|| {
        let flags = told.iter().map(|(name, value)| match value {
            Value::String(text) => format!("{name}={text}"),
            value => format!("{name}={value}"),
        });
        flags.collect::<Vec<_>>().join(", ")
    });
    or_missing(labelled.or(told), "serving flags", "--label flags=…")
}

/// Shares and lengths of the classes, and how they arrived.
fn traffic(summary: &Summary) -> String {
    let all: u64 = summary.by_class.iter().map(|class| class.requests).sum();
    let classes: Vec<_> = summary
        .by_class
        .iter()
        .filter(|class| class.requests > 0)
        .map(|class| format!("{} {}", percent(class.requests as f64 / all as f64), class.name))
        .collect();
    format!("{}: {}; {}", summary.run.workload, classes.join(", "), arrivals::in_words(&summary.run.arrival))
}

/// What was promised to requests, and what was demanded of the run.
fn target(summary: &Summary) -> String {
    let mut parts: Vec<String> = Vec::new();
    let groups = summary.by_class.iter().chain(&summary.by_priority);
    for promise in groups.flat_map(|group| &group.promises).filter(|promise| !promise.slo.is_empty()) {
        let tenant = promise.tenant.as_ref().map(|name| format!(", {name}")).unwrap_or_default();
        let part =
            format!("{}, {}{tenant}: {}", promise.class, promise.priority, promises::bounds(promise.slo));
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    parts.extend(summary.objectives.iter().map(|judgement| judgement.objective.clone()));
    if parts.is_empty() { missing("target", "--objective, or an SLO of a class") } else { parts.join("; ") }
}

fn decision(summary: &Summary) -> String {
    let objectives = &summary.objectives;
    if let Some(reason) = summary.verdict.reasons.first() {
        return format!("NONE: the run is INVALID: {}", reason.sentence);
    }
    if objectives.is_empty() {
        let kept = summary.slo.slo_attainment;
        return kept.map_or("NONE: no objective was set".to_owned(), |kept| {
            format!("NONE: no objective was set; {} of promised requests met their SLO", percent(kept))
        });
    }
    let word = if objectives.iter().all(Judgement::passed) { "PASS" } else { "FAIL" };
    let lines: Vec<_> = objectives.iter().map(|judgement| judgement.line.as_str()).collect();
    format!("{word}: {}", lines.join("; "))
}
