//! A run over time: rates, requests in flight, tokens, latencies, servers and this machine under one axis.

use super::meters;
use super::moment::moment;
use crate::analysis::wording::counted;
use crate::analysis::{Bin, BinWait, Figure, LoadForm, Metric, Summary, Timeline};
use crate::record::RunLog;
use crate::report::chart::{
    Axis, LevelStyle, Levels, Palette, Panel, Plot, Series, SeriesForm, Slot, Value, Zone, ZoneKind,
};
use crate::report::document::{Chart, NOTHING, Section, Table, cell};

/// Requests from which on a 99th percentile is not about the largest of them.
const PLENTY: u64 = 100;
/// Most pauses of this machine that are drawn, the longest first.
const MOST_PAUSES: usize = 30;

/// The axis of time that pictures of a run share.
pub(super) struct Clock {
    /// Seconds of its unit.
    per: f64,
    unit: &'static str,
    end_s: f64,
    /// Stretches that stand out, seconds.
    stretches: Vec<(f64, f64, ZoneKind, String)>,
}

impl Clock {
    pub(super) fn of(log: &RunLog, summary: &Summary, timeline: &Timeline) -> Self {
        let end_s = timeline.end_s().max(summary.window.end_s);
        let (per, unit) = match end_s {
            minutes if minutes <= 900.0 => (1.0, "s"),
            hours if hours <= 4.0 * 3600.0 => (60.0, "min"),
            _ => (3600.0, "h"),
        };
        let (start, end) = (summary.window.start_s, summary.window.end_s);
        let around = [
            (0.0, start, "before the window: what is scheduled here warms up and does not count"),
            (end, end_s, "after the window: what is scheduled here does not count"),
        ];
        let mut stretches: Vec<_> = around
            .into_iter()
            .filter(|(from, to, _)| from < to)
            .map(|(from, to, label)| (from, to, ZoneKind::Uncounted, label.to_owned()))
            .collect();
        let mut pauses = meters::pauses(log);
        pauses.sort_unstable_by(|a, b| (b.1 - b.0).total_cmp(&(a.1 - a.0)));
        stretches.extend(pauses.into_iter().take(MOST_PAUSES).map(|(from, to)| {
            (from, to, ZoneKind::Doubtful, format!("this machine stalled for {} ms", cell((to - from) * 1e3)))
        }));
        Self { per, unit, end_s, stretches }
    }

    pub(super) fn at(&self, seconds: f64) -> f64 {
        seconds / self.per
    }

    pub(super) fn axis(&self, title: &str) -> Axis {
        Axis::between(&format!("{title}, {}", self.unit), 0.0, self.at(self.end_s))
    }

    pub(super) fn shades(&self) -> Vec<Zone> {
        let shade = |(from, to, kind, label): &(f64, f64, ZoneKind, String)| Zone {
            from: self.at(*from),
            to: self.at(*to),
            kind: *kind,
            label: label.clone(),
        };
        self.stretches.iter().map(shade).collect()
    }
}

/// One figure over the bins of a timeline.
pub(super) struct Strand {
    /// The panel that it is drawn in, by the title of its axis.
    pub(super) panel: String,
    pub(super) scale: Scale,
    pub(super) name: String,
    pub(super) palette: Palette,
    pub(super) form: LevelStyle,
    /// Bins without a value that a line goes across, because it is not read in every bin.
    pub(super) across: usize,
    /// Whether its values are known only to be at least so much.
    pub(super) at_least: bool,
    /// A value for each bin that has one.
    pub(super) values: Vec<Option<f64>>,
}

/// What the axis of a panel is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scale {
    /// From 0 to the largest value.
    FromZero,
    /// From 0, or logarithmic where values lie far apart.
    Fitting,
    /// From 0 to 100 %.
    Percent,
}

impl Strand {
    fn new(
        panel: &str,
        name: &str,
        palette: Palette,
        form: LevelStyle,
        values: impl Iterator<Item = Option<f64>>,
    ) -> Self {
        let (panel, name) = (panel.to_owned(), name.to_owned());
        Self {
            panel,
            scale: Scale::FromZero,
            name,
            palette,
            form,
            across: 0,
            at_least: false,
            values: values.collect(),
        }
    }

    /// Its figure of a bin.
    fn shown(&self, place: usize) -> Option<String> {
        Some(format!("{}{}", if self.at_least { "> " } else { "" }, cell(self.values[place]?)))
    }
}

pub(super) fn section(log: &RunLog, summary: &Summary, timeline: &Timeline, clock: &Clock) -> Section {
    let mut section = Section::summary("Over time");
    if timeline.bins.is_empty() {
        return section;
    }
    let mut strands = strands(summary, timeline);
    strands.extend(meters::strands(log, timeline));
    let panels = strands.chunk_by(|a, b| a.panel == b.panel).map(|strands| panel(strands, timeline, clock));
    let slots = timeline.bins.iter().enumerate().map(|(place, bin)| Slot {
        from: clock.at(bin.from_s),
        to: clock.at(bin.to_s()),
        words: words(&strands, place, bin, timeline),
    });
    let description = format!("The run over time, in bins of {} s", cell(timeline.bin_s));
    let mut picture = Plot::of(description, clock.axis("time since the run's zero"), panels.collect())
        .wide()
        .with_zones(clock.shades());
    picture.slots = slots.collect();
    let doubtful = if meters::pauses(log).is_empty() { "" } else { "; red: this machine stalled" };
    let hint = format!(
        "bins of {} s; grey: outside the window, not counted{doubtful}; hover over a bin for its figures",
        cell(timeline.bin_s)
    );
    section.chart(Chart::new("", picture).hint(hint).behind(table(&strands, timeline)));
    section
}

