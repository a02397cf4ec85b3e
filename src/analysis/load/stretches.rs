//! The stretches of a load whose declared rate changes: the base, bursts and what follows them, or stages.

use crate::workload::{ArrivalPattern, RateStage, WorkloadSpec};

/// Most bursts that are distinguished. A rate that changes more often is as good as level.
const MOST: usize = 10_000;

/// A part of the load, which may come back again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum PhaseOfLoad {
    /// Stretches at the base rate, unless a burst has just ended.
    Base,
    /// Stretches above the base rate, its rise and its fall included.
    Burst,
    /// Stretches at the base rate again after a burst. They are as long as the burst before them, and at most half of
    /// the way to the next.
    AfterBurst,
    /// Stretches below the base rate for a while.
    Dip,
    /// A stage, by its place from 0; the rate after the last is one more.
    Stage(usize),
}

/// A stretch of the run in which the load is in one phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LoadStretch {
    pub(crate) phase: PhaseOfLoad,
    /// First moment of the stretch, seconds of the run.
    pub(crate) from_s: f64,
    /// End of the stretch.
    pub(crate) until_s: f64,
}

/// A stretch at a higher rate, with the base-rate stretch that follows it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(clippy::struct_field_names, reason = "every field ends with its unit")]
pub(crate) struct Burst {
    /// Moment when it begins, seconds of the run.
    pub(crate) from_s: f64,
    /// Moment when the rate is back at the base rate, or below.
    pub(crate) until_s: f64,
    /// Moment when the rate leaves the base rate again, or the end of the load.
    pub(crate) next_s: f64,
}

/// How the load of a workload changes over a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LoadTimeline {
    /// Stretches of the load, in order and without gaps.
    pub(crate) stretches: Vec<LoadStretch>,
    /// Bursts of the load, in order.
    pub(crate) bursts: Vec<Burst>,
}

impl LoadTimeline {
    /// Divides the load until `end_s`, seconds of the run: of bursts, spikes and stages. Where classes have arrivals of
    /// their own, it is that of the only class whose rate changes so. Empty for other loads.
    pub(crate) fn new(workload: &WorkloadSpec, end_s: f64) -> Self {
        match changing(&workload.arrival) {
            Some(ArrivalPattern::Bursts { base_rate_per_s, burst_rate_per_s, base_s, burst_s }) => {
                let period = base_s + burst_s;
                let begin = |number: usize| number as f64 * period + base_s;
                let bursts = (0..=MOST).map(begin).take_while(|from| *from < end_s);
                let bursts = bursts.map(|from| (from, from + burst_s, *burst_rate_per_s));
                Self::of_bursts(*base_rate_per_s, bursts, end_s)
            }
            Some(ArrivalPattern::Spikes { base_rate_per_s, spikes }) => {
                let spikes = spikes.iter().take_while(|spike| spike.at_s < end_s);
                let spikes = spikes.map(|spike| (spike.at_s, spike.end_s(), spike.rate_per_s));
                Self::of_bursts(*base_rate_per_s, spikes, end_s)
            }
            Some(pattern) => Self::of_stages(&pattern.course(), end_s),
            None => Self::default(),
        }
    }

    /// Bursts (from, until, highest rate) over a base rate.
    fn of_bursts(base: f64, bursts: impl Iterator<Item = (f64, f64, f64)>, end_s: f64) -> Self {
        let bursts: Vec<_> = bursts.collect();
        if bursts.len() > MOST {
            return Self::default();
        }
        let mut course = Self::default();
        let mut now = 0.0;
        let mut last_length = None;
        let nothing_more = (end_s, end_s, base);
        for (from, until, rate) in bursts.into_iter().chain([nothing_more]) {
            let is_whole = until <= end_s;
            let (from, until) = (from.min(end_s), until.min(end_s));
            let after = last_length.map_or(0.0, |length: f64| length.min((from - now) / 2.0));
            course.add(PhaseOfLoad::AfterBurst, now, now + after);
            course.add(PhaseOfLoad::Base, now + after, from);
            course.add(if rate > base { PhaseOfLoad::Burst } else { PhaseOfLoad::Dip }, from, until);
            if let Some(last) = course.bursts.last_mut() {
                last.next_s = last.next_s.min(from);
            }
            // A dip below the base rate is nothing to recover from.
            if until > from && rate > base && is_whole {
                course.bursts.push(Burst { from_s: from, until_s: until, next_s: end_s });
            }
            (now, last_length) = (until, (rate > base).then_some(until - from));
        }
        course
    }

