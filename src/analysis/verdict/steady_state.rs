//! The rule that the system had settled: a queue that grows makes every latency a function of how long one ran.

use super::table::{CheckedRun, GONE, RuleResult, ValidityRow, at_most, fails, not_tested, row};
use crate::analysis::figures::{Metric, Quantile};
use crate::analysis::judgements::Rule;
use crate::analysis::load::movement::{Movement, OVERLOAD};
use crate::analysis::load::served::LEAST_SERVED;
use crate::analysis::load::work::Work;
use crate::analysis::rules::Suppressor::{NothingRan, Smoke};
use crate::analysis::rules::{facts, filled};
use crate::analysis::summary::run::Summary;
use crate::record::RunEnding;
use crate::units::{counted, percent, seconds, three_digits};
use crate::workload::{Purpose, RateProfile};

/// Share of the mean by which the requests present may grow over the window. It is nothing, but for what rounding makes
/// of level figures and what matters to nobody in a run of millions.
const GROWTH_BAR: f64 = 0.01;
/// Share of requests that the drain limit may cut off. Fewer are stragglers, not a queue.
const LEFT_BAR: f64 = 0.01;
/// Share of the window that the median wait for a first token may take. It counts where growth cannot be judged.
const WAIT_BAR: f64 = 0.1;
/// Fewest requests that say anything of a queue.
const LEAST: u64 = 30;
const CURE: &str = "lower the rate until completions match arrivals; a longer run only grows the queue";

/// Cure where turns follow conversations that began before. Until as many end as begin, their number grows by itself.
const YOUNG: &str =
    "make --warmup as long as a conversation lasts, and run longer; if the load still grows, lower the rate";

/// Cure where requests queue before the user's own cap.
const CAPPED: &str = "requests waited for a slot under --max-concurrency, which the server never saw: raise it or \
    leave it out, or lower the rate";
/// Share of the mean time to an answer that is such a wait.
const OWN_WAIT: f64 = 0.25;

/// Chooses the cure for growth.
fn cure(summary: &Summary) -> &'static str {
    let mean = |metric| summary.latency.row(metric).and_then(|row| row.mean_ms);
    let own = mean(Metric::QueueWait).zip(mean(Metric::E2e)).is_some_and(|(wait, all)| wait > OWN_WAIT * all);
    match own {
        true => CAPPED,
        false if summary.sessions.is_some() => YOUNG,
        false => CURE,
    }
}

pub(super) const RULES: &[ValidityRow] = &[
    row(
        Rule::SteadyState,
        "the least of four, each as a multiple of its limit: growth of requests present (the lower end of its 95 % \
         interval; limit: 1 % of the mean); movement of latency (limit: that of an overload of 5 %); work offered in \
         the last two thirds of the window, as a multiple of the most that may have been done of it (95 %), and of \
         what would be done were so many more requests present as two more answers bring, or, where answers are short \
         beside the window, of that most ÷ 75 %",
        &[NothingRan, GONE, Smoke],
        |of| {
            let cut_off = fails(left(of).as_ref());
            if cut_off { not_tested("the durations of cut-off requests are unknown") } else { growth(of) }
        },
    ),
    row(
        Rule::SteadyState,
        "share of the requests that were still running when the run stopped waiting",
        &[NothingRan, GONE],
        left,
    )
    .says("{#} of {request} were still running when {} ({%}; limit: {%}): {}"),
    row(
        Rule::SteadyState,
        "requests that did not end in the window, as a share of those offered in it",
        &[NothingRan, GONE, Smoke],
        served,
    ),
    row(
        Rule::SteadyState,
        "median time to first token as a share of the window, under a rate that changes",
        &[NothingRan, GONE, Smoke],
        wait,
    )
    .says(
        "half of the requests waited at least {s} for their first token, {%} of the window of {s} (limit: {%}): a \
         queue that long depends on the length of the run",
    )
    .cure(CURE),
];

