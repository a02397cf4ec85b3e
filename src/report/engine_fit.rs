//! A fitted engine as a person reads it: its costs, how well it tells runs again, what it predicts.

use super::grid::{ALWAYS, Grid, NOTHING, cell};
use super::page::{Page, Tone};
use crate::analysis::wording::{counted, percent};
use crate::analysis::{Metric, Quantile};
use crate::experiment::{CostKind, EngineFit, FittedCost, Grade, RunCheck};
use crate::units::three_digits;

/// Latencies that are held against one another.
const FIGURES: [(Metric, Quantile); 4] = [
    (Metric::Ttft, Quantile::P50),
    (Metric::Ttft, Quantile::P99),
    (Metric::Tpot, Quantile::P50),
    (Metric::Tpot, Quantile::P99),
];

/// Tails that are off by more than this are told in the verdict.
const NEAR: f64 = 0.1;

pub(crate) fn section(page: &mut Page, fit: &EngineFit) {
    let runs = counted(fit.runs.len() as u64, "run");
    page.line(Tone::Strong, &format!("Engine fitted to {runs}: {}", fit.form));
    let mut costs = Grid::new(&["", "fitted", "95 % interval"].map(|title| (title, ALWAYS)));
    for cost in &fit.costs {
        costs.row(told(cost));
    }
    page.grid(costs);
    let error = |share: Option<f64>| share.map_or(NOTHING.to_owned(), percent);
    let residuals = format!(
        "from {}; their median error: of the time of an answer {}, of a time to first token {}",
        counted(fit.equations, "equation"),
        error(fit.answer_error),
        error(fit.first_token_error),
    );
    page.entry(Tone::Faint, "  ", &residuals);
    let titles = ["", "TTFT p50", "p99", "TPOT p50", "p99"].map(|title| (title, ALWAYS));
    let mut grid = Grid::new(&titles);
    let of_all = fit.runs.iter().map(|run| (run, ""));
    for (run, how) in of_all.chain(fit.held_out.iter().map(|run| (run, "held out"))) {
        grid.row(compared(run, how));
    }
    page.heading("Measured → told again by the fitted engine, ms");
    page.grid(grid);
    let names: Vec<&str> = fit.runs.iter().map(|run| run.run.as_str()).collect();
    page.entry(Tone::Faint, "  runs: ", &names.join(", "));
    let (tone, words) = verdict(fit);
    page.entry(tone, "  ", &words);
}

/// How well it is fitted, and by what that is judged.
pub(super) fn verdict(fit: &EngineFit) -> (Tone, String) {
    let (tone, words) = match (fit.grade, fit.worst(Quantile::P50)) {
        (Grade::Good, _) => (Tone::Good, "GOOD FIT: medians within 10 %"),
        (Grade::Rough, _) => {
            (Tone::Bad, "ROUGH FIT: a median is off by over 10 %; good for a guess, not for money")
        }
        (Grade::Poor, None) => {
            (Tone::Bad, "POOR FIT: no median was measured to hold it against; nothing is predicted")
        }
        (Grade::Poor, Some(off)) if off.is_finite() => {
            (Tone::Bad, "POOR FIT: a median is off by over 25 %; nothing is predicted")
        }
        (Grade::Poor, Some(_)) => (
            Tone::Bad,
            "POOR FIT: the fitted engine does not keep up with what was sent; nothing is predicted",
        ),
    };
    let tails = match fit.worst(Quantile::P99) {
        Some(off) if fit.grade != Grade::Poor && off.is_infinite() => "; a p99 could not be told".to_owned(),
        Some(off) if fit.grade != Grade::Poor && off > NEAR => {
            format!("; tails (p99) are off by up to {}", percent(off))
        }
        _ => String::new(),
    };
    let basis = if fit.held_out.is_empty() {
        "; of the run itself: give several runs to see how it does on one that it was not fitted to"
    } else {
        "; of each run by an engine fitted to the others"
    };
    (tone, format!("{words}{tails}{basis}"))
}

fn told(cost: &FittedCost) -> [String; 3] {
    let name = match cost.kind {
        CostKind::ComputeEfficiency => "share of the arithmetic",
        CostKind::BandwidthEfficiency => "share of the bandwidth",
        CostKind::StepOverhead => "each step besides",
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
    let (fitted, interval) = match (cost.value, cost.low, cost.high) {
        (Some(0.0), _, Some(0.0)) => ("none seen".to_owned(), NOTHING.to_owned()),
        (Some(middle), Some(low), Some(high)) => {
            (value(middle), format!("{} to {}", value(low), value(high)))
        }
        (Some(middle), _, _) => (value(middle), NOTHING.to_owned()),
        (None, _, _) => ("not seen".to_owned(), NOTHING.to_owned()),
    };
    [name.to_owned(), fitted, interval]
}

fn compared(run: &RunCheck, how: &str) -> Vec<String> {
    let load = run
        .users
        .map_or_else(|| format!("{}/s", three_digits(run.rate_per_s)), |users| counted(users, "user"));
    let mut name = vec![load];
    name.extend((!how.is_empty()).then(|| how.to_owned()));
    name.extend((!run.valid).then(|| "INVALID".to_owned()));
    let mut cells = vec![name.join(", ")];
    cells.extend(FIGURES.map(|(metric, quantile)| {
        let Some(figure) = run.figure(metric, quantile) else { return NOTHING.to_owned() };
        let told = match (figure.predicted_ms, figure.predicted_at_least_ms) {
            (Some(ms), _) => three_digits(ms),
            (None, Some(ms)) => format!("> {}", three_digits(ms)),
            (None, None) => NOTHING.to_owned(),
        };
        // So that there is no −0.
        let off =
            figure.off.map(|off| format!(", {:+.0} %", (off * 100.0).round() + 0.0)).unwrap_or_default();
        format!("{} → {told}{off}", three_digits(figure.measured_ms))
    }));
    cells
}
