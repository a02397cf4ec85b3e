//! Goodput recovery: whether requests end well again after a spike of the load, or the failure is metastable.

use serde::Serialize;

use super::stretches::LoadTimeline;
use crate::analysis::requests::{Measured, Observed};
use crate::clock::Timestamp;
use crate::record::{Outcome, RunHeader};

/// Least share of requests ending well, relative to before the spike, that counts as recovered. It is a choice: a load
/// within capacity loses next to nothing.
const BACK: f64 = 0.9;
/// Share of the time after the spike that says whether a run has recovered. It is the end of that time.
const LAST: f64 = 0.25;
/// Fewest requests on average in a part of the course. The same holds before the spike and in the last part of the time
/// after it. A share of fewer says little.
const FEWEST: f64 = 50.0;
/// Most parts of the course.
const PARTS: f64 = 30.0;
/// Least factor by which amplifying clients send more for each request after the spike. It compares with what they sent
/// before the spike. It is a choice.
const AMPLIFIED: f64 = 1.1;

/// Goodput recovery after the only burst of the load. It says how requests fared before the burst, in it and after it,
/// where clients have a declared behaviour or a time limit that may end within the run.
///
/// A metastable failure outlasts its trigger: the load is back and goodput is not, because retries, or work for clients
/// that have gone, keep up the overload (Bronson et al., *Metastable Failures in Distributed Systems*, `HotOS` 2021).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SpikeAftermath {
    /// The part of the window before the spike.
    pub before: GoodputStretch,
    /// The spike: while the rate is above the base rate.
    pub spike: GoodputStretch,
    /// The last quarter of the window's time after it.
    pub after: GoodputStretch,
    /// Whether the share of requests that end well is back. It is where that of `after` is at least 90 % of that of
    /// `before`. Absent where too few requests come in `after` to tell.
    pub recovered: Option<bool>,
    /// Seconds from the end of the spike until that share was back to stay. They last to the end of the last part of
    /// `course` in which it was lower. Absent where it never was, or nobody can tell.
    pub recovery_s: Option<f64>,
    /// The window in equal parts.
    pub course: Vec<GoodputStretch>,
}

/// A stretch of the window. It says what was offered, what that made clients send, and how it ended.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct GoodputStretch {
    /// Beginning of the stretch, seconds since the run began.
    pub from_s: f64,
    /// End of the stretch.
    pub to_s: f64,
    /// Requests scheduled in it, per second.
    pub offered_per_s: f64,
    /// Attempts sent in it, the first ones, retries and hedges, per second.
    pub attempts_per_s: f64,
    /// Requests scheduled in it that ended well, per second. They completed within their SLO, where they have one.
    pub ended_well_per_s: f64,
}

impl GoodputStretch {
    /// Attempts for each request that was offered; absent where none was.
    pub fn amplification(&self) -> Option<f64> {
        (self.offered_per_s > 0.0).then(|| self.attempts_per_s / self.offered_per_s)
    }

    /// Returns the share of its requests that ended well, 0 to 1. Absent where there was none.
    pub fn good_share(&self) -> Option<f64> {
        (self.offered_per_s > 0.0).then(|| self.ended_well_per_s / self.offered_per_s)
    }

    /// How many requests were scheduled in it.
    pub fn requests(&self) -> u64 {
        (self.offered_per_s * self.length_s()).round() as u64
    }

    fn length_s(&self) -> f64 {
        self.to_s - self.from_s
    }

    /// Whether requests end well as often as `before`, or nearly.
    fn is_back(&self, before: f64) -> bool {
        self.good_share().is_none_or(|share| share >= BACK * before)
    }
}

impl SpikeAftermath {
    /// Whether clients send clearly more for each request after the spike than before it. That is what keeps up a
    /// metastable failure.
    pub fn is_amplified(&self) -> bool {
        let [before, after] = [&self.before, &self.after].map(|stretch| stretch.amplification().unwrap_or(1.0));
        after > AMPLIFIED * before
    }

    /// Returns the aftermath of a spike of the load. The load rises once above its base rate and comes back for good,
    /// inside the window; `None` where it does not, where clients neither have a declared behaviour nor give up within
    /// the run, and where too few requests end well before the spike to compare with.
    pub(crate) fn from_observed(observed: &Observed<'_>) -> Option<Self> {
        let RunHeader { workload, limits, .. } = &observed.log.header;
        let window = (observed.start.as_secs_f64(), observed.end.as_secs_f64());
        let patience = [limits.total_timeout_s, limits.first_token_timeout_s];
        let give_up = patience.into_iter().flatten().any(|limit_s| limit_s < window.1);
        if workload.clients.is_none() && !give_up {
            return None;
        }
        let load = LoadTimeline::new(workload, window.1);
        let [burst] = load.bursts.as_slice() else { return None };
        let (begins, ends) = (burst.from_s, burst.until_s);
        if begins <= window.0 || ends >= window.1 || burst.next_s < window.1 {
            return None;
        }
        let moments = Moments::from_observed(observed);
        let before = moments.stretch(window.0, begins);
        let share = before.good_share().filter(|share| *share > 0.0)?;
        if before.requests() < FEWEST as u64 {
            return None;
        }
        let after = moments.stretch(window.1 - LAST * (window.1 - ends), window.1);
        let recovered = (after.requests() >= FEWEST as u64).then(|| after.is_back(share));
        let course = moments.course(window);
        let last_down = course.iter().rfind(|part| part.to_s > ends && !part.is_back(share));
        let back_s = last_down.map_or(ends, |part| part.to_s);
        Some(Self {
            before,
            spike: moments.stretch(begins, ends),
            after,
            recovered,
            recovery_s: (recovered == Some(true) && back_s < window.1).then(|| (back_s - ends).max(0.0)),
            course,
        })
    }
}