/// Judges a rate that changes, under which growth tells nothing. That half of the requests waited for a good part of
/// the window does.
fn wait(of: &CheckedRun<'_>) -> Option<RuleResult> {
    let summary = of.run;
    if summary.steady_state.is_some() || summary.run.arrival.rate_profile() == RateProfile::Level {
        return not_tested("tested only under a rate that changes, where growth proves nothing");
    }
    if summary.requests.executed() < LEAST {
        return not_tested("the window has fewer than 30 requests");
    }
    let window = &summary.window;
    let median = |metric| summary.latency.row(metric).map(|row| row.percentile(Quantile::P50).figure);
    let waited = median(Metric::Ttft);
    let written_s = median(Metric::E2e).zip(waited).map(|(e2e, ttft)| (e2e.at_least() - ttft.at_least()) / 1e3);
    if window.cooldown_requests == 0 && written_s.is_some_and(|written_s| written_s > window.length_s()) {
        let load = seconds(window.length_s());
        return not_tested(format!(
            "a burst: the load was over after {load}, before an answer of usual length could be complete"
        ));
    }
    let (Some(median), true) = (waited, summary.window.length_s() > 0.0) else {
        return not_tested("no request of the window has a time to first token");
    };
    let waited_s = median.at_least() / 1e3;
    let share = waited_s / summary.window.length_s();
    at_most(share, WAIT_BAR, facts![waited_s, share, summary.window.length_s(), WAIT_BAR])
}

/// Compares what ended with what was offered, however little latency says. Who completes much less than is offered
/// cannot keep up.
///
/// Answers that take as long as the window are no overload: see [`Served`](crate::analysis::load::served::Served).
fn served(of: &CheckedRun<'_>) -> Option<RuleResult> {
    let summary = of.run;
    let Some(served) = summary.served.filter(|served| served.offered > 0) else {
        return not_tested("only an open load that outlasts its answers offers more than ends");
    };
    let (share, window_s) = (served.share(), summary.window.length_s());
    let sentence = filled(
        "{request} ended in the window of {s}, {%} of the {#} that were offered (limit: {%}); {#} would have, had \
         answers stayed nearly as quick as the first tenth ({s})",
        facts![served.ended, window_s, share, served.offered, LEAST_SERVED, served.expected, served.first_s],
    );
    let said = || [left, growth, wait].iter().any(|test| fails(test(of).as_ref()));
    match (share < LEAST_SERVED, served.is_surely_short()) {
        (true, false) => not_tested(format!("{sentence}: too close to tell")),
        (true, true) if said() => not_tested(format!("{sentence}: another check says that it did not keep up")),
        (is_short, _) => {
            let behind = if is_short { "the system did not keep up: " } else { "" };
            let missing = (1.0 - share).max(0.0);
            at_most(missing, 1.0 - LEAST_SERVED, facts![format!("{behind}{sentence}"), cure(summary)])
        }
    }
}

