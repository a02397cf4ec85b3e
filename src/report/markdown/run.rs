//! The sections of a run in Markdown.

use std::fmt::Write as _;

use super::table::{Table, sign};
use crate::analysis::wording::percent;
use crate::analysis::{Group, Judgement, LatencyRow, Metric, Quantile, SampleWarning, Summary};
use crate::report::grid::{NOTHING, cell};
use crate::report::render::escape::{block, code, text};
use crate::report::{Told, arrivals, latency};
use crate::units::{count, three_digits};

/// The run as Markdown that `GitHub` shows as it is meant: a line that says all, why the run is INVALID, objectives, latency,
/// throughput, groups, failures, findings, and the command that flies it again. What a server said stays text.
#[must_use]
pub fn run_markdown(told: Told<'_>) -> String {
    let summary = told.summary;
    let mut out = format!("## {}\n", badge(summary));
    what_was_run(&mut out, summary);
    reasons(&mut out, summary);
    objectives(&mut out, summary);
    latencies(&mut out, summary);
    throughput(&mut out, summary);
    groups(&mut out, "class", &summary.by_class);
    groups(&mut out, "priority", &summary.by_priority);
    groups(&mut out, "tenant", &summary.by_tenant);
    groups(&mut out, "model", &summary.by_model);
    failures(&mut out, summary);
    findings(&mut out, summary);
    again(&mut out, summary);
    out
}

/// The run in one line: `✅ VALID · 2 of 2 objectives met · p95 TTFT 312 ms · …`.
fn badge(summary: &Summary) -> String {
    let objectives = &summary.objectives;
    let met = objectives.iter().filter(|judgement| judgement.passed()).count();
    let valid = summary.verdict.valid;
    let sign = if valid && met == objectives.len() { "✅" } else { "❌" };
    let mut parts = vec![format!("{sign} {}", if valid { "VALID" } else { "INVALID" })];
    if !objectives.is_empty() {
        parts.push(format!("{met} of {} objectives met", objectives.len()));
    }
    for (metric, name) in [(Metric::Ttft, "TTFT"), (Metric::Tpot, "TPOT"), (Metric::E2e, "e2e")] {
        if let Some(row) = summary.latency.row(metric) {
            let p95 = latency::percentile(row.percentile(Quantile::P95));
            parts.push(format!("p95 {name} {p95} ms"));
        }
    }
    let completed = summary.rates.completed_requests_per_s;
    parts.extend(completed.map(|rate| format!("{} requests/s", three_digits(rate))));
    parts.extend(summary.failures.error_rate.map(|share| format!("{} errors", percent(share))));
    text(&parts.join(" · "))
}

fn what_was_run(out: &mut String, summary: &Summary) {
    let run = &summary.run;
    let engine = &run.engine;
    let models = run.model_names();
    let version = engine.server_version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
    let counts = &summary.requests;
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "\n{} on {} ({}), {}; {} of {} requests completed.",
        code(&run.workload),
        code(&models),
        code(&format!("{}{version}", engine.engine)),
        text(&arrivals::in_words(&run.arrival, run.load)),
        count(counts.completed),
        count(counts.planned),
    );
}

fn reasons(out: &mut String, summary: &Summary) {
    if summary.verdict.valid {
        return;
    }
    out.push_str("\n### Why it is INVALID\n\n");
    for reason in &summary.verdict.reasons {
        let _ = writeln!(out, "- **{}**<br>→ {}", text(&reason.sentence), text(&reason.cure));
    }
}

fn objectives(out: &mut String, summary: &Summary) {
    if summary.objectives.is_empty() {
        return;
    }
    out.push_str("\n### Objectives\n\n");
    let mut table = Table::of_words(out, &["", "objective", "was", "95 % interval", ""]);
    for judgement in &summary.objectives {
        let Judgement { objective, status, .. } = judgement;
        let was = judgement.figure_in_words().unwrap_or_else(|| "no such figure in this run".to_owned());
        let interval = judgement.interval_in_words().unwrap_or_else(|| NOTHING.to_owned());
        let mut notes = Vec::new();
        notes.extend(judgement.close.then_some("by chance on this side"));
        notes.extend(judgement.mark.map(|mark| match mark {
            SampleWarning::TooFewSamples => "too few samples",
            SampleWarning::Indicative => "indicative",
        }));
        let words = format!("{} {}", sign(*status), status.word());
        table.row([words, objective.text.clone(), was, interval, notes.join(", ")]);
    }
}