/// When requests were scheduled, when they were sent, and which ended well; seconds, in order.
struct Moments {
    scheduled: Vec<f64>,
    sent: Vec<f64>,
    good: Vec<f64>,
}

impl Moments {
    fn from_observed(observed: &Observed<'_>) -> Self {
        let is_good = |request: &&Measured<'_>| {
            request.slo.is_met().unwrap_or_else(|| request.record().outcome == Outcome::Completed)
        };
        let scheduled = |request: &Measured<'_>| request.record().scheduled.as_secs_f64();
        // Those of the warm-up are retried in the window too.
        let sent = observed.log.records.iter().flat_map(|record| match record.attempts() {
            [] => vec![record.sent],
            attempts => attempts.iter().map(|attempt| attempt.sent).collect(),
        });
        let ordered = |mut moments: Vec<f64>| {
            moments.sort_unstable_by(f64::total_cmp);
            moments
        };
        Self {
            scheduled: ordered(observed.requests.iter().map(scheduled).collect()),
            sent: ordered(sent.flatten().map(Timestamp::as_secs_f64).collect()),
            good: ordered(observed.requests.iter().filter(is_good).map(scheduled).collect()),
        }
    }

    fn stretch(&self, from_s: f64, to_s: f64) -> GoodputStretch {
        let per_s = |moments: &[f64]| {
            let before = |at: f64| moments.partition_point(|moment| *moment < at);
            (before(to_s) - before(from_s)) as f64 / (to_s - from_s)
        };
        GoodputStretch {
            from_s,
            to_s,
            offered_per_s: per_s(&self.scheduled),
            attempts_per_s: per_s(&self.sent),
            ended_well_per_s: per_s(&self.good),
        }
    }

    /// Cuts the window into parts of a round number of seconds. Each has requests enough.
    fn course(&self, (from_s, to_s): (f64, f64)) -> Vec<GoodputStretch> {
        let length_s = to_s - from_s;
        let shortest_s = (length_s / PARTS).max(FEWEST * length_s / self.scheduled.len().max(1) as f64);
        let step_s = round_up(shortest_s);
        let parts = (length_s / step_s).ceil().max(1.0) as u32;
        let at = |place: u32| (from_s + f64::from(place) * step_s).min(to_s);
        (0..parts).map(|place| self.stretch(at(place), at(place + 1))).filter(|part| part.length_s() > 0.0).collect()
    }
}

