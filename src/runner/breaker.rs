//! Circuit breakers: conditions under which a run ends early, because to go on would only do harm.
//!
//! A run looks once a second. What ended it is [`RunFooter::breaker`](crate::record::RunFooter::breaker), its ending is
//! [`RunEnding::Aborted`](crate::record::RunEnding::Aborted).

use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::progress::SecondCounts;
use crate::analysis::{Comparison, FigureKind, parse_bound};
use crate::clock::Timestamp;
use crate::record::BreakerTrip;
use crate::units::{count, counted, parse_duration, percent, spoken};

/// A condition that ends a run, such as `error_rate > 50% for 10s`.
#[derive(Clone, Debug, PartialEq)]
pub struct Breaker {
    figure: BreakerFigure,
    comparison: Comparison,
    bound: f64,
    lasting: Duration,
    /// The condition as it was typed.
    text: String,
}

/// The figure that a breaker watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumString, strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "snake_case")]
enum BreakerFigure {
    /// Share of the requests that ended in the time, which failed.
    ErrorRate,
    /// Requests sent that have not ended.
    InFlight,
    /// Requests that wait under the concurrency cap.
    Queued,
    /// Requests that wait in the server, as it reports.
    Waiting,
}

/// Fewest requests that must have ended for an error rate. A few failures of a slow load are no reason to stop.
const FEWEST: u64 = 10;
/// Time between two looks.
const EVERY: Duration = Duration::from_secs(1);
/// Time between two looks from which this process was stopped. Failures may then be its own.
const STOPPED: Duration = Duration::from_secs(3);

impl Breaker {
    /// The one that every run has unless the user says otherwise.
    pub const DEFAULT: &str = "error_rate > 50% for 10s";

    /// Whether it is about the error rate.
    pub fn is_about_error_rate(&self) -> bool {
        self.figure == BreakerFigure::ErrorRate
    }

    /// Whether it is about requests that wait under the concurrency cap.
    pub fn is_about_queued(&self) -> bool {
        self.figure == BreakerFigure::Queued
    }

    /// Returns whether it is about requests that wait in the server. A page of metrics reports them.
    pub fn is_about_waiting(&self) -> bool {
        self.figure == BreakerFigure::Waiting
    }
}

impl FromStr for Breaker {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        parse(text).map_err(|problem| {
            let names = <BreakerFigure as strum::VariantNames>::VARIANTS.join(", ");
            format!("{problem}\n    write it like `{}` or `in_flight > 500 for 10s`; figures: {names}", Self::DEFAULT)
        })
    }
}

fn parse(text: &str) -> Result<Breaker, String> {
    let (condition, lasting) = text.rsplit_once(" for ").ok_or("it does not say for how long")?;
    let (name, comparison, bound) = Comparison::split(condition).ok_or("it has no comparison")?;
    if comparison.is_upper() {
        return Err("a breaker looks for what is too high; use > or >=".to_owned());
    }
    let name = name.to_ascii_lowercase();
    let figure = name.parse().map_err(|_| format!("`{name}` is not a figure of a breaker"))?;
    let kind = if figure == BreakerFigure::ErrorRate { FigureKind::Share } else { FigureKind::Count };
    let bound = parse_bound(kind, bound)?;
    let lasting = parse_duration(lasting.trim())?;
    if lasting < EVERY {
        return Err(format!("a run looks once a second, so {} is too short", spoken(lasting)));
    }
    Ok(Breaker { figure, comparison, bound, lasting, text: text.trim().to_owned() })
}

impl fmt::Display for Breaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

/// The breakers of a run, and what they have seen.
#[derive(Debug, Default)]
pub(super) struct BreakerWatch {
    /// Each with the moment since which it has held.
    breakers: Vec<(Breaker, Option<Timestamp>)>,
    /// Looks at the counts so far, oldest first, back as far as a breaker asks.
    looks: VecDeque<(Timestamp, SecondCounts)>,
}

impl BreakerWatch {
    pub(super) fn new(breakers: Vec<Breaker>) -> Self {
        let breakers = breakers.into_iter().map(|breaker| (breaker, None)).collect();
        Self { breakers, looks: VecDeque::new() }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.breakers.is_empty()
    }

    /// The moment of the look after one at `now`.
    pub(super) fn next_look(now: Timestamp) -> Timestamp {
        Timestamp::ZERO.after(EVERY * (now.as_secs_f64() as u32 + 1))
    }

    /// Looks at the counts of the whole run at `now`. Returns which breaker ends it, if one does.
    pub(super) fn look(&mut self, now: Timestamp, counts: SecondCounts) -> Option<BreakerTrip> {
        if self.looks.back().is_some_and(|(last, _)| now.since(*last) > STOPPED) {
            self.looks.clear();
            self.breakers.iter_mut().for_each(|(_, since)| *since = None);
        }
        self.looks.push_back((now, counts));
        let longest = self.breakers.iter().map(|(breaker, _)| breaker.lasting).max()?;
        // The look before the longest time is the one that it is counted from.
        while self.looks.get(1).is_some_and(|(at, _)| now.since(*at) >= longest) {
            self.looks.pop_front();
        }
        let looks = &self.looks;
        self.breakers.iter_mut().find_map(|(breaker, since)| {
            let found = breaker.found(now, &counts, since, looks)?;
            Some(BreakerTrip { breaker: breaker.to_string(), at: now, found })
        })
    }
}

