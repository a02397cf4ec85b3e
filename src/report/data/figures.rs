//! The figures of a summary as a tidy table: a row a figure, so that those of many runs can be laid end to end.

use std::borrow::Cow;
use std::io;

use super::column::{DataColumns, name};
use super::csv::write;
use crate::analysis::{Figure, Summary, Unit};
use crate::report::figures::{RunFigure, accounts, run_figures};
use crate::report::run_report::{Out, RunReport};

/// A figure with the run that it is of.
struct FigureRow<'a>(&'a Summary, RunFigure<'a>);

/// `summary.csv`.
pub(in crate::report) fn summary_csv(report: RunReport<'_>, out: Out<'_>) -> io::Result<()> {
    let all = run_figures(report.summary).into_iter().chain(accounts(report.summary)?);
    write(&columns(), all.map(|figure| FigureRow(report.summary, figure)), out)
}

fn columns<'a>() -> DataColumns<FigureRow<'a>> {
    let bounds = |row: &FigureRow<'_>| row.1.value.map(Figure::bounds).unwrap_or_default();
    DataColumns::<FigureRow<'_>>::new()
        .text("run", "Moment at which the run began, which tells it from others", |row| {
            Some(row.0.run.started_at.to_string().into())
        })
        .whole("seed", "Seed of its plan", |row| Some(row.0.run.seed))
        .text("scope", "Whose it is: run, class, priority, tenant, model, tag or address", |row| {
            Some(row.1.part.map_or("run", |part| part.kind.name()).into())
        })
        .text("name", "Name of the workload, class, priority, tenant, model or address", |row| {
            Some(Cow::Borrowed(row.1.part.map_or(&row.0.run.workload, |part| &part.name)))
        })
        .text("metric", "What was measured, such as ttft", |row| Some(row.1.metric.into()))
        .text("statistic", "Which statistic of it, such as p99", |row| Some(Cow::Borrowed(&*row.1.statistic)))
        .number("value", Unit::NONE, "The figure; empty where it is not known", |row| row.1.value?.exact())
        .number("at_least", Unit::NONE, "The least that it can be, where only bounds are known", move |row| {
            bounds(row).0
        })
        .number("at_most", Unit::NONE, "The most that it can be, where only bounds are known", move |row| bounds(row).1)
        .text("unit", "Its unit; empty where it has none", |row| Some(row.1.unit.sign.into()))
        .whole("n", "Samples that it rests on", |row| row.1.n)
        .number("interval_low", Unit::NONE, "Lower end of its 95 % interval", |row| row.1.interval.0)
        .number("interval_high", Unit::NONE, "Upper end", |row| row.1.interval.1)
        .number("effective_samples", Unit::NONE, "How many independent samples tell as much as its own", |row| {
            row.1.effective_samples
        })
        .text("unresolvable", "Why an end of the interval is missing", |row| name(row.1.unresolvable?))
        .text("mark", "A reservation", |row| name(row.1.mark?))
}
