//! What was offered, and how the percentiles came out: the least that lets a reader understand a system's behaviour.

use std::fmt::Write as _;

use crate::analysis::{Figure, LatencyRow, LoadForm, Metric, Percentile, Quantile, SampleWarning, Summary};
use crate::record::{Outcome, Phase, RecordRef};
use crate::report::documents::arrivals;
use crate::report::render::printable;
use crate::report::run_report::RunReport;
use crate::units::{count, seconds, three_digits};

/// The percentiles of the block, under the names that it has for them.
const PERCENTILES: [(Quantile, &str); 4] =
    [(Quantile::P50, "p50"), (Quantile::P90, "p90"), (Quantile::P99, "p99"), (Quantile::P999, "p999")];

/// Returns the percentile block. It has the workload, open or closed loop, the duration after warm-up, samples, and p50
/// to p999 of TTFT, TPOT and e2e, each with its reservation.
pub(crate) fn percentile_block(report: RunReport<'_>) -> String {
    let summary = report.summary;
    let mut out = String::new();
    for (name, text) in [
        ("Workload", workload(report)),
        ("Concurrency", concurrency(summary)),
        ("Duration", duration(summary)),
        ("Samples", samples(summary)),
        ("Verdict", verdict(summary)),
    ] {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{name}: {}", printable(&text));
    }
    let has_no_tokens = summary.run.inputs.is_some();
    for metric in Metric::MAIN.into_iter().filter(|metric| !(has_no_tokens && metric.is_of_answer_tokens())) {
        let name = metric.title();
        let Some(row) = summary.latency.row(metric) else {
            let _ = writeln!(out, "{name}: not measured");
            continue;
        };
        let _ = writeln!(out, "{name}:");
        for (quantile, label) in PERCENTILES {
            let _ = writeln!(out, "  {label}: {}", shown(row, row.percentile(quantile)));
        }
    }
    // What the names mean, for they mean other things elsewhere.
    let origin = arrivals::latency_origin(summary.run.load);
    let _ = match summary.run.inputs {
        Some(_) => writeln!(out, "e2e counts from {origin}; answers have no tokens."),
        None => {
            writeln!(out, "TTFT and e2e count from {origin}; TPOT is (last − first token) / (output tokens − 1).")
        }
    };
    out
}

fn workload(report: RunReport<'_>) -> String {
    let run = &report.summary.run;
    let lengths = mean_lengths(report.log.records.iter()).map_or(String::new(), |(prompt, answer)| match run.inputs {
        Some(_) => format!(", {prompt}-token prompts (mean)"),
        None => format!(", {prompt}-token prompts, {answer}-token outputs (means)"),
    });
    format!("{} on {}{lengths}", run.workload, run.model_names())
}

/// Returns the mean tokens of prompts and of answers of completed requests in the window. `None` of none.
fn mean_lengths<'r>(records: impl Iterator<Item = RecordRef<'r>>) -> Option<(String, String)> {
    let (mut n, mut prompt, mut answer) = (0_u64, 0, 0);
    for record in records {
        if record.phase == Phase::Measured && record.outcome == Outcome::Completed {
            n += 1;
            prompt += record.prompt_tokens();
            answer += record.output_tokens;
        }
    }
    let mean = |sum: u64| count((sum as f64 / n as f64).round() as u64);
    (n > 0).then(|| (mean(prompt), mean(answer)))
}

fn concurrency(summary: &Summary) -> String {
    let run = &summary.run;
    let arrivals = arrivals::in_words(&run.arrival, run.load);
    let form = match run.load {
        LoadForm::Open => format!("open-loop, {arrivals}"),
        LoadForm::PartlyOpen => format!("partly open-loop (conversations), {arrivals}"),
        LoadForm::Closed | LoadForm::Lanes => arrivals,
    };
    run.limits.caps_in_words().map_or(form.clone(), |cap| format!("{form}, at most {cap} in flight"))
}

fn duration(summary: &Summary) -> String {
    let window = &summary.window;
    let length = seconds(window.counted_s());
    if window.start_s > 0.0 {
        format!("{length} after {} of warm-up", seconds(window.start_s))
    } else {
        format!("{length}, no warm-up")
    }
}

fn samples(summary: &Summary) -> String {
    let requests = &summary.requests;
    let others = [(requests.failed, "failed"), (requests.censored, "cut off")];
    let others = others.into_iter().filter(|(number, _)| *number > 0);
    let all = others.map(|(number, what)| format!("; {} more {what}", count(number)));
    [count(requests.completed)].into_iter().chain(all).collect()
}

fn verdict(summary: &Summary) -> String {
    let word = summary.verdict.outcome.word();
    match summary.verdict.gravest() {
        None => word.to_owned(),
        Some(reason) => format!("{word}: {}", reason.sentence),
    }
}

/// `300 ms`, `> 30 s`, `1,500 ms (too few samples: 600)`.
fn shown(row: &LatencyRow, percentile: &Percentile) -> String {
    let figure = match percentile.figure {
        Figure::Exact(value) => length(value),
        Figure::Between { high, .. } => format!("at most {}", length(high)),
        Figure::AtLeast(low) => format!("over {}", length(low)),
    };
    match percentile.mark {
        Some(SampleWarning::TooFewSamples) => format!("{figure} (too few samples: {})", count(row.n)),
        Some(SampleWarning::Indicative) => format!("{figure} (indicative: {} samples)", count(row.n)),
        None => figure,
    }
}

/// Milliseconds, or from ten seconds on seconds.
fn length(ms: f64) -> String {
    if ms < 10_000.0 { format!("{} ms", three_digits(ms)) } else { format!("{} s", three_digits(ms / 1e3)) }
}

#[cfg(test)]
mod tests {
    use super::percentile_block;
    use crate::report::sample_runs::{hostile, minute, report, three};
    use crate::workload::{ArrivalPattern, ThinkTime};

    #[test]
    fn the_percentile_block() {
        insta::assert_snapshot!(report(&minute(), &[], percentile_block));
    }

    #[test]
    fn the_percentile_block_of_a_closed_loop_that_failed() {
        let mut log = three();
        log.header.workload.arrival = ArrivalPattern::of_users(32, ThinkTime::Constant { value: 0.0 });
        log.header.limits.max_concurrency = Some(8);
        insta::assert_snapshot!(report(&log, &[], percentile_block));
    }

    #[test]
    fn foreign_text_stays_text() {
        let block = report(&hostile(), &[], percentile_block);
        assert!(!block.contains("\n# EOF") && !block.contains('\u{1b}'), "{block}");
    }
}