/// Judges growth by three signs. Requests present surely grow. Latency moves further than an overload of 5 % may move
/// it at the least ([`Movement`](crate::analysis::load::movement::Movement)). The server does surely less work than is
/// offered, which more requests present would not change ([`Work`](crate::analysis::load::work::Work)).
///
/// None alone is an overload: where more requests come by chance than were to arrive, they wait, although the
/// server works faster than they were to come; and a load that is new grows, on any server. A latency that
/// moves less rules an overload out, and the run is steady. What is neither is a warning: see [`unclear`].
///
/// How often each happens is in `skyline guide validity`; `tests/library/verdict.rs` counts it.
fn growth(of: &CheckedRun<'_>) -> Option<RuleResult> {
    let summary = of.run;
    if summary.run.load.is_closed() {
        return not_tested("in a closed loop only its users wait, so growth is not a queue");
    }
    let Some(state) = &summary.steady_state else {
        return not_tested(
            "not enough data for a test of steady state: the window has fewer than 30 requests, or fewer than 6 whole \
             periods of a rate that changes",
        );
    };
    let Some(grew) = state.present.least_share() else {
        return not_tested("no request was present in the window");
    };
    let Movement { std_ms, overload_std_ms, .. } = state.movement;
    let Work { share, at_most: most_done, offered_to_more, behind } = state.work;
    let value = (grew / GROWTH_BAR).min(std_ms / overload_std_ms).min(1.0 / most_done).min(behind);
    let sentence = if value > 1.0 {
        let [from, to] = state.present.ends.map(three_digits);
        let [fast, slow] = state.answer_ms.ends.map(|ms| seconds(ms / 1e3));
        let [share, at_most] = [share, most_done].map(percent);
        let however_many =
            if offered_to_more > 1.0 { ", and more requests at once would not raise it enough" } else { "" };
        format!(
            "the system did not keep up: over the window of {} the requests waiting or in flight grew from {from} to \
             {to}, the time to an answer of mean length from {fast} to {slow}; in its last two thirds {share} of the \
             work that was offered was done, surely under {at_most}{however_many}; these latencies depend on the \
             length of the run",
            seconds(summary.window.length_s()),
        )
    } else {
        let found =
            if state.movement.is_steady() { "the system kept up" } else { "nothing shows whether the system kept up" };
        format!("{found}: {}", moved(&state.movement))
    };
    at_most(value, 1.0, facts![sentence, cure(summary)])
}

/// How far the latency moved, beside what an overload does to it.
fn moved(movement: &Movement) -> String {
    let [by, limit] = [movement.std_ms, movement.overload_std_ms].map(|ms| seconds(ms / 1e3));
    format!("latency varied by ±{by}; under an overload of {} it may vary by only ±{limit}", percent(OVERLOAD))
}

/// Returns the reason why the data do not tell an overload from chance. It says what would tell. The reason is too few
/// requests, or a latency that moved as it may under an overload. `None` where the data do tell.
pub(crate) fn unclear(summary: &Summary) -> Option<(String, String)> {
    let requests = summary.requests.executed();
    if summary.run.load.is_closed()
        || summary.run.arrival.rate_profile() == RateProfile::Changing
        || summary.window.cut_short
        || summary.verdict.breaks(Rule::SteadyState)
        || summary.run.purpose == Purpose::Smoke
        || requests == 0
    {
        return None;
    }
    let Some(state) = &summary.steady_state else {
        let few = format!("it holds {}, and {LEAST} would show it", counted(requests, "request"));
        let cure = "run longer: four times the length halves the uncertainty";
        return match summary.run.arrival.rate_profile() {
            _ if requests < LEAST => Some((few, cure.to_owned())),
            RateProfile::Periodic(period_s) => {
                let why = "it holds fewer than 6 whole periods with 5 requests in each".to_owned();
                Some((why, format!("run for at least {}", seconds(6.0 * period_s))))
            }
            RateProfile::Level | RateProfile::Changing => None,
        };
    };
    let longer = || {
        let window = seconds(state.movement.telling_window_s);
        format!("run longer: a window of {window} should tell")
    };
    (!state.movement.is_steady()).then(|| (moved(&state.movement), longer()))
}

/// The drain limit came before the queue was worked off.
fn left(of: &CheckedRun<'_>) -> Option<RuleResult> {
    let summary = of.run;
    let (left, requests) = (summary.requests.censored, summary.requests.executed());
    let (stopped, so, cure) = match summary.window.ending {
        Some(RunEnding::DrainLimit) => (
            "the drain limit ended",
            "the system did not keep up, and these latencies depend on the length of the run",
            "lower the rate until completions match arrivals; if single answers take longer than the drain limit, \
             raise --drain",
        ),
        // Before the window was over another rule has said so.
        Some(RunEnding::Interrupted) if !summary.window.cut_short => (
            "the run was interrupted",
            "their full duration is unknown",
            "interrupt once only: answers in flight are then awaited",
        ),
        Some(RunEnding::Interrupted | RunEnding::Finished | RunEnding::Aborted) | None => {
            return not_tested("no request of the window was cut off");
        }
    };
    let share = left as f64 / requests.max(1) as f64;
    at_most(share, LEFT_BAR, facts![left, requests, stopped, share, LEFT_BAR, so, cure])
}