    /// Stages, the last without an end. A burst begins where the rate rises above that of a level stage, and
    /// ends where a level stage has that rate again, or less.
    fn of_stages(stages: &[RateStage], end_s: f64) -> Self {
        let mut course = Self::default();
        let mut begins = Vec::new();
        let mut now = 0.0;
        for (place, stage) in stages.iter().enumerate() {
            begins.push(now);
            let until = f64::min(now + stage.duration_s, end_s);
            course.add(PhaseOfLoad::Stage(place), now, until);
            now = until;
        }
        let begin = |place: usize| begins.get(place).copied().unwrap_or(end_s);
        let level = |place: usize| {
            let stage = stages.get(place)?;
            (stage.from_rate_per_s.to_bits() == stage.to_rate_per_s.to_bits()).then_some(stage.to_rate_per_s)
        };
        let is_back = |place: usize, base: f64| level(place).is_some_and(|rate| rate <= base);
        let mut place = 0;
        while let Some(stage) = stages.get(place) {
            let rises = stages
                .get(place + 1)
                .is_some_and(|next| next.from_rate_per_s.max(next.to_rate_per_s) > stage.to_rate_per_s);
            let base = level(place).filter(|_| rises);
            let end = base.and_then(|base| (place + 2..stages.len()).find(|later| is_back(*later, base)));
            if let Some((base, end)) = base.zip(end) {
                let next = (end..stages.len()).find(|later| !is_back(*later, base)).unwrap_or(stages.len());
                let (from_s, until_s, next_s) = (begin(place + 1), begin(end), begin(next));
                if until_s < end_s {
                    course.bursts.push(Burst { from_s, until_s, next_s });
                }
                place = end;
            } else {
                place += 1;
            }
        }
        course
    }

    fn add(&mut self, phase: PhaseOfLoad, from_s: f64, until_s: f64) {
        if until_s > from_s {
            self.stretches.push(LoadStretch { phase, from_s, until_s });
        }
    }

    /// The phase of a moment, seconds of the run; `None` after the last stretch.
    pub(crate) fn phase_at(&self, moment_s: f64) -> Option<PhaseOfLoad> {
        let place = self.stretches.partition_point(|stretch| stretch.until_s <= moment_s);
        self.stretches.get(place).map(|stretch| stretch.phase)
    }
}

