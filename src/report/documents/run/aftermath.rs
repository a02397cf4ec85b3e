//! Goodput recovery: a spike of the load and what came after it, and the course of goodput.

use crate::analysis::wording::{percent, seconds};
use crate::analysis::{GoodputStretch, SpikeAftermath, Summary};
use crate::report::chart::{Axis, LineStyle, Palette, Plot, Point, Series, Zone, ZoneKind};
use crate::report::document::{BarChart, BarRow, Chart, Section, Table};
use crate::units::three_digits;

pub(super) fn section(summary: &Summary) -> Section {
    let mut section = Section::detail("The spike of the load, and after it");
    let Some(aftermath) = &summary.aftermath else { return section };
    section.fact("goodput recovery", in_words(aftermath));
    section.table(table(aftermath));
    section.chart(chart(aftermath));
    section
}

fn in_words(aftermath: &SpikeAftermath) -> String {
    let spike = &aftermath.spike;
    let ended = format!("the spike of {} to {}", seconds(spike.from_s), seconds(spike.to_s));
    match aftermath.recovery_s {
        Some(0.0) => format!("RECOVERED: goodput is back as soon as {ended} is over"),
        Some(after_s) => format!("RECOVERED: goodput is back {} after {ended}", seconds(after_s)),
        None if aftermath.recovered => {
            format!("RECOVERED: goodput is back at the end of the run, after {ended}")
        }
        None => format!(
            "NOT RECOVERED: the load is back after {ended}, and goodput is not, which is a metastable failure"
        ),
    }
}

fn table(aftermath: &SpikeAftermath) -> Table {
    let SpikeAftermath { before, spike, after, .. } = aftermath;
    let rows = [("before the spike", before), ("spike", spike), ("last quarter after it", after)];
    Table::of("Before the spike, in it and after it", &rows)
        .column("", |(name, _)| *name)
        .column("from, s", |(_, stretch)| three_digits(stretch.from_s))
        .column("to, s", |(_, stretch)| three_digits(stretch.to_s))
        .column("offered/s", |(_, stretch)| stretch.offered_per_s)
        .column("sent/s", |(_, stretch)| stretch.sent_per_s)
        .column("sent ÷ offered", |(_, stretch)| stretch.amplification())
        .column("goodput/s", |(_, stretch)| stretch.goodput_per_s)
        .column("ended well", |(_, stretch)| stretch.good_share().map(percent))
        .table()
}

/// Goodput over time beside what was offered and what was sent; in a terminal a bar of goodput for each part.
fn chart(aftermath: &SpikeAftermath) -> Chart {
    let course = &aftermath.course;
    let words = |stretch: &GoodputStretch| {
        let GoodputStretch { offered_per_s, sent_per_s, goodput_per_s, .. } = *stretch;
        let [offered, sent, good] = [offered_per_s, sent_per_s, goodput_per_s].map(three_digits);
        format!("{good} of {offered} offered, {sent} sent")
    };
    let series = |name: &str, palette, style, of: fn(&GoodputStretch) -> f64| {
        let at = |stretch: &GoodputStretch| {
            let x = f64::midpoint(stretch.from_s, stretch.to_s);
            Point::at(x, of(stretch), format!("{} s: {}", three_digits(x), words(stretch)))
        };
        Series::points(name, palette, style, course.iter().map(at).collect())
    };
    let all = vec![
        series("goodput", Palette::First, LineStyle::Solid, |stretch| stretch.goodput_per_s),
        series("sent", Palette::Fourth, LineStyle::Solid, |stretch| stretch.sent_per_s),
        series("offered", Palette::Faint, LineStyle::Dashed, |stretch| stretch.offered_per_s),
    ];
    let heights: Vec<f64> = all.iter().flat_map(Series::marked).map(|point| point.y).collect();
    let ends = course.iter().flat_map(|stretch| [stretch.from_s, stretch.to_s]);
    let (x, y) = (Axis::fitting("seconds since the run began", ends), Axis::from_zero("requests/s", heights));
    let spike = Zone {
        from: aftermath.spike.from_s,
        to: aftermath.spike.to_s,
        kind: ZoneKind::Marked,
        label: "spike".to_owned(),
    };
    let plot =
        Plot::new("Goodput, offered and sent requests over time".to_owned(), x, y, all).with_zones([spike]);
    let bars = course.iter().map(|stretch| BarRow {
        name: format!("{} s", three_digits(stretch.from_s)),
        length: stretch.goodput_per_s,
        label: words(stretch),
    });
    let heading = "Goodput over time, requests/s".to_owned();
    Chart::new("Goodput over time", plot)
        .hint("requests count at their scheduled moment, and well where they completed within their SLO, if they have one")
        .bars(BarChart { heading, bound: None, bars: bars.collect() })
}
