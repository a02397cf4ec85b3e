//! Goodput recovery: a spike of the load and what came after it: whether requests end well again, and the course.

use crate::analysis::{GoodputStretch, SpikeAftermath, Summary};
use crate::report::chart::{Axis, LineStyle, Palette, Plot, Point, Series, Zone, ZoneKind};
use crate::report::document::{BarChart, BarRow, Chart, Level, Section, Table};
use crate::units::{counted, percent, seconds, three_digits};

/// Whether goodput came back, for the screen.
pub(super) fn in_brief(summary: &Summary) -> Section {
    Section::continued(Level::Brief).facts("goodput recovery", summary.aftermath.as_ref().map(in_words))
}

pub(super) fn section(summary: &Summary) -> Option<Section> {
    let aftermath = summary.aftermath.as_ref()?;
    let section = Section::detail("The spike of the load, and after it")
        .fact("goodput recovery", in_words(aftermath))
        .table(table(aftermath))
        .charts([chart(aftermath)]);
    Some(section)
}

fn in_words(aftermath: &SpikeAftermath) -> String {
    let SpikeAftermath { spike, after, .. } = aftermath;
    let ended = format!("the spike of {} to {}", seconds(spike.from_s), seconds(spike.to_s));
    let later = seconds(after.to_s - spike.to_s);
    match (aftermath.recovered, aftermath.recovery_s) {
        (None, _) => format!(
            "cannot tell: {} in the last quarter of the time after {ended}; lengthen the run",
            counted(after.requests(), "request")
        ),
        (Some(true), Some(0.0)) => format!("RECOVERED: requests end well again as soon as {ended} is over"),
        (Some(true), Some(after_s)) => {
            format!("RECOVERED: requests end well again {} after {ended}", seconds(after_s))
        }
        (Some(true), None) => {
            format!("RECOVERED: requests end well again at the end of the run, after {ended}")
        }
        (Some(false), _) if aftermath.is_amplified() => format!(
            "NOT RECOVERED: the load is back after {ended}, and requests do not end well, which is a metastable failure"
        ),
        (Some(false), _) => {
            format!("NOT RECOVERED: requests do not end well again {later} after {ended}; lengthen the run")
        }
    }
}

fn table(aftermath: &SpikeAftermath) -> Table {
    let SpikeAftermath { before, spike, after, .. } = aftermath;
    let rows = [("before the spike", before), ("spike", spike), ("last quarter", after)];
    Table::over("Before the spike, in it and after it", &rows)
        .column("", |(name, _)| *name)
        .column("from, s", |(_, stretch)| three_digits(stretch.from_s))
        .column("to, s", |(_, stretch)| three_digits(stretch.to_s))
        .column("offered/s", |(_, stretch)| stretch.offered_per_s)
        .column("attempts/s", |(_, stretch)| stretch.attempts_per_s)
        .column("attempts ÷ offered", |(_, stretch)| stretch.amplification())
        .column("ended well/s", |(_, stretch)| stretch.ended_well_per_s)
        .column("share", |(_, stretch)| stretch.good_share().map(percent))
        .into()
}

/// Charts what ended well over time, beside what was offered and the attempts. In a terminal it is a bar for each part.
fn chart(aftermath: &SpikeAftermath) -> Chart {
    let course = &aftermath.course;
    let words = |stretch: &GoodputStretch| {
        let GoodputStretch { offered_per_s, attempts_per_s, ended_well_per_s, .. } = *stretch;
        let [offered, attempts, good] = [offered_per_s, attempts_per_s, ended_well_per_s].map(three_digits);
        format!("{good} of {offered} offered, {attempts} attempts")
    };
    let series = |name: &str, palette, style, of: fn(&GoodputStretch) -> f64| {
        let at = |stretch: &GoodputStretch| {
            let x = f64::midpoint(stretch.from_s, stretch.to_s);
            Point::at(x, of(stretch), format!("{} s: {}", three_digits(x), words(stretch)))
        };
        Series::points(name, palette, style, course.iter().map(at).collect())
    };
    let all = vec![
        series("ended well", Palette::First, LineStyle::Solid, |stretch| stretch.ended_well_per_s),
        series("attempts", Palette::Fourth, LineStyle::Solid, |stretch| stretch.attempts_per_s),
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
    let title = "Requests that ended well, those offered and attempts over time".to_owned();
    let plot = Plot::new(title, x, y, all).with_zones([spike]);
    let bars = course.iter().map(|stretch| BarRow {
        name: format!("{} s", three_digits(stretch.from_s)),
        length: stretch.ended_well_per_s,
        label: words(stretch),
    });
    let heading = "Requests that ended well over time, requests/s".to_owned();
    Chart::new("Requests that ended well over time", plot)
        .hint(
            "requests count at their scheduled moment, and well where they completed within their SLO, if they have \
            one",
        )
        .bars(BarChart { heading, bound: None, bars: bars.collect() })
}