/// The latency table, in the order of the terminal's.
fn latencies(out: &mut String, summary: &Summary) {
    let rows: Vec<(&str, &LatencyRow)> = latency::ROWS
        .into_iter()
        .filter_map(|(metric, name)| Some((name, summary.latency.row(metric)?)))
        .collect();
    if rows.is_empty() {
        return;
    }
    out.push_str("\n### Latency, ms\n\nTTFT, TTFA and e2e count from the scheduled moment.\n\n");
    let mut table = Table::of_figures(out, &["", "n", "mean", "p50", "p90", "p95", "p99", "p99.9", "max"]);
    for (name, row) in &rows {
        let mean = row.mean_ms.map_or(NOTHING.to_owned(), cell);
        let mut cells = vec![(*name).to_owned(), count(row.n), mean];
        cells.extend(row.percentiles.iter().map(latency::percentile));
        cells.push(latency::figure(row.max));
        table.row(cells);
    }
    let shown: Vec<_> =
        rows.iter().flat_map(|(_, row)| row.percentiles.iter().map(latency::percentile)).collect();
    for (sign, meaning) in [
        ('*', "too few samples to rely on"),
        ('~', "indicative: fewer than ten samples lie above it"),
        ('>', "cut-off requests lie here: known only to exceed this"),
        ('≤', "cut-off requests lie here: at most this"),
    ] {
        if shown.iter().any(|cell| cell.contains(sign)) {
            let _ = writeln!(out, "\n{} {meaning}", text(&sign.to_string()));
        }
    }
}

fn throughput(out: &mut String, summary: &Summary) {
    let rates = &summary.rates;
    let slo = &summary.slo;
    let rows: Vec<(&str, f64)> = [
        ("requests offered", rates.offered_requests_per_s),
        ("requests sent", rates.achieved_requests_per_s),
        ("requests completed", rates.completed_requests_per_s),
        ("requests that met their SLO (goodput)", slo.goodput_per_s.filter(|_| slo.declared)),
        ("input tokens", rates.input_tokens_per_s),
        ("output tokens", rates.output_tokens_per_s),
        ("output tokens for each GPU", rates.output_tokens_per_s_per_gpu),
    ]
    .into_iter()
    .filter_map(|(name, rate)| Some((name, rate?)))
    .collect();
    if rows.is_empty() {
        return;
    }
    out.push_str("\n### Throughput, over the window\n\n");
    let mut table = Table::of_figures(out, &["", "per second"]);
    for (name, rate) in rows {
        table.row([name.to_owned(), cell(rate)]);
    }
    if let Some(share) = slo.slo_attainment {
        let promised = count(slo.promised);
        let _ = writeln!(out, "\n{} of {promised} promised requests met their SLO.", percent(share));
    }
}

fn groups(out: &mut String, kind: &str, groups: &[Group]) {
    // One group says what the whole run says.
    if groups.len() < 2 {
        return;
    }
    let _ = write!(out, "\n### By {kind}, ms\n\n");
    let titles =
        ["", "requests", "TTFT p50", "TTFT p95", "TPOT p50", "TPOT p95", "e2e p95", "errors", "SLO met"];
    let mut table = Table::of_figures(out, &titles);
    for group in groups {
        let shown = |metric, quantile| {
            let row = group.latency.row(metric);
            row.map_or(NOTHING.to_owned(), |row| latency::percentile(row.percentile(quantile)))
        };
        let share = |share: Option<f64>| share.map_or(NOTHING.to_owned(), percent);
        table.row([
            group.name.clone(),
            count(group.requests),
            shown(Metric::Ttft, Quantile::P50),
            shown(Metric::Ttft, Quantile::P95),
            shown(Metric::Tpot, Quantile::P50),
            shown(Metric::Tpot, Quantile::P95),
            shown(Metric::E2e, Quantile::P95),
            share(group.error_rate),
            share(group.slo.slo_attainment),
        ]);
    }
}

fn failures(out: &mut String, summary: &Summary) {
    if summary.failures.kinds.is_empty() {
        return;
    }
    out.push_str("\n### Failures\n\n");
    for failure in &summary.failures.kinds {
        let _ = writeln!(
            out,
            "- {} × {} ({}), such as: {}",
            count(failure.count),
            text(&failure.kind.to_string()),
            percent(failure.share),
            code(&failure.example)
        );
    }
}

fn findings(out: &mut String, summary: &Summary) {
    if summary.findings.is_empty() {
        return;
    }
    out.push_str("\n### Findings\n\n");
    for finding in &summary.findings {
        let _ = writeln!(out, "- {}<br>→ {}", text(&finding.sentence), text(&finding.cure));
    }
}

/// What makes the run again.
fn again(out: &mut String, summary: &Summary) {
    let run = &summary.run;
    // What no shell could hold is shown as it is.
    let line =
        shlex::try_join(run.command.iter().map(String::as_str)).unwrap_or_else(|_| run.command.join(" "));
    let _ = write!(
        out,
        "\n### Again\n\n{}\nSeed {}, plan {}, started {}, skyline {}.\n",
        block("sh", &line),
        run.seed,
        code(&run.plan_hash),
        run.started_at.strftime("%Y-%m-%d %H:%M:%S UTC"),
        text(&run.skyline_version),
    );
}
