//! A fitted engine as a document: its costs, how well it predicts measured runs, what it predicts of other rates.

use crate::analysis::{Metric, Quantile, VerdictOutcome};
use crate::experiment::{CostKind, EngineFit, FittedCost, Grade, PredictedRate, PredictedRates, RunCheck};
use crate::report::document::{Document, NOTHING, Note, Section, Table, TableCell, Tone, VerdictLine, cell};
use crate::report::documents::parts::cells::latency;
use crate::units::{counted, joined, percent, three_digits};

/// The latencies by which a fit is judged.
const FIGURES: [(&str, Metric, Quantile); 4] = [
    ("TTFT p50", Metric::Ttft, Quantile::P50),
    ("p99", Metric::Ttft, Quantile::P99),
    ("TPOT p50", Metric::Tpot, Quantile::P50),
    ("p99", Metric::Tpot, Quantile::P99),
];

/// Tails with a larger error than this are named in the verdict.
const NEAR: f64 = 0.1;

/// The fit by itself.
pub fn document(fit: &EngineFit) -> Document {
    with_rates(fit, None)
}

/// The fit and what it predicts of several rates.
pub fn predicted(predicted: &PredictedRates) -> Document {
    with_rates(&predicted.engine_fit, Some(predicted))
}

fn with_rates(fit: &EngineFit, predicted: Option<&PredictedRates>) -> Document {
    let title = format!("Engine fitted to {}: {}", counted(fit.runs.len() as u64, "run"), fit.form);
    Document::new(title).verdict(grade(fit)).with(predicted.map(rates)).with(sections(fit))
}

/// Says how well it is fitted, and by what that is judged.
pub(super) fn grade(fit: &EngineFit) -> VerdictLine {
    let (tone, word, sentence) = match (fit.grade, fit.worst(Quantile::P50)) {
        (Grade::Good, _) => (Tone::Good, "GOOD FIT", "medians within 10 %"),
        (Grade::Rough, _) => (Tone::Bad, "ROUGH FIT", "a median is off by over 10 %: good for a guess, not for money"),
        (Grade::Poor, None) => {
            (Tone::Bad, "POOR FIT", "no median was measured to compare it with; nothing is predicted")
        }
        (Grade::Poor, Some(off)) if off.is_finite() => {
            (Tone::Bad, "POOR FIT", "a median is off by over 25 %; nothing is predicted")
        }
        (Grade::Poor, Some(_)) => (
            Tone::Bad,
            "POOR FIT",
            "the fitted engine does not keep up with the load that was sent; nothing is predicted",
        ),
    };
    let tails = match fit.worst(Quantile::P99) {
        Some(off) if fit.grade != Grade::Poor && off.is_infinite() => "; a p99 could not be predicted".to_owned(),
        Some(off) if fit.grade != Grade::Poor && off > NEAR => {
            format!("; tails (p99) are off by up to {}", percent(off))
        }
        _ => String::new(),
    };
    let basis = if fit.held_out.is_empty() {
        "; judged on the run itself: give several runs to judge it on one that it was not fitted to"
    } else {
        "; each run judged by an engine fitted to the others"
    };
    VerdictLine::new(tone, word, format!("{sentence}{tails}{basis}"))
}

/// The costs, and measured against predicted latencies.
pub(super) fn sections(fit: &EngineFit) -> [Section; 2] {
    let costs = fit.costs.iter().map(cost_cells);
    let table = Table::from_cells("Fitted costs", ["", "fitted", "95 % interval"], costs);
    let error = |share: Option<f64>| share.map_or(NOTHING.to_owned(), percent);
    let costs = Section::page("Fitted costs").table(table).remark([format!(
        "from {}; median error of the time of an answer: {}, of a time to first token: {}",
        counted(fit.equations, "equation"),
        error(fit.answer_error),
        error(fit.first_token_error),
    )]);
    let of_all = fit.runs.iter().map(|run| (run, None));
    let held_out = fit.held_out.iter().map(|run| (run, Some("held out")));
    let table = Table::over("Measured and predicted latencies", of_all.chain(held_out)).column("", checked_run);
    let table = FIGURES
        .into_iter()
        .fold(table, |table, (title, metric, quantile)| table.column(title, |(run, _)| off(run, metric, quantile)));
    let check = Section::summary("Measured → predicted by the fitted engine, ms")
        .table(table)
        .fact("runs", joined(fit.runs.iter().map(|run| &run.run), ", "));
    [costs, check]
}

