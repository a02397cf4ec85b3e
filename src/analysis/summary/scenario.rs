//! The rules of a scenario: which of them a run keeps, and which it breaks.

use std::time::Duration;

use serde::Serialize;
use strum::{IntoStaticStr, VariantArray};

use crate::analysis::server::prefix_cache::priming::PrimingFigures;
use crate::analysis::server::settings::forces_length;
use crate::clock::Timestamp;
use crate::record::{Outcome, Phase, RunEnding, RunLog};
use crate::units::{count, percent, seconds};
use crate::workload::{AnswerEnding, CacheState, HistorySource, RequestClass, SaltScope, Scenario, SessionRules};

/// Rules of `AgentX`. They have the same words in audits of other tools' runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub(crate) enum ScenarioRule {
    /// Sessions of the recording are played in lanes, with recorded answers in their histories.
    Recorded,
    /// Answers are streamed.
    Streaming,
    /// Answers are as long as recorded.
    Lengths,
    /// Delays are as recorded.
    Pauses,
    /// Long prompts are sent too.
    Prompts,
    /// Long delays are not cut.
    LongPauses,
    /// The window is long enough.
    Duration,
    /// Something is nearly always in flight.
    Idle,
    /// Sessions have no text in common.
    Marker,
    /// The sessions are published ones.
    Published,
    /// Agents begin in the middle of their sessions.
    Start,
    /// The cache holds what was said before.
    Primed,
    /// Few requests fail.
    Failures,
    /// Few requests exceed the context of the model.
    Overflows,
    /// The run came to its end.
    Ending,
}

/// Shortest window, seconds.
pub(crate) const LEAST_S: u32 = 900;
/// Longest time in which nothing is in flight, and how late its end may be.
const LONGEST_IDLE: Duration = Duration::from_secs(10);
const LATE: Duration = Duration::from_millis(100);
/// Part of their sessions in which agents begin.
const START: [f64; 2] = [0.25, 0.75];
/// Largest share of requests that fail, and of those that exceed the context.
const FAILURES: f64 = 0.1;
const OVERFLOWS: f64 = 0.01;
/// SHA-256 of the published traces: those of up to 256,000 tokens, and all.
const PUBLISHED: [&str; 2] = [
    "e39cd2ff3eba21d4a3664be51da743ac3d2149a1933898cafc7bfeac8147eeef",
    "29b6a19e751ff5230771519aab755f80a0f43a4ba9cf96b72d3a6a437ec99276",
];
/// Words by which servers say that a prompt exceeds the context.
const OVERFLOW: [&str; 4] = ["context length", "maximum context", "context_length_exceeded", "prompt is too long"];

/// Rules of a scenario that a run kept and broke.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ScenarioFigures {
    /// The scenario.
    pub scenario: Scenario,
    /// The rules that it kept.
    pub kept: Vec<String>,
    /// The rules that it broke, each with what was found.
    pub broken: Vec<String>,
}