#[cfg(test)]
mod tests {
    use crate::analysis::judgements::{Finding, FindingKind, Rule, Status};
    use crate::analysis::summarise::summarise;
    use crate::analysis::summary::run::Summary;
    use crate::analysis::test_runs::{record, run};
    use crate::record::{RunLog, Shard};
    use crate::workload::ArrivalPattern;

    fn doubt(summary: &Summary) -> Option<&Finding> {
        summary.findings.iter().find(|finding| finding.kind == FindingKind::CannotTell)
    }

    /// A minute of 12 requests a second before a server of 10 a second.
    fn falling_behind() -> RunLog {
        let records = (0..720).map(|i| {
            let at = i * 83;
            record(i).sent_at(at, at, at).paced((i + 1) * 100, 1, 1).build()
        });
        run(60_000, records.collect())
    }

    #[test]
    fn a_crowd_that_was_not_to_be_expected_is_no_overload() {
        let mut log = falling_behind();
        assert!(summarise(&log, &[]).verdict.breaks(Rule::SteadyState));
        // As many left as were to arrive.
        log.header.workload.arrival = ArrivalPattern::Constant { rate_per_s: 10.0 };
        let summary = summarise(&log, &[]);
        assert!(!summary.verdict.breaks(Rule::SteadyState) && doubt(&summary).is_some());
        // Of a shard nobody knows how many were to arrive.
        log.header.shard = Some(Shard { number: 1, of: 2 });
        assert!(summarise(&log, &[]).verdict.breaks(Rule::SteadyState));
    }

    #[test]
    fn growth_that_moves_latency_less_than_an_overload_would_is_none() {
        // From 1 s to 1.6 s within a minute: both grow, and fewer leave than come.
        let records =
            (0..600).map(|i| record(i).sent_at(i * 100, i * 100, i * 100).paced(i * 101 + 1_000, 1, 1).build());
        let summary = summarise(&run(60_000, records.collect()), &[]);
        let state = summary.steady_state.as_ref().unwrap();
        let check = summary.verdict.checks.iter().find(|check| check.rule == Rule::SteadyState).unwrap();
        assert!((state.movement.std_ms - 173.0).abs() < 1.0, "{state:?}");
        assert_eq!(check.value, Some(state.movement.std_ms / state.movement.overload_std_ms));
        assert_eq!(check.outcome, Status::Met);
    }

    #[test]
    fn a_latency_that_varies_as_under_an_overload_tells_nothing_yet() {
        // Every other 6 s take `more` ms longer. 600 regular arrivals in a minute walk by 1.22 s and drift by
        // 3 s, 2.45 steps: an overload moves them by 331 ms at the least, and in two minutes by 791 ms.
        let wave = |more: u64| {
            let records = (0..600).map(|i| {
                let (at, stay) = (i * 100, 1_000 + i / 60 % 2 * more);
                record(i).sent_at(at, at, at).paced(at + stay, 1, 1).build()
            });
            summarise(&run(60_000, records.collect()), &[])
        };
        let calm = wave(600);
        assert!(!calm.verdict.breaks(Rule::SteadyState) && doubt(&calm).is_none(), "{:?}", calm.findings);
        let state = calm.steady_state.unwrap();
        assert!((state.movement.std_ms - 300.0).abs() < 1.0, "{state:?}");
        assert!((state.movement.overload_std_ms - 331.0).abs() < 2.0, "{state:?}");
        let unclear = wave(800);
        assert!(!unclear.verdict.breaks(Rule::SteadyState), "{:?}", unclear.verdict.reasons);
        let found = doubt(&unclear).unwrap();
        assert!(
            found.sentence.starts_with("a window of 1 min does not show whether the server kept up: ")
                && found.sentence.contains("varied by ±400 ms"),
            "{}",
            found.sentence
        );
        assert!(found.cure.ends_with("a window of 2 min should tell"), "{}", found.cure);
    }
}
