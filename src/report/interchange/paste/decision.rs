//! The fields by which a change to a server is decided on, as a table of Markdown.

use std::fmt::Write as _;

use super::percentiles::mean_lengths;
use super::risk::risk;
use crate::analysis::wording::percent;
use crate::analysis::{Group, Judgement, Summary};
use crate::record::{Fact, PromptMethod, RecordRef};
use crate::report::documents::{arrivals, bounds};
use crate::report::render::escape::text;
use crate::report::run_report::RunReport;
use crate::units::count;

/// The table: model, tokenizer, runtime, hardware, precision, flags, traffic mix, SLO target, pass or fail, rollback risk.
/// What nobody recorded is named as missing, with the option that records it.
pub(crate) fn decision_fields(report: RunReport<'_>) -> String {
    let (summary, run) = (report.summary, &report.summary.run);
    let known = |fact| summary.reproduction.value(fact);
    let revision = known(Fact::ModelRevision);
    let model = run.model_names();
    let driver = or_missing(known(Fact::Driver), "driver", "--fact driver=…");
    let (risk, reasons) = risk(summary);
    let fields = [
        (
            "Model / revision",
            format!("{model} / {}", or_missing(revision, "revision", "--fact model_revision=…")),
        ),
        ("Tokenizer / template", tokenizer(report)),
        ("Runtime / version", runtime(summary)),
        ("Hardware / driver", format!("{} / {driver}", hardware(summary))),
        ("Precision / quantization", or_missing(known(Fact::Precision), "precision", "--precision")),
        ("Serving flags", or_missing(known(Fact::ServingFlags), "serving flags", "--fact serving_flags=…")),
        ("Traffic mix", traffic(report)),
        ("SLO target", target(summary)),
        ("Pass/fail decision", decision(summary)),
        ("Rollback risk", format!("{}: {}", <&str>::from(risk), reasons.join("; "))),
    ];
    let mut out = "| Field | Value |\n|---|---|\n".to_owned();
    for (field, value) in fields {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "| {field} | {} |", text(&value));
    }
    out
}

fn or_missing(value: Option<&str>, what: &str, option: &str) -> String {
    value.map_or_else(|| format!("{what} not recorded ({option})"), str::to_owned)
}

fn tokenizer(report: RunReport<'_>) -> String {
    let source = match &report.summary.run.prompt_method {
        PromptMethod::Tokenizer { source } => Some(source.as_str()),
        PromptMethod::Server => Some("the server's"),
        PromptMethod::WordList | PromptMethod::AsGiven | PromptMethod::LengthsOnly => None,
    };
    let source = or_missing(source, "tokenizer", "--tokenizer");
    let template = match report.log.header.prompts.template_tokens {
        Some(tokens) => format!("the server's, {} tokens a prompt", count(tokens)),
        None => "the server's".to_owned(),
    };
    format!("{source} / {template}")
}

fn runtime(summary: &Summary) -> String {
    let version = summary.reproduction.value(Fact::EngineVersion);
    let version = version.unwrap_or("the server does not report its version");
    format!("{} / {version}", summary.run.engine.engine)
}

fn hardware(summary: &Summary) -> String {
    let said = &summary.run.deployment;
    match (&said.hardware, said.gpus) {
        (Some(hardware), Some(gpus)) => format!("{gpus} × {hardware}"),
        (Some(hardware), None) => hardware.clone(),
        (None, _) => or_missing(summary.reproduction.value(Fact::Hardware), "hardware", "--hardware, --gpus"),
    }
}

/// Shares and lengths of the classes, and how they arrived. Lengths are means over the answers that came whole.
fn traffic(report: RunReport<'_>) -> String {
    let (summary, run) = (report.summary, &report.summary.run);
    let all: u64 = summary.by_class.iter().map(|class| class.requests).sum();
    let class = |class: &Group| {
        let is_of_it =
            |record: &RecordRef<'_>| run.classes.get(usize::from(record.class)) == Some(&class.name);
        let lengths = mean_lengths(report.log.records.iter().filter(is_of_it));
        let lengths =
            lengths.map_or(String::new(), |(prompt, answer)| format!(" ({prompt} → {answer} tokens)"));
        let share = percent(class.requests as f64 / all as f64);
        (class.requests > 0).then(|| format!("{share} {}{lengths}", class.name))
    };
    let classes: Vec<_> = summary.by_class.iter().filter_map(class).collect();
    format!("{}: {}; {}", run.workload, classes.join(", "), arrivals::in_words(&run.arrival, run.load))
}

/// The SLOs of requests, and the objectives of the run.
fn target(summary: &Summary) -> String {
    let mut parts: Vec<String> = Vec::new();
    let groups = summary.by_class.iter().chain(&summary.by_priority);
    for target in groups.flat_map(|group| &group.slo_targets).filter(|target| !target.slo.is_empty()) {
        let tenant = target.tenant.as_ref().map(|name| format!(", {name}")).unwrap_or_default();
        let part = format!("{}, {}{tenant}: {}", target.class, target.priority, bounds(target.slo));
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    parts.extend(summary.objectives.iter().map(|judgement| judgement.objective.text.clone()));
    let parts = (!parts.is_empty()).then(|| parts.join("; "));
    or_missing(parts.as_deref(), "target", "--objective, or an SLO of a class")
}

fn decision(summary: &Summary) -> String {
    let objectives = &summary.objectives;
    if let Some(reason) = summary.verdict.gravest() {
        let word = if summary.verdict.valid { "FAIL" } else { "NONE" };
        return format!("{word}: the run is {}: {}", summary.verdict.outcome.word(), reason.sentence);
    }
    if objectives.is_empty() {
        let kept = summary.slo.slo_attainment;
        return kept.map_or("NONE: no objective was set".to_owned(), |kept| {
            format!("NONE: no objective was set; {} of the requests with an SLO met it", percent(kept))
        });
    }
    let word = if objectives.iter().all(Judgement::passed) { "PASS" } else { "FAIL" };
    let lines: Vec<_> = objectives.iter().map(|judgement| judgement.line.as_str()).collect();
    format!("{word}: {}", lines.join("; "))
}
