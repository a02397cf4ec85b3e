//! The axis of time that pictures of a run share: its unit, and the stretches that stand out.

use crate::analysis::{LoadTimeline, PhaseOfLoad, Summary, Timeline};
use crate::record::RunLog;
use crate::report::chart::{Axis, Zone, ZoneKind};
use crate::report::document::cell;

/// Most pauses of this machine that are drawn, the longest first.
const MOST_PAUSES: usize = 30;

/// Most bursts that are drawn: more would leave no gap between them.
const MOST_BURSTS: usize = 100;

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
    pub(super) fn new(log: &RunLog, summary: &Summary, timeline: &Timeline) -> Self {
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
        let course = LoadTimeline::new(&log.header.workload, end_s).stretches;
        let bursts = course.into_iter().filter(|stretch| stretch.phase == PhaseOfLoad::Burst);
        let burst = "a burst of the declared load";
        stretches
            .extend(bursts.take(MOST_BURSTS).map(|own| (own.from_s, own.until_s, ZoneKind::Marked, burst.to_owned())));
        let mut pauses = pauses(log);
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

/// Returns from when to when this machine stalled, seconds.
pub(super) fn pauses(log: &RunLog) -> Vec<(f64, f64)> {
    let client = log.footer.as_ref().and_then(|footer| footer.client.as_ref());
    let pauses = client.iter().flat_map(|client| &client.host_stalls);
    pauses.map(|pause| (pause.from.as_secs_f64(), pause.until().as_secs_f64())).collect()
}

/// Returns a moment of a run, seconds. Figures of three digits would make 100.5 and 101.4 the same.
pub(super) fn moment(seconds: f64, decimals: usize) -> String {
    format!("{seconds:.decimals$}")
}
