//! Closed loops of a sweep beside open arrivals at the throughput that their users reached.

use super::latencies::loads;
use crate::experiment::{Latency, PairedFigure, PairedLatency, PairedOpen, Sweep};
use crate::report::chart::{Axis, LineStyle, Palette, Plot, Point, Series};
use crate::report::document::{Chart, Note, Section, Table, cell};
use crate::report::documents::parts::cells::{drawn, latency};
use crate::units::three_digits;

pub(super) fn section(sweep: &Sweep) -> Section {
    let mut section = Section::detail(
        "What closed loops hide (coordinated omission): users, and open arrivals at their rate",
    );
    let Some(first) = sweep.paired.first() else { return section };
    let rate = format!("{}/s", first.pair.begun.name());
    let shown =
        |paired: Option<PairedLatency>, which: fn(PairedFigure) -> Latency| latency(which(paired?.p99));
    let ratio = |paired: Option<PairedLatency>| paired?.p99.ratio.map(three_digits);
    section.table(
        Table::of("Closed loops and open arrivals", &sweep.paired)
            .column("users", |load| load.users)
            .column(rate, |load| load.pair.rate_per_s)
            .column("p99 TTFT closed, ms", |load| shown(load.pair.ttft, |p99| p99.closed))
            .column("open", |load| shown(load.pair.ttft, |p99| p99.open))
            .column("open ÷ closed", |load| ratio(load.pair.ttft))
            .column(("p99 e2e closed, ms", 2), |load| shown(load.pair.e2e, |p99| p99.closed))
            .column(("open", 2), |load| shown(load.pair.e2e, |p99| p99.open))
            .column(("open ÷ closed", 1), |load| ratio(load.pair.e2e))
            .column("", |load| match (load.pair.both_valid, load.pair.open_settled) {
                (false, _) => "INVALID",
                (true, false) => "open grew",
                (true, true) => "",
            })
            .table(),
    );
    if sweep.paired.iter().any(|paired| !paired.pair.open_settled) {
        section.remark(
            "open grew: open arrivals at that rate queue for as long as the run lasts, so their latencies depend on the \
             length of the run",
        );
    }
    section.notes(sweep.paired.iter().map(|paired| Note::info(paired.pair.sentence.clone())));
    section.charts(closed_and_open(sweep));
    section
}

/// Closed loops and open arrivals at the throughput that the users reached, on one plot.
fn closed_and_open(sweep: &Sweep) -> Vec<Chart> {
    let ttft: fn(&PairedOpen) -> Option<PairedFigure> = |pair| pair.ttft.map(|latency| latency.p99);
    let e2e: fn(&PairedOpen) -> Option<PairedFigure> = |pair| pair.e2e.map(|latency| latency.p99);
    [("p99 TTFT", ttft), ("p99 e2e", e2e)]
        .into_iter()
        .filter_map(|(name, read)| both(sweep, name, read))
        .collect()
}

fn both(sweep: &Sweep, name: &str, read: fn(&PairedOpen) -> Option<PairedFigure>) -> Option<Chart> {
    let side = |which: fn(&PairedFigure) -> Latency, title: &str, palette| {
        let points = sweep.paired.iter().filter_map(|paired| {
            let of_side = which(&read(&paired.pair)?);
            let (y, at_least) = drawn(of_side)?;
            let words = format!(
                "{} users, {}/s, {title}: {name} {} ms",
                paired.users,
                cell(paired.pair.rate_per_s),
                latency(of_side)?
            );
            Some(Point { at_least, ..Point::at(paired.users as f64, y, words) })
        });
        Series::points(title, palette, LineStyle::Solid, points.collect())
    };
    let mut series = vec![
        side(|figure| figure.closed, "closed loop", Palette::First),
        side(|figure| figure.open, "open arrivals, same rate", Palette::Second),
    ];
    if series.iter().any(|series| series.marked().is_empty()) {
        return None;
    }
    Series::raise(&mut series, None);
    let heights: Vec<f64> = series.iter().flat_map(Series::marked).map(|point| point.y).collect();
    let description = format!("{name} of closed loops and of open arrivals at the same throughput");
    let plot =
        Plot::new(description, loads(sweep, &[]), Axis::fitting(&format!("{name}, ms"), heights), series);
    let hint =
        "where open lies above closed, the gap is latency that closed-loop users hide (coordinated omission)";
    Some(Chart::new(format!("{name}, closed and open"), plot).hint(hint))
}