/// The pattern of bursts, spikes or stages, if there is one and no more.
pub(crate) fn changing(arrival: &ArrivalPattern) -> Option<&ArrivalPattern> {
    match arrival {
        ArrivalPattern::Bursts { .. } | ArrivalPattern::Stages { .. } | ArrivalPattern::Spikes { .. } => Some(arrival),
        ArrivalPattern::ByClass { classes } => {
            let mut changing = classes.iter().filter_map(changing);
            changing.next().filter(|_| changing.next().is_none())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::test_runs::run;
    use crate::workload::Spike;

    fn course(arrival: ArrivalPattern, end_s: f64) -> LoadTimeline {
        let workload = WorkloadSpec { arrival, ..run(1_000, Vec::new()).header.workload };
        LoadTimeline::new(&workload, end_s)
    }

    fn stretches(course: &LoadTimeline) -> Vec<(PhaseOfLoad, f64, f64)> {
        course.stretches.iter().map(|stretch| (stretch.phase, stretch.from_s, stretch.until_s)).collect()
    }

    fn bursts(course: &LoadTimeline) -> Vec<(f64, f64, f64)> {
        course.bursts.iter().map(|burst| (burst.from_s, burst.until_s, burst.next_s)).collect()
    }

    #[test]
    fn bursts_are_followed_by_a_stretch_of_their_length() {
        use PhaseOfLoad::{AfterBurst, Base, Burst};
        let periods =
            ArrivalPattern::Bursts { base_rate_per_s: 2.0, burst_rate_per_s: 20.0, base_s: 8.0, burst_s: 2.0 };
        let found = course(periods, 25.0);
        assert_eq!(
            stretches(&found),
            [
                (Base, 0.0, 8.0),
                (Burst, 8.0, 10.0),
                (AfterBurst, 10.0, 12.0),
                (Base, 12.0, 18.0),
                (Burst, 18.0, 20.0),
                (AfterBurst, 20.0, 22.0),
                (Base, 22.0, 25.0),
            ]
        );
        assert_eq!(bursts(&found), [(8.0, 10.0, 18.0), (18.0, 20.0, 25.0)]);
        let at = |moment| found.phase_at(moment).unwrap();
        assert_eq!([at(0.0), at(8.0), at(10.0), at(24.9)], [Base, Burst, AfterBurst, Base]);
        assert_eq!(found.phase_at(25.0), None);
    }

    #[test]
    fn a_spike_is_its_rise_its_top_and_its_fall_and_a_dip_is_none() {
        use PhaseOfLoad::{AfterBurst, Base, Burst, Dip};
        let spike = |at_s, rate_per_s| Spike { at_s, rate_per_s, rise_s: 1.0, hold_s: 2.0, fall_s: 3.0 };
        let spikes = vec![spike(10.0, 50.0), spike(20.0, 1.0)];
        let found = course(ArrivalPattern::Spikes { base_rate_per_s: 5.0, spikes }, 60.0);
        assert_eq!(
            stretches(&found),
            [
                (Base, 0.0, 10.0),
                (Burst, 10.0, 16.0),
                // Half of the four seconds until the next.
                (AfterBurst, 16.0, 18.0),
                (Base, 18.0, 20.0),
                (Dip, 20.0, 26.0),
                (Base, 26.0, 60.0),
            ]
        );
        assert_eq!(bursts(&found), [(10.0, 16.0, 20.0)]);
    }

    #[test]
    fn stages_have_a_burst_where_the_rate_comes_back() {
        let level = RateStage::level;
        let ramp = RateStage { duration_s: 5.0, from_rate_per_s: 4.0, to_rate_per_s: 16.0 };
        let stages = vec![level(20.0, 4.0), ramp, level(10.0, 16.0), level(15.0, 4.0), level(15.0, 3.0)];
        let found = course(ArrivalPattern::Stages { stages }, 70.0);
        let phases: Vec<_> = found.stretches.iter().map(|stretch| stretch.phase).collect();
        assert_eq!(phases, [0, 1, 2, 3, 4, 5].map(PhaseOfLoad::Stage));
        // The rate of the last stage goes on.
        assert_eq!(bursts(&found), [(20.0, 35.0, 70.0)]);
        let staircase = vec![level(20.0, 4.0), level(20.0, 8.0), level(20.0, 16.0)];
        assert_eq!(course(ArrivalPattern::Stages { stages: staircase }, 60.0).bursts, []);
    }

    #[test]
    fn other_loads_have_no_phases_and_one_class_with_bursts_has_them() {
        let poisson = ArrivalPattern::Poisson { rate_per_s: 2.0 };
        let periods =
            ArrivalPattern::Bursts { base_rate_per_s: 2.0, burst_rate_per_s: 20.0, base_s: 8.0, burst_s: 2.0 };
        assert_eq!(course(poisson.clone(), 60.0), LoadTimeline::default());
        let classes = vec![poisson, periods.clone()];
        assert_eq!(course(ArrivalPattern::ByClass { classes }, 60.0), course(periods.clone(), 60.0));
        let classes = vec![periods.clone(), periods];
        assert_eq!(course(ArrivalPattern::ByClass { classes }, 60.0), LoadTimeline::default());
    }
}
