//! The curve of a sweep in characters: a bar for each load, and the bound that decides.

use super::loads::shown;
use crate::analysis::{FigureKey, Metric, Objective, Quantile, Statistic};
use crate::experiment::{AcrossRuns, PointFigures, Sweep, SweepPoint};
use crate::report::grid::cell;
use crate::report::page::{Page, Tone};

/// The widest bar, characters.
const WIDEST: usize = 50;
/// Bars end at so many times the bound: what lies beyond is as bad as it can be.
const BEYOND: f64 = 3.0;
/// Eighths of a character.
const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// A latency that has a bar.
struct Shown {
    name: &'static str,
    read: fn(&PointFigures) -> Option<&AcrossRuns>,
    /// The bound that an objective sets, milliseconds.
    bound_ms: Option<f64>,
}

/// The latency of the tightest objective that has one here, else TTFT's 99th percentile.
fn latency(sweep: &Sweep) -> Shown {
    let tightest = sweep.answer.as_ref().and_then(|answer| answer.tightest.as_deref());
    let objectives = tightest.into_iter().chain(sweep.plan.objectives.iter().map(String::as_str));
    let readable = objectives.filter_map(|text| text.parse::<Objective>().ok());
    let mut known = readable.filter(|objective| objective.scope.is_none()).filter_map(|objective| {
        let (name, read) = figure(objective.subject)?;
        Some(Shown { name, read, bound_ms: Some(objective.bound) })
    });
    known.next().unwrap_or(Shown {
        name: "p99 TTFT",
        read: |figures| figures.ttft_p99_ms.as_ref().or(figures.e2e_p99_ms.as_ref()),
        bound_ms: None,
    })
}

type Read = fn(&PointFigures) -> Option<&AcrossRuns>;

fn figure(subject: FigureKey) -> Option<(&'static str, Read)> {
    let FigureKey::Latency(Statistic::Percentile(quantile), metric) = subject else { return None };
    Some(match (quantile, metric) {
        (Quantile::P50, Metric::Ttft) => ("p50 TTFT", |figures| figures.ttft_p50_ms.as_ref()),
        (Quantile::P95, Metric::Ttft) => ("p95 TTFT", |figures| figures.ttft_p95_ms.as_ref()),
        (Quantile::P99, Metric::Ttft) => ("p99 TTFT", |figures| figures.ttft_p99_ms.as_ref()),
        (Quantile::P50, Metric::Tpot) => ("p50 TPOT", |figures| figures.tpot_p50_ms.as_ref()),
        (Quantile::P95, Metric::Tpot) => ("p95 TPOT", |figures| figures.tpot_p95_ms.as_ref()),
        (Quantile::P99, Metric::Tpot) => ("p99 TPOT", |figures| figures.tpot_p99_ms.as_ref()),
        (Quantile::P50, Metric::E2e) => ("p50 e2e", |figures| figures.e2e_p50_ms.as_ref()),
        (Quantile::P95, Metric::E2e) => ("p95 e2e", |figures| figures.e2e_p95_ms.as_ref()),
        (Quantile::P99, Metric::E2e) => ("p99 e2e", |figures| figures.e2e_p99_ms.as_ref()),
        _ => return None,
    })
}

pub(super) fn bars(page: &mut Page, sweep: &Sweep) {
    let Shown { name, read, bound_ms } = latency(sweep);
    let length = |point: &SweepPoint| read(&point.figures)?.mean_at_least;
    let lengths: Vec<_> = sweep.points.iter().map(length).collect();
    let longest = lengths.iter().copied().flatten().fold(0.0, f64::max);
    if lengths.iter().flatten().count() < 2 || longest <= 0.0 {
        return;
    }
    let end = bound_ms.map_or(longest, |bound| longest.min(BEYOND * bound).max(bound));
    let bound = bound_ms.map(|bound| ((bound / end * WIDEST as f64).round() as usize).min(WIDEST));
    let said = bound_ms.map_or(String::new(), |bound| format!("; │ is the bound, {} ms", cell(bound)));
    page.heading(&format!("{name} by load, ms{said}"));
    let names: Vec<_> = sweep.points.iter().map(|point| point.load.to_string()).collect();
    let widest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    for ((point, name), length) in sweep.points.iter().zip(&names).zip(&lengths) {
        let Some(length) = *length else { continue };
        let bar = with_bound(&bar(length / end), bound);
        page.line(Tone::Normal, &format!("  {name:>widest$}  {bar} {}", shown(read(&point.figures))));
    }
}

/// A bar of this share of the widest; one that is longer ends in an arrow.
fn bar(share: f64) -> String {
    if share > 1.0 + 1e-9 {
        return "█".repeat(WIDEST - 1) + "▶";
    }
    let eighths = (share * WIDEST as f64 * 8.0).round() as usize;
    "█".repeat(eighths / 8) + PARTS[eighths % 8]
}

/// The bar with the bound drawn where it does not cover it, filled up with blanks as far as that.
fn with_bound(bar: &str, bound: Option<usize>) -> String {
    let length = bar.chars().count();
    match bound {
        Some(bound) if length < bound => format!("{bar}{}│", " ".repeat(bound - length - 1)),
        Some(bound) => {
            let split = |c: (usize, char)| if c.0 + 1 == bound { '│' } else { c.1 };
            bar.chars().enumerate().map(split).collect()
        }
        None => bar.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_have_eighths_and_show_the_bound() {
        assert_eq!(bar(0.1), "█████");
        assert_eq!(bar(0.11), "█████▌");
        assert_eq!(bar(1.0).chars().count(), WIDEST);
        assert!(bar(4.0).ends_with('▶') && bar(4.0).chars().count() == WIDEST);
        assert_eq!(with_bound("██", Some(5)), "██  │");
        assert_eq!(with_bound("██████", Some(5)), "████│█");
        assert_eq!(with_bound("██", None), "██");
    }
}
