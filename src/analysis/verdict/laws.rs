//! The rules of operational analysis: Little's law, and the interactive law of a closed loop.

use super::table::{CheckedRun, NOT_ASKED, RuleResult, ValidityRow, at_most, not_tested, row};
use crate::analysis::judgements::Rule;
use crate::analysis::load::closed_loop::ClosedLoop;
use crate::analysis::rules::facts;
use crate::clock::Timestamp;
use crate::record::{Outcome, Phase, RequestRecord, RunLog};
use crate::units::{percent, seconds};

/// Distance by which the two sides of a law may lie apart. It is a share of L, or of N. [`NOTICE_S`] and [`ERRORS`]
/// allow more.
const BAR: f64 = 0.01;
/// Distance in seconds by which the sides may lie apart for each request. It is what lies between an answer's last byte
/// and the run taking note of it.
const NOTICE_S: f64 = 0.002;
/// A larger limit than this share would test nothing.
const LARGEST_BAR: f64 = 0.5;
/// Standard errors of the think times drawn by which the sides may lie apart. They count for users.
const ERRORS: f64 = 3.0;

pub(super) const RULES: &[ValidityRow] = &[
    row(Rule::LittlesLaw, "|L − λW| / L", NOT_ASKED, littles_law)
        .says(
            "Little's law: {} requests were present on average; {} a second of {} s each, corrected for those that \
             straddle the window's ends, account for {}: {%} apart; limit: {%}",
        )
        .cure(
            "do not use these figures: records are missing, duplicated or wrong; keep the log complete and run again",
        ),
    row(Rule::InteractiveLaw, "|N − X (R + Z)| / N", NOT_ASKED, interactive_law)
        .says(
            "interactive response time law: {} users; {} requests a second of {} s each with {} s of think time after \
             each, corrected for those that straddle the window's ends, account for {}: {%} apart; limit: {%}",
        )
        .cure(
            "do not use these figures: records are missing or duplicated, or users did not send when they should have; \
             keep the log complete and run again",
        ),
];

/// Returns the time for each request that the sides may lie apart, seconds. It is [`NOTICE_S`] or, where that is
/// longer, the largest mean delay that the percentiles of its event loop allow.
fn notice_s(log: &RunLog) -> f64 {
    let delay = log.footer.as_ref().and_then(|footer| footer.client.as_ref()?.loop_delay);
    NOTICE_S.max(delay.map_or(0.0, |delay| delay.largest_mean_ns() / 1e9))
}

/// L against λW (Little, *Operations Research* 9, 1961, 383–387).
///
/// **L** is counted by the run: it adds up, as requests come and go, how long each was there inside the window, and
/// looks at no record for it. (A run without that sum, such as one in virtual time, is judged by its records' moments
/// of dispatch and end.) **λ** is the plan's: its requests due in the window per second, with the later turns of
/// sessions that the run counted as it let them go. **W** is what the records
/// say of them: from the scheduled moment, in a closed loop too, to the last token, with the time that the
/// stream took to close after it; a request without an answer counts from its dispatch to its end. So the two
/// sides share neither counts nor stamps: records that were lost or doubled, a phase or a moment that is
/// wrong, a wait that no latency shows, all set them apart.
///
/// Over a finite window the law holds up to those who straddle its ends (Little 2011, *Operations Research* 59,
/// 536–549, eq. 2). Their parts are known: what requests of the warm-up still stayed in the window is added, what the
/// window's stayed after it is taken off, and what cool-down requests had in it is added: users of a closed
/// loop of so many requests go on before its last one is sent. What is left needs no allowance for chance, so
/// the limit is 1 % without standard errors; each request is allowed 2 ms (more where this machine was busy),
/// and its schedule lag, of the time that all were in the window. Of a burst that is over at once it is most
/// of that time: the law is then not tested.
fn littles_law(of: &CheckedRun<'_>) -> Option<RuleResult> {
    let observed = of.observed;
    if observed.cut_short {
        return not_tested("the run ended before its window did");
    }
    let counted = observed.log.footer.as_ref().and_then(|footer| footer.present_ns);
    let records = observed.log.records.iter();
    let by_records = || records.map(|record| observed.seconds_inside(record.dispatched, record.ended)).sum::<f64>();
    let present = counted.map_or_else(by_records, |nanos| nanos as f64 / 1e9);
    let length = observed.length().as_secs_f64();
    let requests = observed.requests.len();
    if present <= 0.0 || length <= 0.0 || requests == 0 {
        return not_tested("no request was present in the window");
    }
    let (mut stayed, mut after, mut beside, mut lag) = (0.0, 0.0, 0.0, 0.0);
    for record in observed.log.records.iter() {
        let (from, to) = stay(&record);
        match record.phase {
            Phase::Measured => {
                stayed += to.since(from).as_secs_f64();
                after += to.since(from.max(observed.end)).as_secs_f64();
                lag += record.dispatched.since(record.scheduled).as_secs_f64();
            }
            Phase::Warmup | Phase::Cooldown => beside += observed.seconds_inside(from, to),
        }
    }
    // Each request that was planned counts once, however many records it has.
    let planned = observed.planned() as f64;
    let each = (stayed - after) / requests as f64;
    let (l, lambda_w) = (present / length, (planned * each + beside) / length);
    let apart = (l - lambda_w).abs() / l;
    let mean_stay = stayed / requests as f64;
    // W counts the pacer's lag, L does not: another rule judges it.
    let bar = BAR.max((notice_s(observed.log) * requests as f64 + lag) / present);
    if bar > LARGEST_BAR {
        return not_tested(format!(
            "Little's law: requests were in the window for {} each, and when they left and ended is uncertain by {} of \
             that: nothing is left to test",
            seconds(present / requests as f64),
            percent(bar)
        ));
    }
    at_most(apart, bar, facts![l, planned / length, mean_stay, lambda_w, apart, bar])
}

/// Returns from when to when a request stayed, by what is reported of it.
fn stay(record: &RequestRecord) -> (Timestamp, Timestamp) {
    let last = record.chunks.last_at().or(record.whole_answer);
    match last.filter(|_| record.outcome == Outcome::Completed) {
        Some(last) => {
            let closing = record.ended.since(last);
            (record.scheduled, record.scheduled.after(last.since(record.scheduled)).after(closing))
        }
        None => (record.dispatched, record.ended),
    }
}

/// N against X (R + Z), see [`ClosedLoop`]; `None` where the load is not closed.
///
/// N and Z are what the workload declares, X and R what the records say. A user who was forgotten, a record
/// that was lost or doubled, a think time that was not kept all set them apart.
fn interactive_law(of: &CheckedRun<'_>) -> Option<RuleResult> {
    let closed = of.run.closed_loop.as_ref()?;
    if of.run.window.cut_short {
        return not_tested("the run ended before its window did");
    }
    let ClosedLoop {
        users_begun,
        think_time_s: Some(think),
        throughput_per_s: Some(throughput),
        response_s: Some(response),
        accounted_users: Some(accounted),
        accounted_error: Some(error),
        ..
    } = *closed
    else {
        return not_tested("no request ended in the window");
    };
    let apart = (users_begun - accounted).abs() / users_begun;
    let bar = BAR.max((ERRORS * error + throughput * notice_s(of.observed.log)) / users_begun);
    at_most(apart, bar, facts![users_begun, throughput, response, think, accounted, apart, bar])
}
