//! What pages of metrics and this program's own meters told, over the bins of a run.

use std::collections::{BTreeMap, BTreeSet};

use super::over_time::{Scale, Strand};
use crate::analysis::Timeline;
use crate::record::{Gauge, Reading, RunLog};
use crate::report::chart::{Ink, TrackForm};

/// The gauges that are drawn: panel, name, colour, gauge, and what a value is multiplied by.
const GAUGES: [(&str, &str, Ink, Gauge, f64); 5] = [
    ("server: requests", "running", Ink::First, Gauge::Running, 1.0),
    ("server: requests", "waiting", Ink::Second, Gauge::Waiting, 1.0),
    ("server: KV cache in use, %", "KV cache", Ink::First, Gauge::KvUsage, 100.0),
    ("devices: busy, %", "busy", Ink::First, Gauge::Utilisation, 100.0),
    ("devices: power, W", "power", Ink::First, Gauge::PowerW, 1.0),
];

/// One strand for each gauge that was told, then those of this machine.
pub(super) fn strands(log: &RunLog, timeline: &Timeline) -> Vec<Strand> {
    let gauges = GAUGES.into_iter().filter_map(|(panel, name, ink, gauge, times)| {
        let values = told(&log.telemetry.readings, timeline, gauge);
        let values: Vec<_> = values.into_iter().map(|value| Some(value? * times)).collect();
        let scale = if times > 1.0 { Scale::Percent } else { Scale::FromZero };
        strand((panel, name), scale, ink, TrackForm::Line, values)
    });
    let delay = largest(
        timeline,
        log.telemetry
            .client
            .iter()
            .filter_map(|sample| Some((sample.at.as_secs_f64(), sample.loop_delay_max_ns? as f64 / 1e6))),
    );
    let delay = strand(
        ("this client: event-loop delay, ms", "longest"),
        Scale::Fitting,
        Ink::First,
        TrackForm::Line,
        delay,
    );
    gauges.chain(delay).chain(stood_still(log, timeline)).collect()
}

fn strand(
    (panel, name): (&str, &str),
    scale: Scale,
    ink: Ink,
    form: TrackForm,
    values: Vec<Option<f64>>,
) -> Option<Strand> {
    let told = values.iter().any(Option::is_some);
    let across = between(&values);
    told.then(|| Strand { panel: panel.to_owned(), scale, name: name.to_owned(), ink, form, across, values })
}

/// Bins that usually lie between two with a value, and half as many again: where more do, readings are missing.
fn between(values: &[Option<f64>]) -> usize {
    let told: Vec<usize> = (0..values.len()).filter(|place| values[*place].is_some()).collect();
    let mut steps: Vec<usize> = told.windows(2).map(|pair| pair[1] - pair[0]).collect();
    steps.sort_unstable();
    steps.get(steps.len() / 2).map_or(0, |usual| usual * 3 / 2 - 1)
}

/// A gauge by bins: of each page the mean of what it told in a bin, of several pages together. A bin that one of them told
/// nothing in has no value: the sum of the others is not that of all.
fn told(readings: &[Reading], timeline: &Timeline, gauge: Gauge) -> Vec<Option<f64>> {
    let mut by_page: BTreeMap<(usize, u16), Vec<f64>> = BTreeMap::new();
    for reading in readings {
        let devices = reading.devices.values().filter_map(|device| device.gauges.get(&gauge).copied());
        let values: Vec<f64> = reading.gauges.get(&gauge).copied().into_iter().chain(devices).collect();
        let middle = f64::midpoint(reading.asked.as_secs_f64(), reading.answered.as_secs_f64());
        if let (Some(value), Some(bin)) = (together(gauge, &values), bin_of(timeline, middle)) {
            by_page.entry((bin, reading.source)).or_default().push(value);
        }
    }
    let pages = by_page.keys().map(|(_, page)| page).collect::<BTreeSet<_>>().len();
    let mut by_bin: Vec<Vec<f64>> = vec![Vec::new(); timeline.bins.len()];
    for ((bin, _), values) in by_page {
        by_bin[bin].extend(mean(&values));
    }
    by_bin.iter().map(|values| together(gauge, values).filter(|_| values.len() == pages)).collect()
}

/// What several servers or devices say together.
fn together(gauge: Gauge, values: &[f64]) -> Option<f64> {
    if gauge.adds_up() && !values.is_empty() { Some(values.iter().sum()) } else { mean(values) }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn bin_of(timeline: &Timeline, seconds: f64) -> Option<usize> {
    let bin = (seconds / timeline.bin_s) as usize;
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

/// From when to when this machine stood still, seconds.
pub(super) fn pauses(log: &RunLog) -> Vec<(f64, f64)> {
    let client = log.footer.as_ref().and_then(|footer| footer.client.as_ref());
    let pauses = client.iter().flat_map(|client| &client.pauses);
    pauses.map(|pause| (pause.from.as_secs_f64(), pause.until().as_secs_f64())).collect()
}

/// How long this machine stood still in each bin.
fn stood_still(log: &RunLog, timeline: &Timeline) -> Option<Strand> {
    let pauses = pauses(log);
    if pauses.is_empty() {
        return None;
    }
    let within = |from: f64| {
        let overlap =
            |(began, ended): &(f64, f64)| (ended.min(from + timeline.bin_s) - began.max(from)).max(0.0);
        pauses.iter().map(overlap).sum::<f64>() * 1e3
    };
    let values = timeline.bins.iter().map(|bin| Some(within(bin.from_s))).collect();
    strand(
        ("this machine stood still, ms", "stood still"),
        Scale::FromZero,
        Ink::Failure,
        TrackForm::Area,
        values,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::test_runs::{ms, record, run};

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
            counters: BTreeMap::new(),
            devices: power.iter().enumerate().map(device).collect(),
            histograms: BTreeMap::new(),
        }
    }

    #[test]
    fn a_reading_every_other_bin_makes_a_line_and_a_missing_one_breaks_it() {
        let values =
            |told: &[usize]| (0..20).map(|place| told.contains(&place).then_some(1.0)).collect::<Vec<_>>();
        // Every second bin, once a bin late: up to two lie between; where one is missing, three.
        assert_eq!(between(&values(&[0, 2, 4, 7, 8, 12, 14, 16])), 2);
        assert_eq!(between(&values(&[0, 1, 2, 3])), 0);
        assert_eq!((between(&values(&[5])), between(&values(&[]))), (0, 0));
    }

    #[test]
    fn servers_add_up_and_readings_of_a_bin_are_averaged() {
        let mut log = run(1_000, vec![record(0).sent_at(0, 0, 1).paced(10, 10, 100).build()]);
        log.telemetry.readings = vec![
            reading(0, 1, 4.0, &[]),
            reading(0, 5, 6.0, &[]),
            reading(1, 3, 10.0, &[300.0, 250.0]),
            reading(0, 45, 1.0, &[]),
        ];
        let timeline = Timeline::of(&log);
        let strands = strands(&log, &timeline);
        let of = |name: &str| &strands.iter().find(|strand| strand.name == name).unwrap().values;
        assert_eq!(timeline.bin_s, 0.01);
        assert_eq!(of("running")[..5], [Some(15.0), None, None, None, None], "half of them is not all");
        assert_eq!((of("KV cache")[0], of("power")[0]), (Some(50.0), Some(550.0)));
        assert!(!strands.iter().any(|strand| strand.name == "waiting"), "what was not told is not drawn");
    }
}