/// The next of 1, 2 and 5 times a power of ten.
fn round_up(seconds: f64) -> f64 {
    let power = 10_f64.powf(seconds.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|step| step * power).find(|step| *step >= seconds).unwrap_or(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::summarise::summarise;
    use crate::analysis::test_runs::{record, run};
    use crate::record::{Attempt, AttemptEnd, AttemptKind, Failure, FailureKind, RequestRecord, RunLog};
    use crate::workload::{ArrivalPattern, ClientBehaviour, RateStage, Spike};

    fn spikes(at_s: f64, hold_s: f64) -> ArrivalPattern {
        let spike = Spike { at_s, rate_per_s: 15.0, rise_s: 0.0, hold_s, fall_s: 0.0 };
        ArrivalPattern::Spikes { base_rate_per_s: 10.0, spikes: vec![spike] }
    }

    /// Ten requests a second for a minute. Those from 10 s to `down_until_s` fail twice, and the others are answered at
    /// once.
    fn log(down_until_s: u64) -> RunLog {
        let records = (0..600).map(|i| {
            let at = i * 100;
            let answered = record(i).sent_at(at, at, at).paced(at + 20, 10, 2).build();
            if !(10_000..down_until_s * 1_000).contains(&at) {
                return answered;
            }
            let reason = FailureKind::TimeoutTotal;
            let attempt = |kind| Attempt {
                kind,
                begun: answered.scheduled,
                sent: Some(answered.scheduled),
                ended: answered.ended,
                end: AttemptEnd::Failed(reason),
                discarded_tokens: 0,
            };
            let mut failed =
                RequestRecord { outcome: Outcome::Failed(Failure::new(reason, "late").into()), ..answered.clone() };
            failed.set_attempts(vec![attempt(AttemptKind::First), attempt(AttemptKind::Retry)]);
            failed
        });
        let mut log = run(60_000, records.collect());
        log.header.workload.arrival = spikes(10.0, 10.0);
        log.header.workload.clients = Some(ClientBehaviour { retries: 1, ..ClientBehaviour::default() });
        log
    }

    #[test]
    fn requests_end_well_again_or_they_do_not() {
        let back = summarise(&log(30), &[]).aftermath.unwrap();
        assert_eq!(back.recovered, Some(true));
        assert_eq!(back.recovery_s, Some(10.0), "the last part that is down ends at 30 s, the spike at 20 s");
        assert_eq!((back.before.from_s, back.before.to_s, back.before.good_share()), (0.0, 10.0, Some(1.0)));
        assert_eq!((back.spike.ended_well_per_s, back.spike.amplification()), (0.0, Some(2.0)));
        assert_eq!((back.after.from_s, back.after.to_s), (50.0, 60.0));
        assert_eq!(
            (back.after.offered_per_s, back.after.attempts_per_s, back.after.ended_well_per_s),
            (10.0, 10.0, 10.0)
        );
        assert_eq!(back.course.len(), 12);

        let summary = summarise(&log(60), &[]);
        let down = summary.aftermath.as_ref().unwrap();
        assert_eq!((down.recovered, down.recovery_s, down.after.good_share()), (Some(false), None, Some(0.0)));
        assert!(down.is_amplified() && !back.is_amplified());
        let finding = summary.findings.iter().find(|finding| finding.kind.topic() == "overload").unwrap();
        assert!(finding.sentence.contains("0 of 10.0 requests/s end well at the end, 10.0 of 10.0 before"));
        assert!(finding.sentence.contains("2.00 attempts"), "{}", finding.sentence);
        assert!(finding.cure.contains("retry less"), "{}", finding.cure);
    }

    #[test]
    fn what_no_client_amplifies_is_no_metastable_failure() {
        let mut once = log(60);
        let clients = ClientBehaviour { timeout_s: Some(2.0), ..ClientBehaviour::default() };
        once.header.workload.clients = Some(clients);
        once.records =
            once.records.iter().map(|record| RequestRecord { attempts: None, ..(*record).clone() }).collect();
        let summary = summarise(&once, &[]);
        let aftermath = summary.aftermath.as_ref().unwrap();
        assert!(aftermath.recovered == Some(false) && !aftermath.is_amplified());
        let finding = summary.findings.iter().find(|finding| finding.kind.topic() == "overload").unwrap();
        assert!(finding.sentence.contains("40 s after the spike"), "{}", finding.sentence);
        assert_eq!(finding.cure, "lengthen the run");
    }

    #[test]
    fn too_few_requests_after_the_spike_tell_nothing() {
        for until in [20_000, 52_000] {
            let mut short = log(20);
            short.records = short
                .records
                .iter()
                .filter(|record| record.index * 100 < until)
                .map(|record| (*record).clone())
                .collect();
            let summary = summarise(&short, &[]);
            let aftermath = summary.aftermath.as_ref().unwrap();
            assert_eq!((aftermath.recovered, aftermath.recovery_s), (None, None), "{aftermath:?}");
            assert!(summary.findings.iter().all(|finding| finding.kind.topic() != "overload"));
        }
    }

    #[test]
    fn a_time_limit_that_may_end_within_the_run_is_a_behaviour() {
        let mut typed = log(30);
        typed.header.workload.clients = None;
        typed.header.limits.total_timeout_s = Some(600.0);
        assert_eq!(summarise(&typed, &[]).aftermath, None);
        typed.header.limits.total_timeout_s = Some(2.0);
        assert!(summarise(&typed, &[]).aftermath.is_some());
    }

    #[test]
    fn only_a_load_that_rises_and_comes_back_has_an_aftermath() {
        let level = |duration_s, rate| RateStage::level(duration_s, rate);
        let stages = |stages| ArrivalPattern::Stages { stages };
        let spike = |arrival| {
            let mut log = log(30);
            log.header.workload.arrival = arrival;
            summarise(&log, &[]).aftermath.map(|found| (found.spike.from_s, found.spike.to_s))
        };
        assert_eq!(spike(spikes(10.0, 5.0)), Some((10.0, 15.0)));
        let of_class =
            ArrivalPattern::ByClass { classes: vec![ArrivalPattern::Poisson { rate_per_s: 3.0 }, spikes(10.0, 5.0)] };
        assert_eq!(spike(of_class), Some((10.0, 15.0)));
        let up = RateStage { duration_s: 9.0, from_rate_per_s: 1.0, to_rate_per_s: 5.0 };
        let once = vec![level(10.0, 1.0), up, level(3.0, 5.0), level(6.0, 1.0)];
        assert_eq!(spike(stages(once)), Some((10.0, 22.0)));
        let twice = vec![level(10.0, 2.0), level(3.0, 4.0), level(2.0, 1.0), level(4.0, 9.0), level(6.0, 2.0)];
        assert_eq!(spike(stages(twice)), None);
        assert_eq!(spike(stages(vec![level(10.0, 1.0), up])), None);
        assert_eq!(spike(ArrivalPattern::Poisson { rate_per_s: 3.0 }), None);
        let mut usual = log(30);
        usual.header.workload.clients = None;
        assert_eq!(summarise(&usual, &[]).aftermath, None);
    }
}
