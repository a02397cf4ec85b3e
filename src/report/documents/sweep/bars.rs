//! The curve of a sweep in characters: a bar for each load, and the bound that decides.

use crate::analysis::{FigureKey, Metric, Objective, Quantile};
use crate::experiment::Sweep;
use crate::report::document::{BarChart, BarRow, Chart, TableCell, cell};

/// The chart with bars for a terminal: of the latency of the tightest objective that has one, else of TTFT's 99th percentile.
pub(super) fn extras(sweep: &Sweep, chart: Chart) -> Chart {
    let tightest = sweep.answer.as_ref().and_then(|answer| answer.tightest.as_deref());
    let tightest = tightest.and_then(|text| text.parse::<Objective>().ok());
    let objectives = tightest.iter().chain(&sweep.plan.objectives);
    let followed = |key: &FigureKey| {
        key.quantile().is_some() && sweep.points.iter().any(|point| point.figures.get(key).is_some())
    };
    let bounded = objectives.map(|objective| (&objective.key, Some(objective.bound)));
    let usual = [Metric::Ttft, Metric::E2e].map(|metric| FigureKey::percentile(Quantile::P99, metric));
    let mut known = bounded.chain(usual.iter().map(|key| (key, None))).filter(|(key, _)| followed(key));
    let Some((key, bound)) = known.next() else { return chart };
    let bars: Vec<BarRow> = sweep
        .points
        .iter()
        .filter_map(|point| {
            let figure = point.figures.get(key);
            let length = figure?.mean_at_least?;
            Some(BarRow { name: point.load.to_string(), length, label: TableCell::from(figure).text })
        })
        .collect();
    if bars.len() < 2 || bars.iter().all(|bar| bar.length <= 0.0) {
        return chart;
    }
    let said = bound.map_or(String::new(), |bound| format!("; │ is the limit, {} ms", cell(bound)));
    chart.bars(BarChart { heading: format!("{} by load, ms{said}", key.title()), bound, bars })
}
