//! The series of a run: families of points that share a name.

use crate::analysis::{Figure, FigureKind, Metric, Summary, Unit};
use crate::record::PartKind;
use crate::report::figures::{RunFigure, run_figures};
use crate::report::interchange::facts;

type Labels = Vec<(&'static str, String)>;

/// Series that share a name.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Family {
    /// Name without the program's name before it and the unit's after it.
    pub(super) name: String,
    /// Meaning of the series, in one sentence without its full stop.
    pub(super) help: String,
    pub(super) unit: Unit,
    /// Values in the base unit, each with what tells it from the others.
    pub(super) points: Vec<(Labels, f64)>,
}

/// Returns every figure that is known. One that is not has no point, and a family without a point is left out.
pub(super) fn families(summary: &Summary) -> Vec<Family> {
    let mut families: Vec<Family> = Vec::new();
    for figure in run_figures(summary).iter().filter(|figure| has_series(summary, figure)) {
        let labels = labels(summary, figure);
        for series in series(figure) {
            let Some(value) = series.value else { continue };
            let point = (labels.clone(), value / f64::from(series.unit.per_base));
            let is_its = |family: &&mut Family| family.name == series.name && family.unit == series.unit;
            if let Some(family) = families.iter_mut().find(is_its) {
                family.points.push(point);
            } else {
                let SeriesValue { name, help, unit, .. } = series;
                families.push(Family { name, help, unit, points: vec![point] });
            }
        }
    }
    families
}

/// Returns whether a figure is a series. The figures of parts are, where there are several parts, but not how many
/// requests these have.
fn has_series(summary: &Summary, figure: &RunFigure<'_>) -> bool {
    figure
        .part
        .is_none_or(|part| figure.of.is_none() && (part.kind == PartKind::Tag || summary.parts_of(part.kind).len() > 1))
}

/// Returns the labels of the run and of the part. A label of the part stands in place of one of the same name. The
/// percentile follows, or what is counted.
fn labels(summary: &Summary, figure: &RunFigure<'_>) -> Labels {
    let mut labels = own_labels(summary);
    if let Some(part) = figure.part {
        labels.retain(|(name, _)| *name != part.kind.name());
        labels.push((part.kind.name(), part.name.clone()));
    }
    let percentile = figure.percentile().map(|fraction| ("quantile", fraction.to_string()));
    labels.extend(percentile.or(figure.of.map(|of| (of, figure.statistic.to_string()))));
    labels
}

/// A value of a series, in its unit.
struct SeriesValue {
    name: String,
    help: String,
    unit: Unit,
    value: Option<f64>,
}

/// Returns the series that a figure is a point of. Of a percentile there are also those of what makes it true, of a
/// largest value that of the samples. Where only bounds are known there is no point.
fn series(figure: &RunFigure<'_>) -> Vec<SeriesValue> {
    let known = Metric::ALL.iter().find(|known| known.name() == figure.metric);
    let title = known.filter(|known| known.kind() != FigureKind::Latency);
    let title = title.map_or_else(String::new, |known| format!("{}: ", known.info().title));
    let value = |ending: &str, what: &str, unit, value: Option<f64>| {
        let name = format!("{}{ending}", series_name(figure.metric));
        SeriesValue { name, help: format!("{title}{what}{}", figure.meaning), unit, value }
    };
    let own = |ending, what| value(ending, what, figure.unit, figure.value.and_then(Figure::exact));
    let samples = figure.n.map(|n| n as f64);
    match &*figure.statistic {
        "std" | "min" | "censored" | "planned" if figure.of.is_none() => Vec::new(),
        "mean" => vec![own("_mean", "Mean: ")],
        "max" if known.is_some() => {
            vec![own("_max", "Largest: "), value("_samples", "Samples: ", Unit::SAMPLES, samples)]
        }
        "max" => vec![own("_max", "Largest: ")],
        _ if figure.percentile().is_some() => vec![
            own("", "Percentiles: "),
            value("_interval_low", "Lower end of the percentile's 95 % interval: ", figure.unit, figure.interval.0),
            value("_interval_high", "Upper end of the percentile's 95 % interval: ", figure.unit, figure.interval.1),
            value(
                "_effective_samples",
                "Independent samples that tell as much of the percentile: ",
                Unit::SAMPLES,
                figure.effective_samples,
            ),
        ],
        _ => vec![own("", "")],
    }
}

/// Returns the name of a figure in series without its unit, such as `output_tokens_by_gpu`. The unit ends the series'
/// name.
pub(super) fn series_name(metric: &str) -> String {
    let field = match Metric::ALL.iter().find(|known| known.name() == metric) {
        Some(Metric::Goodput) => "goodput_requests",
        Some(known) => known.field(),
        None => return metric.to_owned(),
    };
    let name = field.strip_suffix("_rate").unwrap_or(field);
    name.replace("_per_s", "").replace("_per_", "_by_")
}

/// Returns the labels that tell a run from others. They are what its series are labelled with, facts, and as
/// `label_NAME` what a user labelled it with.
pub(super) fn run_labels(summary: &Summary) -> Vec<(String, String)> {
    let own = own_labels(summary).into_iter().chain(facts::facts(summary));
    let mut all: Vec<_> = own.map(|(name, value)| (name.to_owned(), value)).collect();
    for (name, value) in &summary.run.deployment.labels {
        let legal = |sign: char| if sign.is_ascii_alphanumeric() { sign } else { '_' };
        let name = format!("label_{}", name.chars().map(legal).collect::<String>());
        // Of two labels that are spelled alike so, the first stays: no name may be there twice.
        if all.iter().all(|(other, _)| *other != name) {
            all.push((name, value.clone()));
        }
    }
    all
}

/// Returns the labels of every series of a run.
pub(super) fn own_labels(summary: &Summary) -> Labels {
    let run = &summary.run;
    let model = if run.models.is_empty() { run.engine.model.clone() } else { run.models.join(",") };
    vec![("workload", run.workload.clone()), ("model", model)]
}
