//! Closed loops of a sweep beside open arrivals at the throughput that their users reached.

use super::latencies::loads;
use crate::experiment::{Latency, PairedFigure, PairedLatency, PairedLoad, PairedOpen, Sweep};
use crate::report::chart::{Axis, LineStyle, Palette, Plot, Point, Series};
use crate::report::document::{ALWAYS, Chart, NOTHING, Note, Section, Table, cell};
use crate::units::{count, three_digits};

pub(super) fn section(sweep: &Sweep) -> Section {
    let mut section = Section::detail(
        "What closed loops hide (coordinated omission): users, and open arrivals at their rate",
    );
    let Some(first) = sweep.paired.first() else { return section };
    let rate = format!("{}/s", first.pair.begun.name());
    let columns = [
        ("users", ALWAYS),
        (rate.as_str(), ALWAYS),
        ("p99 TTFT closed, ms", ALWAYS),
        ("open", ALWAYS),
        ("open ÷ closed", ALWAYS),
        ("p99 e2e closed, ms", 2),
        ("open", 2),
        ("open ÷ closed", 1),
        ("", ALWAYS),
    ];
    let mut table = Table::new("Closed loops and open arrivals", columns);
    for PairedLoad { users, pair, .. } in &sweep.paired {
        let note = match (pair.both_valid, pair.open_settled) {
            (false, _) => "INVALID",
            (true, false) => "open grew",
            (true, true) => "",
        };
        let [ttft, e2e] = [pair.ttft, pair.e2e].map(cells);
        let first = [count(*users), cell(pair.rate_per_s)].into_iter();
        table.row(first.chain(ttft).chain(e2e).chain([note.to_owned()]));
    }
    section.table(table);
    if sweep.paired.iter().any(|paired| !paired.pair.open_settled) {
        section.remark(
            "open grew: open arrivals at that rate queue up for as long as they come, so their latencies depend on the \
             length of the run",
        );
    }
    section.notes(sweep.paired.iter().map(|paired| Note::info(paired.pair.sentence.clone())));
    for chart in closed_and_open(sweep) {
        section.chart(chart);
    }
    section
}

fn cells(latency: Option<PairedLatency>) -> [String; 3] {
    latency.map_or([NOTHING, NOTHING, NOTHING].map(str::to_owned), |latency| {
        let PairedFigure { closed, open, ratio, .. } = latency.p99;
        [known(closed), known(open), ratio.map_or(NOTHING.to_owned(), three_digits)]
    })
}

/// A latency, or the bound that is known of it.
fn known(latency: Latency) -> String {
    match latency {
        Latency { value_ms: Some(ms), .. } => cell(ms),
        Latency { at_most_ms: Some(ms), .. } => format!("≤ {}", cell(ms)),
        Latency { at_least_ms: Some(ms), .. } => format!("> {}", cell(ms)),
        _ => NOTHING.to_owned(),
    }
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
            let latency = which(&read(&paired.pair)?);
            let y = latency.value_ms.or(latency.at_least_ms)?;
            let at_least = latency.value_ms.is_none();
            let sign = if at_least { "> " } else { "" };
            let words = format!(
                "{} users, {}/s, {title}: {name} {sign}{} ms",
                paired.users,
                cell(paired.pair.rate_per_s),
                cell(y)
            );
            Some(Point { at_least, ..Point::at(paired.users as f64, y, words) })
        });
        Series::points(title, palette, LineStyle::Solid, points.collect())
    };
    let series = vec![
        side(|figure| figure.closed, "closed loop", Palette::First),
        side(|figure| figure.open, "open arrivals, same rate", Palette::Second),
    ];
    if series.iter().any(|series| series.marked().is_empty()) {
        return None;
    }
    let heights: Vec<f64> = series.iter().flat_map(Series::marked).map(|point| point.y).collect();
    let description = format!("{name} of closed loops and of open arrivals at the same throughput");
    let plot = Plot::new(description, loads(sweep), Axis::fitting(&format!("{name}, ms"), heights), series);
    let hint =
        "where open lies above closed, the gap is latency that closed-loop users hide (coordinated omission)";
    Some(Chart::new(format!("{name}, closed and open"), plot).hint(hint))
}