impl Breaker {
    /// Returns its finding at `now`, in words, if it ends the run.
    fn found(
        &self,
        now: Timestamp,
        counts: &SecondCounts,
        since: &mut Option<Timestamp>,
        looks: &VecDeque<(Timestamp, SecondCounts)>,
    ) -> Option<String> {
        let time = spoken(self.lasting);
        let (level, of) = match self.figure {
            BreakerFigure::ErrorRate => {
                let (_, before) = looks.iter().rev().find(|(at, _)| now.since(*at) >= self.lasting)?;
                let failed = counts.failed - before.failed;
                let ended = counts.completed - before.completed + failed;
                let rate = failed as f64 / ended as f64;
                let holds = ended >= FEWEST && self.comparison.holds(rate, self.bound);
                let ended = counted(ended, "request");
                return holds.then(|| format!("{} of the {ended} that ended within {time} failed", percent(rate)));
            }
            BreakerFigure::InFlight => (Some(counts.in_flight), "in flight"),
            BreakerFigure::Queued => (Some(counts.queued), "waiting under --max-concurrency"),
            BreakerFigure::Waiting => (counts.waiting, "waiting in the server"),
        };
        let Some(level) = level.filter(|level| self.comparison.holds(*level as f64, self.bound)) else {
            *since = None;
            return None;
        };
        let held = now.since(*since.get_or_insert(now));
        (held >= self.lasting).then(|| format!("{} {of} after {time} above the bound", count(level)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(text: &str) -> BreakerWatch {
        BreakerWatch::new(vec![text.parse().unwrap()])
    }

    fn ended(completed: u64, failed: u64) -> SecondCounts {
        SecondCounts { completed, failed, ..SecondCounts::default() }
    }

    fn second(second: u64) -> Timestamp {
        Timestamp::from_secs_f64(second as f64)
    }

    /// Returns the second at which the first breaker ends a run. The run has these counts, and a look a second.
    fn trips(text: &str, counts: impl Fn(u64) -> SecondCounts) -> Option<u64> {
        let mut watch = watch(text);
        (1..100).find(|at| watch.look(second(*at), counts(*at)).is_some())
    }

    #[test]
    fn what_is_typed_is_read_or_refused_with_the_cure() {
        assert!(BreakerWatch::new(Vec::new()).is_idle() && !watch(Breaker::DEFAULT).is_idle());
        let breaker: Breaker = Breaker::DEFAULT.parse().unwrap();
        assert_eq!((breaker.bound, breaker.lasting), (0.5, Duration::from_secs(10)));
        assert_eq!(breaker.to_string(), Breaker::DEFAULT);
        let about = ["error_rate > 5%", "in_flight>=500", "queued > 9", "waiting > 9"].map(|condition| {
            let breaker: Breaker = format!("{condition} for 1m").parse().unwrap();
            [breaker.is_about_error_rate(), breaker.is_about_queued(), breaker.is_about_waiting()]
        });
        assert_eq!(about, [[true, false, false], [false; 3], [false, true, false], [false, false, true]]);
        for (text, problem) in [
            ("error_rate > 50%", "it does not say for how long"),
            ("error_rate 50% for 10s", "it has no comparison"),
            ("error_rate < 50% for 10s", "use > or >="),
            ("errors > 50% for 10s", "`errors` is not a figure of a breaker"),
            ("error_rate > 500% for 10s", "is not a share"),
            ("in_flight > many for 10s", "is not a number"),
            ("in_flight > 5 for 100ms", "too short"),
        ] {
            let error = text.parse::<Breaker>().unwrap_err();
            assert!(error.contains(problem) && error.contains("figures: error_rate, in_flight"), "{error}");
        }
    }

    #[test]
    fn an_error_rate_is_that_of_the_time_alone() {
        // 5 a second complete until second 20, then 5 a second fail: half of the last ten seconds at 25.
        let counts = |at: u64| ended(5 * at.min(20), 5 * at.saturating_sub(20));
        assert_eq!(trips("error_rate > 50% for 10s", counts), Some(26));
        assert_eq!(trips("error_rate >= 50% for 10s", counts), Some(25));
        // From the first look on, the time must have passed.
        assert_eq!(trips("error_rate > 50% for 10s", |at| ended(0, 5 * at)), Some(11));
        // A slow load has too few requests to say.
        assert_eq!(trips("error_rate > 50% for 10s", |at| ended(0, at / 2)), None);
        assert_eq!(trips("error_rate > 50% for 20s", |at| ended(0, at / 2)), Some(21));
    }

    #[test]
    fn a_level_must_hold_at_every_look() {
        let level = |at: u64| SecondCounts {
            in_flight: if at == 8 { 500 } else { 501 },
            waiting: (at > 3).then_some(9),
            ..SecondCounts::default()
        };
        assert_eq!(trips("in_flight > 500 for 10s", level), Some(19));
        assert_eq!(trips("waiting > 8 for 10s", level), Some(14));
        assert_eq!(trips("queued > 0 for 10s", level), None);
    }

    #[test]
    fn a_stop_of_this_process_begins_anew() {
        let mut watch = watch("error_rate > 50% for 10s");
        let mut failing = |at: u64| watch.look(second(at), ended(0, 5 * at)).is_some();
        assert!(!(1..=10).any(&mut failing));
        assert!(!(30..40).any(&mut failing), "what failed before and during the stop does not count");
        assert!(failing(40));
    }

    #[test]
    fn it_says_what_it_found() {
        let mut errors = watch("error_rate > 50% for 10s");
        let found = (0..=10).find_map(|at| errors.look(second(at), ended(at, 9 * at))).unwrap();
        assert_eq!((found.breaker.as_str(), found.at), ("error_rate > 50% for 10s", second(10)));
        assert_eq!(found.found, "90 % of the 100 requests that ended within 10 s failed");
    }
}
