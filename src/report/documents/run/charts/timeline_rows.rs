//! Figures over the bins of a run: what flowed and waited, and what servers, devices and this client report.

use super::clock::pauses;
use crate::analysis::{Bin, BinWait, Figure, FollowedGauge, Metric, Summary, Timeline};
use crate::record::{Gauge, RunLog};
use crate::report::chart::{LevelStyle, Palette};
use crate::report::document::cell;

/// Requests from which on a 99th percentile is not about the largest of them.
const PLENTY: u64 = 100;

/// One figure over the bins of a timeline.
pub(super) struct TimelineRow {
    /// The panel that it is drawn in, by the title of its axis.
    pub(super) panel: String,
    pub(super) scale: Scale,
    pub(super) name: String,
    pub(super) palette: Palette,
    pub(super) form: LevelStyle,
    /// Bins without a value that a line goes across. There are such where the figure is not read in every bin.
    pub(super) across: usize,
    /// Whether its values are known only to be at least so much.
    pub(super) at_least: bool,
    /// A value for each bin that has one.
    pub(super) values: Vec<Option<f64>>,
}

/// Form of the axis of a panel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scale {
    /// Axis from 0 to the largest value.
    FromZero,
    /// Axis from 0, or logarithmic where values lie far apart.
    Fitting,
    /// Axis from 0 to 100 %.
    Percent,
}

impl TimelineRow {
    /// Returns the row's figure of a bin.
    pub(super) fn shown(&self, place: usize) -> Option<String> {
        Some(format!("{}{}", if self.at_least { "> " } else { "" }, cell(self.values[place]?)))
    }
}

