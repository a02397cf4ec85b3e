//! A run over time: rates, requests in flight, tokens, latencies, servers and this machine under one axis.

use super::clock::{Clock, moment, pauses};
use super::timeline_rows::{Scale, TimelineRow, metered, rows};
use crate::analysis::{Bin, Summary, Timeline};
use crate::record::RunLog;
use crate::report::chart::{Axis, Levels, Panel, Plot, Series, SeriesForm, Slot, Value, ZoneKind};
use crate::report::document::{Chart, Section, Table, TableOf, cell};
use crate::units::{counted, listed};

pub(super) fn section(log: &RunLog, summary: &Summary, timeline: &Timeline, clock: &Clock) -> Option<Section> {
    if timeline.bins.is_empty() {
        return None;
    }
    let mut rows = rows(summary, timeline);
    rows.extend(metered(log, timeline));
    let panels = rows.chunk_by(|a, b| a.panel == b.panel).map(|rows| panel(rows, timeline, clock));
    let slots = timeline.bins.iter().enumerate().map(|(place, bin)| Slot {
        from: clock.at(bin.from_s),
        to: clock.at(bin.to_s()),
        words: words(&rows, place, bin, timeline),
    });
    let description = format!("The run over time, in bins of {} s", cell(timeline.bin_s));
    let mut picture = Plot::from_parts(description, clock.axis("time since the run's zero"), panels.collect())
        .wide()
        .with_zones(clock.shades());
    picture.slots = slots.collect();
    let doubtful = if pauses(log).is_empty() { "" } else { "; red: this machine stalled" };
    let marked = clock.shades().iter().any(|zone| zone.kind == ZoneKind::Marked);
    let bursts = if marked { "; shaded: bursts" } else { "" };
    let hint = format!(
        "bins of {} s; grey: outside the window, not counted{bursts}{doubtful}; hover over a bin for its figures",
        cell(timeline.bin_s)
    );
    let chart = Chart::new("", picture).hint(hint).behind(table(&rows, timeline));
    Some(Section::summary("Over time").charts([chart]))
}

fn panel(rows: &[TimelineRow], timeline: &Timeline, clock: &Clock) -> Panel {
    let title = &rows[0].panel;
    let values = || rows.iter().flat_map(|row| &row.values).filter_map(|value| *value);
    // What is known only from below would seem to fall towards the end of a run.
    let top = values().fold(0.0, f64::max);
    let y = match rows[0].scale {
        Scale::FromZero => Axis::from_zero(title, values()),
        Scale::Fitting => Axis::fitting(title, values()),
        Scale::Percent => Axis::between(title, 0.0, 100.0),
    };
    let levels = |row: &TimelineRow| Levels {
        style: row.form,
        across: clock.at(timeline.bin_s) * row.across as f64,
        values: timeline
            .bins
            .iter()
            .zip(&row.values)
            .filter_map(|(bin, value)| {
                let (from, to) = (clock.at(bin.from_s), clock.at(bin.to_s()));
                Some(Value { from, to, y: value.map(|value| if row.at_least { top } else { value })? })
            })
            .collect(),
    };
    let series = |row: &TimelineRow| Series::new(row.name.clone(), row.palette, SeriesForm::Levels(levels(row)));
    Panel::new(y, rows.iter().map(series).collect())
}

/// All figures of a bin, a line for each panel.
fn words(rows: &[TimelineRow], place: usize, bin: &Bin, timeline: &Timeline) -> String {
    let decimals = decimals(timeline);
    let mut lines = vec![format!("{} to {} s", moment(bin.from_s, decimals), moment(bin.to_s(), decimals))];
    for panel in rows.chunk_by(|a, b| a.panel == b.panel) {
        let known = panel.iter().filter_map(|row| Some(format!("{} {}", row.name, row.shown(place)?)));
        lines.extend(listed(known, ", ").map(|known| format!("{}: {known}", panel[0].panel)));
    }
    lines.extend(bin.wait.map(|wait| format!("{} with such a latency", counted(wait.n, "request"))));
    lines.join("\n")
}

/// Decimals that the beginnings of bins need.
fn decimals(timeline: &Timeline) -> usize {
    let whole = |decimals: &i32| {
        let scaled = timeline.bin_s * 10_f64.powi(*decimals);
        (scaled - scaled.round()).abs() < 1e-6
    };
    (0..9).find(whole).unwrap_or(9) as usize
}

fn table(rows: &[TimelineRow], timeline: &Timeline) -> Table {
    let table = Table::over("The run by bins", timeline.bins.iter().enumerate())
        .column("from, s", |(_, bin)| moment(bin.from_s, decimals(timeline)));
    let add = |table: TableOf<_>, row: &TimelineRow| {
        table.column(format!("{}: {}", row.panel, row.name), |(place, _)| row.shown(place))
    };
    rows.iter().fold(table, add).into()
}
