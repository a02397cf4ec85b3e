//! The curve of a sweep in characters: a bar for each load, and the bound that decides.

use super::loads::shown;
use crate::analysis::{FigureKey, Metric, Objective, Quantile};
use crate::experiment::{AcrossRuns, PointFigures, Sweep};
use crate::report::document::{BarChart, BarRow, Chart, cell};

type Read = fn(&PointFigures) -> Option<&AcrossRuns>;

/// The chart with bars for a terminal: of the latency of the tightest objective that has one, else of TTFT's 99th percentile.
pub(super) fn extras(sweep: &Sweep, chart: Chart) -> Chart {
    let tightest = sweep.answer.as_ref().and_then(|answer| answer.tightest.as_deref());
    let objectives = tightest.into_iter().chain(sweep.plan.objectives.iter().map(String::as_str));
    let readable = objectives.filter_map(|text| text.parse::<Objective>().ok());
    let mut known = readable.filter(|objective| objective.key.part.is_none()).filter_map(|objective| {
        let (name, read) = figure(&objective.key)?;
        Some((name, read, Some(objective.bound)))
    });
    let usual: (&str, Read, _) =
        ("p99 TTFT", |figures| figures.ttft_p99_ms.as_ref().or(figures.e2e_p99_ms.as_ref()), None);
    let (name, read, bound) = known.next().unwrap_or(usual);
    let bars: Vec<BarRow> = sweep
        .points
        .iter()
        .filter_map(|point| {
            let figure = read(&point.figures);
            let length = figure?.mean_at_least?;
            Some(BarRow { name: point.load.to_string(), length, label: shown(figure) })
        })
        .collect();
    if bars.len() < 2 || bars.iter().all(|bar| bar.length <= 0.0) {
        return chart;
    }
    let said = bound.map_or(String::new(), |bound| format!("; │ is the limit, {} ms", cell(bound)));
    chart.bars(BarChart { heading: format!("{name} by load, ms{said}"), bound, bars })
}

fn figure(key: &FigureKey) -> Option<(&'static str, Read)> {
    Some(match (key.quantile()?, key.metric) {
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