/// What flowed, was in flight and waited.
fn strands(summary: &Summary, timeline: &Timeline) -> Vec<Strand> {
    use LevelStyle::{Area, Line, Steps};

    let each = |read: fn(&Bin) -> f64| timeline.bins.iter().map(move |bin| Some(read(bin)));
    let rate = |read: fn(&Bin) -> f64| timeline.bins.iter().map(move |bin| Some(read(bin) / bin.length_s));
    let requests = "requests/s";
    let mut strands =
        vec![Strand::new(requests, "completed", Palette::First, Area, rate(|bin| bin.completed as f64))];
    strands.push(if summary.run.load == LoadForm::Closed {
        Strand::new(requests, "sent", Palette::Faint, Steps, rate(|bin| bin.sent as f64))
    } else {
        Strand::new(requests, "offered", Palette::Faint, Steps, rate(|bin| bin.scheduled as f64))
    });
    if timeline.bins.iter().any(|bin| bin.failed > 0) {
        strands.push(Strand::new(requests, "failed", Palette::Failure, Steps, rate(|bin| bin.failed as f64)));
    }
    let in_flight = "requests in flight";
    strands.push(Strand::new(in_flight, "mean", Palette::First, Area, each(|bin| bin.in_flight_mean)));
    strands.push(Strand::new(
        in_flight,
        "peak",
        Palette::Second,
        Steps,
        each(|bin| bin.in_flight_peak as f64),
    ));
    if timeline.bins.iter().any(|bin| bin.output_tokens > 0.0) {
        let tokens = rate(|bin| bin.output_tokens);
        strands.push(Strand::new("output tokens/s", "output tokens", Palette::First, Area, tokens));
    }
    let title = match timeline.metric {
        Metric::Ttft => "TTFT of what is scheduled then, ms",
        _ => "e2e of what is scheduled then, ms",
    };
    let waits = || timeline.bins.iter().map(|bin| bin.wait.as_ref());
    let known = |read: fn(&BinWait) -> Figure| waits().map(move |wait| read(wait?).at_most());
    let open = |read: fn(&BinWait) -> Figure| {
        let least = |figure: Figure| figure.at_most().is_none().then_some(figure.at_least());
        waits().map(move |wait| least(read(wait?)))
    };
    let wait = |name: &str, palette, at_least, values: Vec<Option<f64>>| {
        let known = values.iter().any(Option::is_some);
        let strand = Strand::new(title, name, palette, Line, values.into_iter());
        known.then_some(Strand { scale: Scale::Fitting, at_least, ..strand })
    };
    let few = waits().flatten().any(|wait| wait.n < PLENTY);
    let p99 = if few { "p99 (of under 100: about the largest)" } else { "p99" };
    strands.extend(wait("p50", Palette::First, false, known(|wait| wait.p50).collect()));
    strands.extend(wait(p99, Palette::Second, false, known(|wait| wait.p99).collect()));
    let cut_off = "at least, for some were cut off";
    strands.extend(wait(&format!("p50 {cut_off}"), Palette::Faint, true, open(|wait| wait.p50).collect()));
    strands.extend(wait(&format!("p99 {cut_off}"), Palette::Fourth, true, open(|wait| wait.p99).collect()));
    strands
}

fn panel(strands: &[Strand], timeline: &Timeline, clock: &Clock) -> Panel {
    let title = &strands[0].panel;
    let values = strands.iter().flat_map(|strand| &strand.values).filter_map(|value| *value);
    let y = match strands[0].scale {
        Scale::FromZero => Axis::from_zero(title, values),
        Scale::Fitting => Axis::fitting(title, values),
        Scale::Percent => Axis::between(title, 0.0, 100.0),
    };
    let levels = |strand: &Strand| Levels {
        style: strand.form,
        across: clock.at(timeline.bin_s) * strand.across as f64,
        values: timeline
            .bins
            .iter()
            .zip(&strand.values)
            .filter_map(|(bin, value)| {
                let (from, to) = (clock.at(bin.from_s), clock.at(bin.to_s()));
                Some(Value { from, to, y: (*value)? })
            })
            .collect(),
    };
    let series = |strand: &Strand| {
        Series::new(strand.name.clone(), strand.palette, SeriesForm::Levels(levels(strand)))
    };
    Panel::new(y, strands.iter().map(series).collect())
}

/// All figures of a bin, a line for each panel.
fn words(strands: &[Strand], place: usize, bin: &Bin, timeline: &Timeline) -> String {
    let decimals = decimals(timeline);
    let mut lines = vec![format!("{} to {} s", moment(bin.from_s, decimals), moment(bin.to_s(), decimals))];
    for panel in strands.chunk_by(|a, b| a.panel == b.panel) {
        let known =
            panel.iter().filter_map(|strand| Some(format!("{} {}", strand.name, strand.shown(place)?)));
        let known: Vec<_> = known.collect();
        if !known.is_empty() {
            lines.push(format!("{}: {}", panel[0].panel, known.join(", ")));
        }
    }
    if let Some(wait) = bin.wait {
        lines.push(format!("{} with such a latency", counted(wait.n, "request")));
    }
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

fn table(strands: &[Strand], timeline: &Timeline) -> Table {
    let titles: Vec<String> =
        strands.iter().map(|strand| format!("{}: {}", strand.panel, strand.name)).collect();
    let mut table = Table::new("The run by bins", ["from, s".to_owned()].into_iter().chain(titles));
    for (place, bin) in timeline.bins.iter().enumerate() {
        let cells = strands.iter().map(|strand| strand.shown(place).unwrap_or(NOTHING.to_owned()));
        table.row([moment(bin.from_s, decimals(timeline))].into_iter().chain(cells));
    }
    table
}