fn cost_cells(cost: &FittedCost) -> [TableCell; 3] {
    let name = match cost.kind {
        CostKind::ComputeEfficiency => "share of the arithmetic",
        CostKind::BandwidthEfficiency => "share of the bandwidth",
        CostKind::StepOverhead => "fixed cost of a step",
        CostKind::Step => "each step",
        CostKind::Sequence => "each sequence in it",
        CostKind::PromptToken => "1,000 prompt tokens",
        CostKind::ContextToken => "1,000 context tokens",
        CostKind::AttendedPair => "1,000,000 attended pairs",
        CostKind::FrontEnd => "front end, once an answer",
    };
    let scale = match cost.kind {
        CostKind::PromptToken | CostKind::ContextToken => 1e3,
        CostKind::AttendedPair => 1e6,
        _ => 1.0,
    };
    let value = |value: f64| {
        if cost.kind.is_share() { percent(value) } else { format!("{} ms", cell(value * scale * 1e3)) }
    };
    let interval = cost.low.zip(cost.high).map(|(low, high)| format!("{} to {}", value(low), value(high)));
    let (fitted, interval) = match (cost.value, cost.high) {
        (Some(0.0), Some(0.0)) => ("none seen".to_owned(), None),
        (Some(middle), _) => (value(middle), interval),
        (None, _) => ("not seen".to_owned(), None),
    };
    [name.into(), fitted.into(), interval.into()]
}

fn checked_run((run, how): (&RunCheck, Option<&str>)) -> String {
    let rate = || format!("{}/s", three_digits(run.rate_per_s));
    let load = run.users.map_or_else(rate, |users| counted(users, "user"));
    let doubt = Some(run.outcome.word()).filter(|_| run.outcome != VerdictOutcome::Valid);
    [Some(load.as_str()), how, doubt].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Returns a run's latency as measured and as predicted, and how far off that is.
fn off(run: &RunCheck, metric: Metric, quantile: Quantile) -> Option<String> {
    let figure = run.figure(metric, quantile)?;
    let predicted = match (figure.predicted_ms, figure.predicted_at_least_ms) {
        (Some(ms), _) => three_digits(ms),
        (None, Some(ms)) => format!("> {}", three_digits(ms)),
        (None, None) => NOTHING.to_owned(),
    };
    // So that there is no −0.
    let off = figure.off.map(|off| format!(", {:+.0} %", (off * 100.0).round() + 0.0)).unwrap_or_default();
    Some(format!("{} → {predicted}{off}", three_digits(figure.measured_ms)))
}

/// Shows the predictions for several rates, beside what was measured at them.
fn rates(predicted: &PredictedRates) -> Section {
    let titles = ["requests/s"].into_iter().chain(FIGURES.map(|(title, ..)| title));
    let titles = titles.chain(["tokens/s", "SLO %", "source"]);
    let rows = predicted.rates.iter().flat_map(|rate| {
        let measured = rate.measured.as_ref().map(|run| {
            let measured = |metric, quantile| Some(run.figure(metric, quantile)?.measured_ms);
            let [a, b, c, d] = FIGURES.map(|(_, metric, quantile)| measured(metric, quantile).into());
            ["".into(), a, b, c, d, NOTHING.into(), NOTHING.into(), "measured".into()]
        });
        [rate_cells(rate)].into_iter().chain(measured)
    });
    let overloaded = predicted.rates.iter().any(|rate| rate.outcome == VerdictOutcome::Overloaded);
    Section::summary("Predicted, ms; with the measured figures at that rate")
        .table(Table::from_cells("Predicted by rate", titles, rows))
        .remark(
            overloaded.then_some(
                "OVERLOADED: the server would not keep up, and these figures depend on the length of the run",
            ),
        )
        .notes(predicted.notes.iter().map(Note::info))
}

fn rate_cells(rate: &PredictedRate) -> [TableCell; 8] {
    [
        three_digits(rate.rate_per_s).into(),
        rate.ttft_p50.and_then(latency).into(),
        rate.ttft_p99.and_then(latency).into(),
        rate.tpot_p50.and_then(latency).into(),
        rate.tpot_p99.and_then(latency).into(),
        rate.output_tokens_per_s.map(three_digits).into(),
        rate.slo_attainment.map(|share| three_digits(share * 100.0)).into(),
        match rate.outcome {
            VerdictOutcome::Valid => "predicted".into(),
            other => format!("predicted, {}", other.word()).into(),
        },
    ]
}
