//! The points of a sweep and the rounds of an A/B experiment as tidy tables.

use std::io;

use csv::Writer;
use serde::Serialize;

use super::csv::text;
use crate::analysis::{FigureKind, SampleWarning};
use crate::experiment::{AbTest, Load, LoadClass, Sweep};
use crate::report::run_report::Out;

/// A figure of a load.
#[derive(Serialize)]
struct PointRow {
    /// `rate_per_s` or `users`.
    load_kind: &'static str,
    load: f64,
    /// Whether the load meets the objectives.
    class: LoadClass,
    metric: String,
    /// Mean over the load's runs.
    value: Option<f64>,
    at_least: Option<f64>,
    at_most: Option<f64>,
    /// Runs that have the figure.
    runs: u64,
    std: Option<f64>,
    interval_low: Option<f64>,
    interval_high: Option<f64>,
    mark: Option<SampleWarning>,
}

/// `points.csv`: a row a figure and load of a sweep, from low to high.
pub(in crate::report) fn points_csv(sweep: &Sweep, out: Out<'_>) -> io::Result<()> {
    let mut writer = Writer::from_writer(out);
    for point in &sweep.points {
        let load_kind = match point.load {
            Load::Rate(_) => "rate_per_s",
            Load::Users(_) => "users",
        };
        for (key, across) in point.figures.iter() {
            let open = |bound: Option<f64>| bound.filter(|_| across.mean.is_none());
            writer.serialize(PointRow {
                load_kind,
                load: point.load.amount(),
                class: point.class,
                metric: key.field(),
                value: across.mean,
                at_least: open(across.mean_at_least),
                at_most: open(across.mean_at_most),
                runs: across.values.iter().flatten().count() as u64,
                std: across.std,
                interval_low: across.interval_low,
                interval_high: across.interval_high,
                mark: across.mark,
            })?;
        }
    }
    writer.flush()
}

/// A metric in a round.
#[derive(Serialize)]
struct RoundRow<'a> {
    round: u64,
    /// `decides` by the metrics that were chosen before the first round, `explored`.
    role: &'static str,
    /// Name of the class; empty: all requests.
    class: &'a str,
    metric: &'a str,
    unit: &'static str,
    a: Option<f64>,
    b: Option<f64>,
}

/// `rounds.csv`: a row a metric and round of an A/B experiment that counts.
pub(in crate::report) fn rounds_csv(test: &AbTest, out: Out<'_>) -> io::Result<()> {
    let mut writer = Writer::from_writer(out);
    let whole = [("decides", &test.metrics), ("explored", &test.explored)];
    let of_classes = test.classes.iter().map(|class| ("decides", text(class.class.as_str().into()), &class.metrics));
    let all = whole.into_iter().map(|(role, metrics)| (role, "".into(), metrics)).chain(of_classes);
    for (role, class, metrics) in all {
        for metric in metrics {
            let name = text(metric.metric.as_str().into());
            let unit = match metric.unit {
                FigureKind::Latency => "ms",
                FigureKind::Rate => "1/s",
                FigureKind::Share => "share",
                FigureKind::Count | FigureKind::Cost => "",
            };
            for pair in &metric.figures {
                let (round, a, b) = (pair.round, pair.a, pair.b);
                writer.serialize(RoundRow { round, role, class: &class, metric: &name, unit, a, b })?;
            }
        }
    }
    writer.flush()
}
