//! What a closed loop hides: its latencies beside those of open arrivals at the same throughput.

use crate::experiment::{Latency, PairedOpen};
use crate::report::chart::{Axis, LineStyle, Palette, Plot, Point, Row, Series, SeriesForm};
use crate::report::document::Chart;
use crate::report::documents::run::paired_open::{figures, known};

pub(in crate::report::documents::run) fn chart(pair: &PairedOpen) -> Chart {
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
        rows.push(Row { words: format!("{name}: closed {of_closed} ms, open {of_open} ms"), name });
    }
    let points = || closed.iter().chain(&open);
    let hollow = if points().any(|point| point.at_least) { "; hollow: at least this" } else { "" };
    let hint = format!(
        "where open lies above closed, the gap is what users who wait before they ask again do not feel{hollow}"
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
    let (value, at_least) = match latency {
        Latency { value_ms: Some(ms), .. } | Latency { at_most_ms: Some(ms), .. } => (ms, false),
        Latency { at_least_ms, .. } => (at_least_ms?, true),
    };
    Some(Point { at_least, ..Point::at(value, row as f64, String::new()) })
}
