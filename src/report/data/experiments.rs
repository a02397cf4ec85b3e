//! The points of a sweep and the rounds of an A/B experiment as tidy tables.

use std::io;

use csv::Writer;
use serde::Serialize;

use super::csv::text;
use super::figures::mark;
use crate::analysis::FigureKind;
use crate::experiment::{AbMetric, AbTest, AcrossRuns, Load, LoadClass, PointFigures, Sweep};
use crate::report::Out;

/// A figure of a load.
#[derive(Serialize)]
struct PointRow {
    /// `rate_per_s` or `users`.
    load_kind: &'static str,
    load: f64,
    /// Whether the load meets the objectives.
    class: &'static str,
    metric: &'static str,
    /// Mean over the load's runs.
    value: Option<f64>,
    at_least: Option<f64>,
    at_most: Option<f64>,
    /// Runs that have the figure.
    runs: u64,
    std: Option<f64>,
    interval_low: Option<f64>,
    interval_high: Option<f64>,
    mark: &'static str,
}

/// `points.csv`: a row a figure and load of a sweep, from low to high.
pub(in crate::report) fn points_csv(sweep: &Sweep, out: Out<'_>) -> io::Result<()> {
    let mut writer = Writer::from_writer(out);
    for point in &sweep.points {
        let load_kind = match point.load {
            Load::Rate(_) => "rate_per_s",
            Load::Users(_) => "users",
        };
        for (metric, across) in figures(&point.figures) {
            let open = |bound: Option<f64>| bound.filter(|_| across.mean.is_none());
            writer.serialize(PointRow {
                load_kind,
                load: point.load.amount(),
                class: class(point.class),
                metric,
                value: across.mean,
                at_least: open(across.mean_at_least),
                at_most: open(across.mean_at_most),
                runs: across.values.iter().flatten().count() as u64,
                std: across.std,
                interval_low: across.interval_low,
                interval_high: across.interval_high,
                mark: mark(across.mark),
            })?;
        }
    }
    writer.flush()
}

/// The figures that a load has, under their names in `sweep.json`.
fn figures(of: &PointFigures) -> impl Iterator<Item = (&'static str, &AcrossRuns)> {
    let all = [
        ("ttft_p50_ms", &of.ttft_p50_ms),
        ("ttft_p95_ms", &of.ttft_p95_ms),
        ("ttft_p99_ms", &of.ttft_p99_ms),
        ("tpot_p50_ms", &of.tpot_p50_ms),
        ("tpot_p95_ms", &of.tpot_p95_ms),
        ("tpot_p99_ms", &of.tpot_p99_ms),
        ("e2e_p50_ms", &of.e2e_p50_ms),
        ("e2e_p95_ms", &of.e2e_p95_ms),
        ("e2e_p99_ms", &of.e2e_p99_ms),
        ("goodput_per_s", &of.goodput_per_s),
        ("slo_attainment", &of.slo_attainment),
        ("error_rate", &of.error_rate),
        ("completed_requests_per_s", &of.completed_requests_per_s),
        ("input_tokens_per_s", &of.input_tokens_per_s),
        ("output_tokens_per_s", &of.output_tokens_per_s),
        ("output_tokens_per_s_per_gpu", &of.output_tokens_per_s_per_gpu),
        ("tokens_per_s_per_user", &of.tokens_per_s_per_user),
        ("in_flight", &of.in_flight),
    ];
    all.into_iter().filter_map(|(name, figure)| Some((name, figure.as_ref()?)))
}

const fn class(class: LoadClass) -> &'static str {
    match class {
        LoadClass::Passed => "passed",
        LoadClass::Failed => "failed",
        LoadClass::Saturated => "saturated",
        LoadClass::Undecided => "undecided",
        LoadClass::Unknown => "unknown",
        LoadClass::Measured => "measured",
    }
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
    let of_classes =
        test.classes.iter().map(|class| ("decides", text(class.class.as_str().into()), &class.metrics));
    let all = whole.into_iter().map(|(role, metrics)| (role, "".into(), metrics)).chain(of_classes);
    for (role, class, metrics) in all {
        for metric in metrics {
            rounds(&mut writer, role, &class, metric)?;
        }
    }
    writer.flush()
}

fn rounds<W: io::Write>(
    writer: &mut Writer<W>,
    role: &'static str,
    class: &str,
    metric: &AbMetric,
) -> io::Result<()> {
    let unit = match metric.unit {
        FigureKind::Latency => "ms",
        FigureKind::Rate => "1/s",
        FigureKind::Share => "share",
    };
    let name = text(metric.metric.as_str().into());
    for pair in &metric.figures {
        let row = RoundRow { round: pair.round, role, class, metric: &name, unit, a: pair.a, b: pair.b };
        writer.serialize(row)?;
    }
    Ok(())
}
