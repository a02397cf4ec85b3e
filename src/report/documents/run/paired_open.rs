//! A closed run and the open run that goes with it, side by side.

use crate::analysis::SampleWarning;
use crate::experiment::{ALIKE, Latency, PairedFigure, PairedOpen};
use crate::report::chart::{Axis, LineStyle, Palette, Plot, Point, Row, Series, SeriesForm};
use crate::report::document::{Chart, KeyFigure, NOTHING, Note, Section, Table, mark};
use crate::report::documents::parts::cells::{drawn, latency};
use crate::units::three_digits;

pub(super) fn section(pair: &PairedOpen) -> Section {
    let heading = format!(
        "What the closed loop hides: {} {}/s from its users, and from open arrivals at that rate, ms",
        three_digits(pair.rate_per_s),
        pair.begun.name()
    );
    let rows: Vec<_> = figures(pair).collect();
    let shown = |of: Latency, figure: &PairedFigure| format!("{}{}", known(of), mark(figure.mark));
    let ratio = |figure: &PairedFigure| Some(format!("{}{}", three_digits(figure.ratio?), mark(figure.mark)));
    let table = Table::of("Closed and open, ms", &rows)
        .column("", |(name, _)| name.as_str())
        .column("closed", |(_, figure)| shown(figure.closed, figure))
        .column("open", |(_, figure)| shown(figure.open, figure))
        .column("open ÷ closed", |(_, figure)| ratio(figure));
    let mut section = Section::summary(heading).with_table(table.table());
    section.chart(chart(pair));
    section.text(&pair.sentence);
    if !pair.both_valid {
        section.note(Note::error(
            "one of the two runs is INVALID for another reason than a queue that grew: do not compare them",
        ));
    }
    section
}

/// How much longer the same work takes with open arrivals, by the highest percentile with enough samples; nothing where the
/// closed loop hides nothing that is known.
pub(super) fn headline(pair: &PairedOpen) -> Option<KeyFigure> {
    let is_hidden = |(_, figure): &(String, PairedFigure)| {
        let enough = figure.mark != Some(SampleWarning::TooFewSamples);
        enough && pair.both_valid && figure.ratio.is_some_and(|ratio| ratio > 1.0 + ALIKE)
    };
    let [closed, open] = ["in the closed loop, which hides the rest", "with open arrivals"];
    let (name, figure) = figures(pair).take(2).filter(is_hidden).last()?;
    let said = format!("{name}: {} ms {closed}, {} ms {open}", known(figure.closed), known(figure.open));
    let rate = format!("{} {}/s both times", three_digits(pair.rate_per_s), pair.begun.name());
    Some(KeyFigure::new(said, format!("{}×", three_digits(figure.ratio?)), "as long").below([rate]))
}

/// The latencies of both runs, each with its name.
fn figures(pair: &PairedOpen) -> impl Iterator<Item = (String, PairedFigure)> {
    [("TTFT", pair.ttft), ("e2e", pair.e2e)].into_iter().flat_map(|(name, paired)| {
        let figures = paired.into_iter().flat_map(|paired| [("p50", paired.p50), ("p99", paired.p99)]);
        figures.map(move |(percentile, figure)| (format!("{name} {percentile}"), figure))
    })
}

fn known(of: Latency) -> String {
    latency(of).unwrap_or_else(|| NOTHING.to_owned())
}

/// Its latencies beside those of open arrivals at the same throughput.
fn chart(pair: &PairedOpen) -> Chart {
    let mut rows = Vec::new();
    let mut joins = Vec::new();
    let (mut closed, mut open) = (Vec::new(), Vec::new());
    for (place, (name, figure)) in figures(pair).enumerate() {
        let [of_closed, of_open] = [figure.closed, figure.open].map(|latency| point(latency, place));
        if let (Some(closed), Some(open)) = (&of_closed, &of_open) {
            let through = vec![(closed.x, closed.y), (open.x, open.y)];
            let form = SeriesForm::Curve { through, marked: Vec::new() };
            joins.push(Series::new("", Palette::Faint, form));
        }
        closed.extend(of_closed);
        open.extend(of_open);
        let [of_closed, of_open] = [figure.closed, figure.open].map(known);
        let words = format!("{name}: closed {of_closed} ms, open {of_open} ms");
        let ratio = figure.ratio.map_or(String::new(), |ratio| format!(", {}×", three_digits(ratio)));
        rows.push(Row::new(name + &ratio, words));
    }
    let points = || closed.iter().chain(&open);
    let hollow = if points().any(|point| point.at_least) { "; hollow: at least this" } else { "" };
    let hint = format!(
        "where open lies to the right of closed, the gap is latency that closed-loop users hide{hollow}"
    );
    let axis = Axis::logarithmic("ms", points().map(|point| point.x).collect::<Vec<_>>());
    let description = "Latencies of the closed loop and of open arrivals at the same rate".to_owned();
    let mut series = joins;
    series.push(Series::points("open", Palette::Second, LineStyle::None, open));
    series.push(Series::points("closed", Palette::First, LineStyle::None, closed));
    let picture = Plot::rows(description, axis, rows, series);
    Chart::new("Closed and open", picture).hint(hint)
}

/// A latency in its row; where only a bound is known, that.
fn point(latency: Latency, row: usize) -> Option<Point> {
    let (value, at_least) = drawn(latency)?;
    Some(Point { at_least, ..Point::at(value, row as f64, String::new()) })
}