impl ScenarioRule {
    /// The rule in words.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Recorded => "sessions that are played as recorded",
            Self::Streaming => "streaming",
            Self::Lengths => "answers of the recorded lengths",
            Self::Pauses => "recorded pauses",
            Self::Prompts => "prompts of any length",
            Self::LongPauses => "pauses of any length",
            Self::Duration => "15 minutes at least",
            Self::Idle => "nothing idle for over 10 s",
            Self::Marker => "a marker before each session",
            Self::Published => "published traces",
            Self::Start => "agents that begin between 25 and 75 % of their sessions",
            Self::Primed => "histories in the cache when the window begins",
            Self::Failures => "10 % failures at most",
            Self::Overflows => "1 % beyond the context at most",
            Self::Ending => "a run to its end",
        }
    }

    /// Finding where the rule is broken. `rules` are those of the sessions.
    fn broken(self, log: &RunLog, rules: &SessionRules, priming: Option<PrimingFigures>) -> Option<String> {
        let (workload, plan) = (&log.header.workload, &log.header.plan);
        let classes = || workload.classes.iter();
        let measured = || log.records.iter().filter(|record| record.phase == Phase::Measured);
        let failed = |with: &dyn Fn(&str) -> bool| {
            let failures = measured().filter(|record| match &record.outcome {
                Outcome::Failed(failure) => with(&failure.message),
                _ => false,
            });
            failures.count() as f64 / measured().count().max(1) as f64
        };
        let found = |is_broken: bool, found: &str| is_broken.then(|| found.to_owned());
        match self {
            Self::Recorded if workload.arrival.users().is_none() => found(true, "they arrive by themselves"),
            Self::Recorded if !classes().all(RequestClass::has_session_file) => found(true, "they are not recorded"),
            Self::Recorded => found(rules.history == Some(HistorySource::Live), "answers of the server are repeated"),
            Self::Streaming => found(!log.header.engine().streamed, "answers came whole"),
            Self::Lengths => {
                let are_recorded =
                    classes().all(|class| class.output_tokens.is_of_rows() && class.length == AnswerEnding::Forced);
                found(!are_recorded || !forces_length(log.header.engine()), "nothing holds them to these")
            }
            Self::Pauses => (rules.time_scale.to_bits() != 1.0_f64.to_bits())
                .then(|| format!("they take {} times as long", rules.time_scale)),
            Self::Prompts => rules.max_context_tokens.map(|most| format!("{} tokens are the most", count(most.into()))),
            Self::LongPauses => rules.idle_cap_s.map(|most| format!("the longest is {}", seconds(most))),
            Self::Duration => {
                let length_s = plan.window_end.since(plan.window_start).as_secs_f64();
                (length_s < f64::from(LEAST_S)).then(|| format!("it is {}", seconds(length_s)))
            }
            Self::Idle => {
                let idle = longest_idle(log);
                (idle > LONGEST_IDLE + LATE).then(|| format!("it was for {}", seconds(idle.as_secs_f64())))
            }
            Self::Marker => found(rules.salt != SaltScope::Session, "sessions have texts in common"),
            Self::Published => {
                let files = classes().filter_map(|class| class.prompt.dataset()?.found.as_ref());
                let other = files.map(|found| &found.sha256).find(|sha256| !PUBLISHED.contains(&sha256.as_str()));
                other.map(|sha256| format!("the file is another, of SHA-256 {sha256:.12}"))
            }
            Self::Start => match rules.start {
                Some(START) => None,
                Some([from, to]) => Some(format!("between {} and {}", percent(from), percent(to))),
                None => found(true, "at their beginning"),
            },
            Self::Primed if workload.cache != Some(CacheState::Primed) => found(true, "it was not primed"),
            Self::Primed => {
                let late = priming.filter(|priming| priming.late > 0)?;
                Some(format!("{} of {} were late", count(late.late), count(late.requests)))
            }
            Self::Failures => {
                let share = failed(&|_| true);
                (share > FAILURES).then(|| format!("they are {}", percent(share)))
            }
            Self::Overflows => {
                let exceeds = |message: &str| {
                    let message = message.to_lowercase();
                    OVERFLOW.iter().any(|words| message.contains(words))
                };
                let share = failed(&exceeds);
                (share > OVERFLOWS).then(|| format!("they are {}", percent(share)))
            }
            Self::Ending => {
                let ending = log.footer.as_ref().map(|footer| footer.ending);
                let is_whole = matches!(ending, Some(RunEnding::Finished | RunEnding::DrainLimit));
                found(!is_whole, "it was broken off")
            }
        }
    }
}

impl ScenarioFigures {
    /// Holds a run to the rules of its scenario. It is `None` of a run that has none.
    pub(super) fn from_log(log: &RunLog, priming: Option<PrimingFigures>) -> Option<Self> {
        let workload = &log.header.workload;
        let scenario = workload.scenario?;
        let rules = workload.classes.iter().find_map(RequestClass::session_rules).unwrap_or_default();
        let (mut kept, mut broken) = (Vec::new(), Vec::new());
        for rule in ScenarioRule::VARIANTS {
            match rule.broken(log, &rules, priming) {
                Some(found) => broken.push(format!("{} ({found})", rule.words())),
                None => kept.push(rule.words().to_owned()),
            }
        }
        Some(Self { scenario, kept, broken })
    }
}

/// The longest stretch of the window in which nothing was in flight.
fn longest_idle(log: &RunLog) -> Duration {
    let plan = &log.header.plan;
    let end = log.footer.as_ref().map_or(plan.window_end, |footer| footer.released_until);
    let mut busy: Vec<(Timestamp, Timestamp)> =
        log.records.iter().map(|record| (record.dispatched, record.ended)).collect();
    busy.sort_unstable();
    let (mut until, mut longest) = (plan.window_start, Duration::ZERO);
    for (from, to) in busy {
        longest = longest.max(from.min(end).since(until));
        until = until.max(to);
    }
    longest.max(end.since(until))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::test_runs::{record, run};

    #[test]
    fn the_longest_idle_stretch_is_inside_the_window() {
        let busy = [(10, 30), (20, 90), (400, 500)];
        let records = busy
            .into_iter()
            .zip(0..)
            .map(|((from, to), index)| record(index).sent_at(from, from, from).paced(to, 1, 1).usage(1, 1).build());
        let log = run(1_000, records.collect());
        assert_eq!(longest_idle(&log), Duration::from_millis(500));
        assert_eq!(ScenarioFigures::from_log(&log, None), None, "it has no scenario");
    }

    #[test]
    fn a_run_of_other_requests_breaks_the_rules_with_what_was_found() {
        let mut log = run(1_000, vec![record(0).sent_at(0, 0, 0).paced(10, 1, 1).usage(1, 1).build()]);
        log.header.workload.scenario = Some(Scenario::Agentx);
        let found = ScenarioFigures::from_log(&log, None).unwrap();
        assert_eq!(found.kept.len() + found.broken.len(), ScenarioRule::VARIANTS.len());
        for said in
            ["15 minutes at least (it is 1 s)", "sessions that are played as recorded (they arrive by themselves)"]
        {
            assert!(found.broken.iter().any(|broken| broken == said), "{said}: {found:?}");
        }
        for said in ["recorded pauses", "10 % failures at most", "pauses of any length"] {
            assert!(found.kept.iter().any(|kept| kept == said), "{said}: {found:?}");
        }
    }
}