/// A row from 0 to its largest value.
fn timeline_row(
    panel: &str,
    name: &str,
    palette: Palette,
    form: LevelStyle,
    values: impl Iterator<Item = Option<f64>>,
) -> TimelineRow {
    let (panel, name) = (panel.to_owned(), name.to_owned());
    TimelineRow {
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

/// Returns the rows of what flowed, was in flight and waited.
pub(super) fn rows(summary: &Summary, timeline: &Timeline) -> Vec<TimelineRow> {
    use LevelStyle::{Area, Line, Steps};

    let each = |read: fn(&Bin) -> f64| timeline.bins.iter().map(move |bin| Some(read(bin)));
    let rate = |read: fn(&Bin) -> f64| timeline.bins.iter().map(move |bin| Some(read(bin) / bin.length_s));
    let requests = "requests/s";
    let mut rows = vec![timeline_row(requests, "completed", Palette::First, Area, rate(|bin| bin.completed as f64))];
    rows.push(if summary.run.load.is_closed() {
        timeline_row(requests, "sent", Palette::Faint, Steps, rate(|bin| bin.sent as f64))
    } else {
        timeline_row(requests, "offered", Palette::Faint, Steps, rate(|bin| bin.scheduled as f64))
    });
    if timeline.bins.iter().any(|bin| bin.failed > 0) {
        rows.push(timeline_row(requests, "failed", Palette::Failure, Steps, rate(|bin| bin.failed as f64)));
    }
    let in_flight = "requests in flight";
    rows.push(timeline_row(in_flight, "mean", Palette::First, Area, each(|bin| bin.in_flight_mean)));
    rows.push(timeline_row(in_flight, "peak", Palette::Second, Steps, each(|bin| bin.in_flight_peak as f64)));
    if timeline.bins.iter().any(|bin| bin.output_tokens > 0.0) {
        let tokens = rate(|bin| bin.output_tokens);
        rows.push(timeline_row("output tokens/s", "output tokens", Palette::First, Area, tokens));
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
        let row = timeline_row(title, name, palette, Line, values.into_iter());
        known.then_some(TimelineRow { scale: Scale::Fitting, at_least, ..row })
    };
    let few = waits().flatten().any(|wait| wait.n < PLENTY);
    let p99 = if few { "p99 (of under 100: about the largest)" } else { "p99" };
    rows.extend(wait("p50", Palette::First, false, known(|wait| wait.p50).collect()));
    rows.extend(wait(p99, Palette::Second, false, known(|wait| wait.p99).collect()));
    let cut_off = "unknown (some cut off), at the top";
    rows.extend(wait(&format!("p50 {cut_off}"), Palette::Faint, true, open(|wait| wait.p50).collect()));
    rows.extend(wait(&format!("p99 {cut_off}"), Palette::Fourth, true, open(|wait| wait.p99).collect()));
    rows
}

/// The gauges that are drawn. Each has its panel, name, colour, gauge, and what a value is multiplied by.
const GAUGES: [(&str, &str, Palette, Gauge, f64); 9] = [
    ("server: requests", "running", Palette::First, Gauge::Running, 1.0),
    ("server: requests", "waiting", Palette::Second, Gauge::Waiting, 1.0),
    ("server: KV cache in use, %", "KV cache", Palette::First, Gauge::KvUsage, 100.0),
    ("devices: busy, %", "busy", Palette::First, Gauge::Utilisation, 100.0),
    ("devices: busy, %", "memory active", Palette::Second, Gauge::DramActive, 100.0),
    ("devices: busy, %", "tensor", Palette::Fourth, Gauge::TensorActive, 100.0),
    ("devices: power, W", "power", Palette::First, Gauge::PowerW, 1.0),
    ("devices: SM clock, MHz", "SM clock", Palette::First, Gauge::SmClockMhz, 1.0),
    ("devices: temperature, °C", "temperature", Palette::First, Gauge::TemperatureC, 1.0),
];

/// One row for each gauge that was reported, then those of this machine.
pub(super) fn metered(log: &RunLog, timeline: &Timeline) -> Vec<TimelineRow> {
    let gauges = GAUGES.into_iter().filter_map(|(panel, name, palette, gauge, times)| {
        let followed = FollowedGauge::new(log, gauge)?;
        let over = |bin: &Bin| Some(followed.over((bin.from_s, bin.to_s()))? * times);
        let scale = if times > 1.0 { Scale::Percent } else { Scale::FromZero };
        let row = timeline_row(panel, name, palette, LevelStyle::Line, timeline.bins.iter().map(over));
        read_at_times(TimelineRow { scale, ..row })
    });
    let delay = largest(
        timeline,
        log.telemetry
            .client
            .iter()
            .filter_map(|sample| Some((sample.at.as_secs_f64(), sample.loop_delay_max_ns? as f64 / 1e6))),
    );
    let panel = "this client: read-loop delay, ms";
    let delay = timeline_row(panel, "longest", Palette::First, LevelStyle::Line, delay.into_iter());
    let delay = read_at_times(TimelineRow { scale: Scale::Fitting, ..delay });
    gauges.chain(delay).chain(stalled(log, timeline)).collect()
}

/// A row that is not read in every bin; `None` where it is never read.
fn read_at_times(row: TimelineRow) -> Option<TimelineRow> {
    let across = between(&row.values);
    row.values.iter().any(Option::is_some).then_some(TimelineRow { across, ..row })
}

/// Returns the most bins that may lie between two with a value. They are as many as usually do, and half as many again.
/// Where more do, readings are missing.
fn between(values: &[Option<f64>]) -> usize {
    let known: Vec<usize> = (0..values.len()).filter(|place| values[*place].is_some()).collect();
    let mut steps: Vec<usize> = known.windows(2).map(|pair| pair[1] - pair[0]).collect();
    steps.sort_unstable();
    steps.get(steps.len() / 2).map_or(0, |usual| usual * 3 / 2 - 1)
}

fn bin_of(timeline: &Timeline, seconds: f64) -> Option<usize> {
    let bin = timeline.bins.partition_point(|bin| bin.to_s() <= seconds);
    (bin < timeline.bins.len()).then_some(bin)
}

/// The largest of the values of each bin.
fn largest(timeline: &Timeline, values: impl Iterator<Item = (f64, f64)>) -> Vec<Option<f64>> {
    let mut by_bin: Vec<Option<f64>> = vec![None; timeline.bins.len()];
    for (at, value) in values {
        if let Some(bin) = bin_of(timeline, at) {
            by_bin[bin] = Some(by_bin[bin].map_or(value, |most| most.max(value)));
        }
    }
    by_bin
}

/// Returns how long this machine stalled in each bin.
fn stalled(log: &RunLog, timeline: &Timeline) -> Option<TimelineRow> {
    let pauses = pauses(log);
    if pauses.is_empty() {
        return None;
    }
    let within = |bin: &Bin| {
        let overlap = |(began, ended): &(f64, f64)| (ended.min(bin.to_s()) - began.max(bin.from_s)).max(0.0);
        pauses.iter().map(overlap).sum::<f64>() * 1e3
    };
    let values = timeline.bins.iter().map(|bin| Some(within(bin)));
    let panel = "this machine stalled, ms";
    read_at_times(timeline_row(panel, "stalled", Palette::Failure, LevelStyle::Area, values))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::analysis::test_runs::{ms, record, run};
    use crate::record::Reading;

    fn reading(source: u16, at: u64, running: f64, power: &[f64]) -> Reading {
        let device = |(number, watts): (usize, &f64)| {
            let gauges = BTreeMap::from([(Gauge::PowerW, *watts)]);
            (number.to_string(), crate::record::DeviceReading { gauges, ..Default::default() })
        };
        Reading {
            source,
            asked: ms(at),
            answered: ms(at + 2),
            gauges: BTreeMap::from([(Gauge::Running, running), (Gauge::KvUsage, 0.5)]),
            devices: power.iter().enumerate().map(device).collect(),
            ..Reading::default()
        }
    }

    #[test]
    fn a_reading_every_other_bin_makes_a_line_and_a_missing_one_breaks_it() {
        let values = |known: &[usize]| (0..20).map(|place| known.contains(&place).then_some(1.0)).collect::<Vec<_>>();
        // Every second bin, once a bin late: up to two lie between; where one is missing, three.
        assert_eq!(between(&values(&[0, 2, 4, 7, 8, 12, 14, 16])), 2);
        assert_eq!(between(&values(&[0, 1, 2, 3])), 0);
        assert_eq!((between(&values(&[5])), between(&values(&[]))), (0, 0));
    }

    #[test]
    fn servers_add_up_and_every_bin_between_readings_has_a_value() {
        let mut log = run(1_000, vec![record(0).sent_at(0, 0, 1).paced(10, 10, 100).build()]);
        log.telemetry.readings = vec![
            reading(0, 1, 4.0, &[]),
            reading(0, 5, 6.0, &[]),
            reading(1, 3, 10.0, &[300.0, 250.0]),
            reading(0, 45, 6.0, &[]),
            reading(1, 45, 14.0, &[300.0, 250.0]),
        ];
        let timeline = Timeline::from_log(&log);
        let rows = metered(&log, &timeline);
        let of = |name: &str| &rows.iter().find(|row| row.name == name).unwrap().values;
        assert_eq!(timeline.bin_s, 0.01);
        // From 4 ms on both have reported, until 46 ms: the one is at 6 from 6 ms on, the other goes from 10
        // to 14 in 42 ms.
        assert!(of("running")[..5].iter().all(Option::is_some) && of("running")[5..].iter().all(Option::is_none));
        assert!((of("running")[2].unwrap() - (6.0 + 10.0 + 4.0 * 21.0 / 42.0)).abs() < 1e-9);
        assert_eq!((of("KV cache")[0], of("power")[3]), (Some(50.0), Some(550.0)));
        assert!(!rows.iter().any(|row| row.name == "waiting"), "what was not reported is not drawn");
    }
}
