//! The points of a sweep and the rounds of an A/B experiment as tidy tables.

use std::borrow::Cow;
use std::io;

use super::column::{DataColumns, name};
use super::csv::write;
use crate::analysis::{AcrossRuns, FigureKey, FigureKind, Metric, Quantile, Unit};
use crate::experiment::{AbMetric, AbPair, AbTest, HighestLoad, Load, Sweep, SweepPoint};
use crate::report::run_report::Out;

/// A figure of a load.
type PointRow<'a> = (&'a SweepPoint, &'a FigureKey, &'a AcrossRuns);

/// `points.csv`: a row a figure and load of a sweep, from low to high.
pub(in crate::report) fn points_csv(sweep: &Sweep, out: Out<'_>) -> io::Result<()> {
    let rows = sweep.points.iter().flat_map(|point| point.figures.iter().map(move |(key, of)| (point, key, of)));
    write(&point_columns(), rows, out)
}

fn point_columns<'a>() -> DataColumns<PointRow<'a>> {
    let open = |of: &AcrossRuns, bound: Option<f64>| bound.filter(|_| of.mean.is_none());
    DataColumns::<PointRow<'_>>::new()
        .text("load_kind", "rate_per_s, users or agents", |(point, ..)| Some(point.load.kind().into()))
        .number("load", Unit::NONE, "The load", |(point, ..)| Some(point.load.amount()))
        .text("class", "Whether the load meets the objectives", |(point, ..)| name(point.class))
        .text("metric", "Name of the figure", |(_, key, _)| Some(key.field().into()))
        .number("value", Unit::NONE, "Mean over the load's runs", |(.., of)| of.mean)
        .number("at_least", Unit::NONE, "The least that it can be", move |(.., of)| open(of, of.mean_at_least))
        .number("at_most", Unit::NONE, "The most that it can be", move |(.., of)| open(of, of.mean_at_most))
        .whole("runs", "Runs that have the figure", |(.., of)| Some(of.values.iter().flatten().count() as u64))
        .number("std", Unit::NONE, "Standard deviation over the runs", |(.., of)| of.std)
        .number("interval_low", Unit::NONE, "Lower end of its 95 % interval", |(.., of)| of.interval_low)
        .number("interval_high", Unit::NONE, "Upper end", |(.., of)| of.interval_high)
        .text("mark", "A reservation", |(.., of)| name(of.mark?))
}

/// `answers.csv`: a row a tier of a sweep, or one where it has none.
pub(in crate::report) fn answers_csv(sweep: &Sweep, out: Out<'_>) -> io::Result<()> {
    let rows = sweep.answers().into_iter().map(|(tier, answer)| (sweep, tier, answer));
    write(&answer_columns(), rows, out)
}

/// A highest load of a sweep, with the name of its tier.
type AnswerRow<'a> = (&'a Sweep, Option<&'a str>, &'a HighestLoad);

fn answer_columns<'a>() -> DataColumns<AnswerRow<'a>> {
    let figure = |(sweep, _, answer): &AnswerRow<'_>, key: &FigureKey| sweep.figures_at(answer)?.get(key)?.mean;
    let ttft = FigureKey::percentile(Quantile::P95, Metric::Ttft);
    let speed = FigureKey::from_metric(Metric::TokensPerUser);
    let kind = |sweep: &Sweep| sweep.points.first().map(|point| point.load.kind().into());
    DataColumns::<AnswerRow<'_>>::new()
        .text("tier", "Name of the tier; empty: the sweep has none", |(_, tier, _)| (*tier).map(Cow::Borrowed))
        .text("load_kind", "rate_per_s, users or agents", move |(sweep, ..)| kind(sweep))
        .number("estimate", Unit::NONE, "The highest load that meets the objectives", |(.., of)| of.estimate)
        .number("interval_low", Unit::NONE, "Lower end of its 95 % interval", |(.., of)| of.interval_low)
        .number("interval_high", Unit::NONE, "Upper end", |(.., of)| of.interval_high)
        .number("passed", Unit::NONE, "The highest load that passed", |(.., of)| of.passed.map(Load::amount))
        .number("failed", Unit::NONE, "The lowest load that failed", |(.., of)| of.failed.map(Load::amount))
        .number("agents_per_gpu", Unit::NONE, "Agents for each GPU", |(.., of)| of.agents_per_gpu)
        .number("agents_per_kw", Unit::NONE, "Agents for each kilowatt", |(.., of)| of.agents_per_kw)
        .number("ttft_p95_ms", Unit::NONE, "p95 of TTFT at the load that passed", move |row| figure(row, &ttft))
        .number("tokens_per_s_per_user", Unit::NONE, "Output tokens per second of a user there", move |row| {
            figure(row, &speed)
        })
        .text("tightest", "The objective that decides", |(.., of)| of.tightest.as_deref().map(Cow::Borrowed))
}

/// A metric in a round. The row has its role, its class (empty: all requests), the metric, and its figures of both
/// sides.
type RoundRow<'a> = (&'static str, &'a str, &'a AbMetric, AbPair);

/// `rounds.csv`: a row a metric and round of an A/B experiment that counts.
pub(in crate::report) fn rounds_csv(test: &AbTest, out: Out<'_>) -> io::Result<()> {
    let whole = [("decides", "", &test.metrics), ("explored", "", &test.explored)];
    let of_classes = test.classes.iter().map(|class| ("decides", class.class.as_str(), &class.metrics));
    let metrics = whole.into_iter().chain(of_classes);
    let rows = metrics.flat_map(|(role, class, metrics)| {
        metrics.iter().flat_map(move |metric| metric.figures.iter().map(move |pair| (role, class, metric, *pair)))
    });
    write(&round_columns(), rows, out)
}

fn round_columns<'a>() -> DataColumns<RoundRow<'a>> {
    DataColumns::<RoundRow<'_>>::new()
        .whole("round", "Number of the round", |(.., pair)| Some(pair.round))
        .text("role", "decides of the metrics that were chosen before the first round, explored", |row| {
            Some(row.0.into())
        })
        .text("class", "Name of the class; empty: all requests", |row| Some(Cow::Borrowed(row.1)))
        .text("metric", "Name of the metric", |(_, _, metric, _)| Some(metric.metric.to_string().into()))
        .text("unit", "Its unit; empty where it has none", |(_, _, metric, _)| {
            Some(Cow::Borrowed(match metric.unit {
                FigureKind::Latency => "ms",
                FigureKind::Rate => "1/s",
                FigureKind::Share => "share",
                FigureKind::Count | FigureKind::Cost => "",
            }))
        })
        .number("a", Unit::NONE, "Its figure of A", |(.., pair)| pair.a)
        .number("b", Unit::NONE, "Its figure of B", |(.., pair)| pair.b)
}
