//! The sections of a window, and what came, went and was there in each.

use crate::analysis::requests::Observed;
use crate::analysis::statistics::SECTIONS;
use crate::clock::Timestamp;
use crate::record::RequestRecord;
use crate::workload::RateProfile;

/// Requests in a section, on average.
const LEAST_IN_SECTION: usize = 5;
/// Fewest sections that say anything of a trend.
pub(super) const FEWEST: usize = 6;

/// Equal sections that end with the window.
#[derive(Clone, Copy, Debug)]
pub(super) struct EqualSections {
    start: Timestamp,
    pub(super) sections: usize,
    each_s: f64,
}

impl EqualSections {
    /// The whole window in so many sections.
    pub(super) fn window(observed: &Observed<'_>, sections: usize) -> Self {
        let each_s = observed.length().as_secs_f64() / sections as f64;
        Self { start: observed.start, sections, each_s }
    }

    /// Returns the sections that are judged. `None` where they would say nothing of a trend.
    pub(super) fn judged(observed: &Observed<'_>) -> Option<Self> {
        let by_requests = observed.requests.len() / LEAST_IN_SECTION;
        let stretch = match observed.log.header.workload.arrival.rate_profile() {
            RateProfile::Level => Self::window(observed, by_requests.min(SECTIONS)),
            RateProfile::Periodic(period_s) => {
                // Sections that are not whole periods would each hold another share of the bursts.
                let whole = (observed.length().as_secs_f64() / period_s + 1e-6).floor();
                if (by_requests as f64) < whole {
                    return None;
                }
                let start_s = observed.end.as_secs_f64() - whole * period_s;
                let start = Timestamp::from_secs_f64(start_s).max(observed.start);
                Self { start, sections: whole as usize, each_s: period_s }
            }
            RateProfile::Changing => return None,
        };
        (stretch.sections >= FEWEST).then_some(stretch)
    }

    pub(super) fn length_s(&self) -> f64 {
        self.each_s * self.sections as f64
    }

    /// The middle of a section, seconds since the run began.
    pub(super) fn middle_of(&self, section: u32) -> f64 {
        self.start.as_secs_f64() + self.each_s * (f64::from(section) + 0.5)
    }

    /// The section that a moment lies in; `None` before the first.
    fn section_of(&self, moment: Timestamp) -> Option<usize> {
        (moment >= self.start).then(|| (moment.since(self.start).as_secs_f64() / self.each_s) as usize)
    }

    /// Groups what was measured of requests by the section in which they were due. Each group stands beside the
    /// section's middle; empty sections are left out.
    pub(super) fn grouped(&self, of_requests: impl Iterator<Item = (Timestamp, f64)>) -> Vec<(f64, Vec<f64>)> {
        let mut groups: Vec<_> = (0..).map(|i| (self.middle_of(i), Vec::new())).take(self.sections).collect();
        for (moment, value) in of_requests {
            if let Some(group) = self.section_of(moment).and_then(|section| groups.get_mut(section)) {
                group.1.push(value);
            }
        }
        groups.retain(|group| !group.1.is_empty());
        groups
    }

    /// Requests that were to arrive in them. Of later turns, of a shard and of a closed loop nobody knows the
    /// rate, so that those count which came.
    pub(super) fn expected(&self, observed: &Observed<'_>) -> f64 {
        let log = observed.log;
        let start_s = self.start.as_secs_f64();
        let planned = log.header.workload.arrival.expected_between(start_s, start_s + self.length_s());
        if planned > 0.0 && log.header.shard.is_none() && log.records.iter().all(|record| record.is_opener()) {
            return planned;
        }
        let came = |at| self.section_of(at).is_some_and(|section| section < self.sections);
        observed.requests.iter().filter(|request| came(request.record().scheduled)).count() as f64
    }

    /// Requests waiting or in flight in each section, averaged over time, event by event.
    pub(super) fn present(&self, observed: &Observed<'_>) -> Vec<f64> {
        self.levels(observed, |record| (record.dispatched, 1.0))
    }

    /// Averages a quantity over the time of each section. Each request has it from a moment on until it ends.
    pub(super) fn levels(&self, observed: &Observed<'_>, of: impl Fn(&RequestRecord) -> (Timestamp, f64)) -> Vec<f64> {
        let (width, sections) = (self.each_s, self.sections);
        // Time in the sections that a request enters or leaves in, and how much more is there for whole ones.
        let (mut parts, mut steps) = (vec![0.0; sections], vec![0.0; sections + 1]);
        for record in observed.log.records.iter() {
            let (from, much) = of(&record);
            let (from, to) = (from.max(self.start), record.ended.min(observed.end));
            if from >= to {
                continue;
            }
            let [from, to] = [from, to].map(|at| at.since(self.start).as_secs_f64());
            let [first, last] = [from, to].map(|at| ((at / width) as usize).min(sections - 1));
            if first == last {
                parts[first] += much * (to - from);
            } else {
                parts[first] += much * (width * (first + 1) as f64 - from);
                parts[last] += much * (to - width * last as f64);
                steps[first + 1] += much;
                steps[last] -= much;
            }
        }
        let mut whole = 0.0;
        let level = |(part, step): (f64, f64)| {
            whole += step;
            whole + part / width
        };
        parts.into_iter().zip(steps).map(level).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::test_runs::{record, run};

    #[test]
    fn what_was_there_is_counted_section_by_section() {
        // A window of 1,000 ms in four: 100–400 and 200–900; one before it ends and one after it begins.
        let log = run(
            1_000,
            vec![
                record(0).sent_at(100, 100, 100).paced(400, 1, 1).build(),
                record(1).sent_at(200, 200, 200).paced(900, 1, 1).build(),
                record(2).sent_at(1_000, 1_000, 1_000).paced(1_200, 1, 1).build(),
            ],
        );
        let observed = Observed::from_log(&log);
        let levels = EqualSections::window(&observed, 4).present(&observed);
        for (level, expected) in levels.into_iter().zip([0.8, 1.6, 1.0, 0.6]) {
            assert!((level - expected).abs() < 1e-9, "{level} {expected}");
        }
    }
}
