//! The rules on planned requests: all accounted for, the run whole, failures rare.

use super::table::{CheckedRun, GONE, NOT_ASKED, RAN, RuleResult, ValidityRow, at_most, not_tested, row};
use crate::analysis::judgements::Rule;
use crate::analysis::rules::Suppressor::NothingRan;
use crate::analysis::rules::facts;
use crate::analysis::server::settings::keep_alive;
use crate::analysis::slo::objective::Objective;
use crate::analysis::summary::run::Summary;
use crate::record::{FailureKind, PlanCheck, RunEnding};
use crate::units::{count, counted, seconds};

/// Largest share of failed requests in a valid run that declares no objective on it.
pub(crate) const ERROR_RATE_BAR: f64 = 0.01;
/// Largest share of requests that may be sent twice.
const SENT_TWICE_BAR: f64 = 0.01;

pub(super) const RAN_AT_ALL: &[ValidityRow] = &[row(Rule::MeasuredRequests, "no request run: 1, some: 0", &[], |of| {
    let counts = &of.run.requests;
    let sentence = match counts.executed() {
        0 => format!("no request of the window was run; {} were planned", count(counts.planned)),
        sent => format!("{} of the window were run", counted(sent, "request")),
    };
    let cure = match of.run.window.ending {
        Some(RunEnding::Interrupted) => "let the run finish".to_owned(),
        _ => format!("run longer, {}, or with a shorter warm-up", of.run.run.load.more_load()),
    };
    at_most(yes(counts.executed() == 0), 0.0, facts![sentence, cure])
})];

pub(super) const RULES: &[ValidityRow] = &[
    row(Rule::WholeWindow, "window cut short: 1, whole: 0", &[], |of| whole_window(of.run)),
    // Nothing is said of a log that is as it was written.
    row(Rule::WholeLog, "places at which the log is not as it was written", &[], |of| {
        at_most(of.run.log_damage.faults as f64, 0.0, facts![of.run.log_damage.warning()?])
    })
    .cure("the figures cover only what could be read: use a copy of the log that is not damaged, or run again"),
    row(Rule::Conservation, "planned requests without a record, or records without a plan", &[], |of| {
        conservation(of.run)
    }),
    row(Rule::Plan, "records, and facts of the header, that are not the plan's", &[], plan),
    row(Rule::SomethingCompleted, "no request completed: 1, some: 0", &[NothingRan, GONE], |of| {
        something_completed(of.run)
    }),
    row(Rule::ErrorRate, "share of failed requests", &[NothingRan, GONE], error_rate)
        .says("{%} of the requests failed ({#} of {#}); limit: {%}")
        .cure("{}; if failures are expected, allow them with --objective \"error_rate < 5%\""),
    // Requests that were sent twice, which a server may have had twice.
    row(Rule::SentTwice, "share of requests that were sent twice", RAN, |of| {
        let (twice, all) = (of.run.requests.resent, of.run.requests.executed());
        let share = twice as f64 / all.max(1) as f64;
        // One may meet a close in any run.
        let over = if twice == 1 { 0.0 } else { share };
        let facts = facts![share, twice, all, SENT_TWICE_BAR, keep_alive(&of.run.run.engine)];
        at_most(over, SENT_TWICE_BAR, facts).filter(|_| twice > 0)
    })
    .says(
        "{%} of the requests ({#} of {#}) were sent twice: the server closed their idle connection as they came, and \
         may have had them; limit: {%}, or one request",
    ),
    row(Rule::PlannedArrivals, "arrivals", NOT_ASKED, |of| {
        Some(RuleResult::Checks(of.run.arrivals.checks(&of.run.run.arrival)))
    }),
];

/// Returns one where it is so, else none.
fn yes(is_so: bool) -> f64 {
    f64::from(u8::from(is_so))
}

fn whole_window(run: &Summary) -> Option<RuleResult> {
    let window = &run.window;
    let (after, planned) = (seconds(window.end_s), seconds(window.planned_end_s));
    let sentence = match (window.cut_short, window.ending) {
        (false, Some(_)) => format!("the run reached the end of its window at {planned}"),
        (false, None) => match run.requests.in_flight {
            0 => "the log ends before its run did".to_owned(),
            open => format!("the log ends before its run did: {} had no end yet", counted(open, "request")),
        },
        (true, ending) => {
            let what = run
                .aborted()
                .unwrap_or_else(|| ending.map_or("the log ends", |_| "the run was interrupted").to_owned());
            // Where its requests end it, no end was planned.
            if window.planned_end_s <= window.end_s {
                format!("{what} after {after}, before its last request")
            } else {
                format!("{what} after {after}, before the end of its window at {planned}")
            }
        }
    };
    let cure = match failure_cure(run).filter(|_| run.breaker.is_some()) {
        Some(cure) => cure,
        None if run.breaker.is_some() => {
            "look at the server's log, or lower the load; --abort-on none runs it to its end"
        }
        None => "let the run finish; the figures cover only what was run",
    };
    at_most(yes(window.cut_short || window.ending.is_none()), 0.0, facts![sentence, cure])
}

fn conservation(run: &Summary) -> Option<RuleResult> {
    let counts = &run.requests;
    let window =
        Part { planned: counted(counts.planned, "planned request"), lost: counts.unrecorded, added: counts.unplanned };
    let warm_up = Part {
        planned: counted(run.window.warmup_requests, "planned warm-up request"),
        lost: counts.warmup_unrecorded,
        added: counts.warmup_unplanned,
    };
    let value = [&window, &warm_up].map(|part| part.lost + part.added).iter().sum::<u64>() as f64;
    let known = &run.unrecorded_requests;
    let (of_warm_up, of_window) = known.split_at(known.len().min(counts.warmup_unrecorded as usize));
    let fault = window.fault(of_window).or_else(|| warm_up.fault(of_warm_up));
    let (sentence, cure) =
        fault.unwrap_or_else(|| (format!("{}: each that came due has one record", window.planned), ""));
    at_most(value, 0.0, facts![sentence, cure])
}

/// A part of the run, and how its records stand to its plan.
struct Part {
    /// The plan, in words.
    planned: String,
    /// Planned requests without a record.
    lost: u64,
    /// Records without a plan.
    added: u64,
}

impl Part {
    /// Says what is wrong with the part, and the cure. `None` if nothing is. Some of the lost requests are known by
    /// their indices.
    fn fault(&self, known: &[u64]) -> Option<(String, &'static str)> {
        let Self { planned, lost, added } = self;
        if *added > 0 {
            let sentence = format!("the log has {} more than the {planned}; limit: none", counted(*added, "record"));
            return Some((sentence, "check that no log was merged into itself"));
        }
        let which = if known.is_empty() { String::new() } else { format!(" ({})", spans(known)) };
        let sentence = format!("{} of {planned} left no record{which}; limit: none", count(*lost));
        let cure = "keep the log complete (is the disk full?), free up CPU on this machine, and run again";
        (*lost > 0).then_some((sentence, cure))
    }
}

/// Spans of indices that are named.
const NAMED: usize = 4;

/// The indices of requests in words, neighbours together: `requests 3, 7 to 9, 12`.
fn spans(indices: &[u64]) -> String {
    let mut spans = indices.chunk_by(|a, b| a + 1 == *b).map(|span| match span {
        [one] => one.to_string(),
        span => format!("{} to {}", span[0], span[span.len() - 1]),
    });
    let named: Vec<_> = spans.by_ref().take(NAMED).collect();
    let more = if spans.next().is_some() { " …" } else { "" };
    let noun = if indices.len() == 1 { "request" } else { "requests" };
    format!("{noun} {}{more}", named.join(", "))
}

/// The result of checking the records against their plan.
fn plan(of: &CheckedRun<'_>) -> Option<RuleResult> {
    match of.observed.log.plan_check.as_ref()? {
        PlanCheck::NotChecked(why) => not_tested(format!("the plan was not checked: {why}")),
        PlanCheck::Held { records, unchecked } => {
            let held = format!("{} agree with the plan, drawn again from the header", counted(*records, "record"));
            let sentence = match unchecked.as_slice() {
                [] => held,
                unchecked => format!("{held}; not checked: {}", unchecked.join(", ")),
            };
            at_most(0.0, 0.0, facts![sentence, ""])
        }
        PlanCheck::Differs { number, first } => {
            let more = number.saturating_sub(first.len() as u64);
            let more = if more > 0 { format!("; and {} more", count(more)) } else { String::new() };
            let sentence = format!("the log is not that of its plan: {}{more}; limit: no difference", first.join("; "));
            let cure = "do not use these figures: the log was changed after the run; use a copy that was not, or run \
                again";
            at_most(*number as f64, 0.0, facts![sentence, cure])
        }
    }
}

fn something_completed(run: &Summary) -> Option<RuleResult> {
    let counts = &run.requests;
    let requests = counted(counts.executed(), "request");
    if counts.completed > 0 {
        let sentence = format!("{} of {requests} completed", count(counts.completed));
        return at_most(0.0, 0.0, facts![sentence, ""]);
    }
    let example = run.failures.kinds.first();
    let example = example.map(|kind| format!("; the most frequent failure is {}: {}", kind.kind, kind.example));
    let sentence = format!(
        "none of {requests} completed: {} failed, {} censored{}",
        count(counts.failed),
        count(counts.censored),
        example.unwrap_or_default()
    );
    let cure = match (counts.failed, failure_cure(run)) {
        (0, _) => {
            let less = run.run.load.less_load();
            format!("{less}, or raise --drain: no answer was complete before the run stopped waiting")
        }
        (_, Some(cure)) => cure.to_owned(),
        _ => "try one request by hand against the same address, then run again".to_owned(),
    };
    at_most(1.0, 0.0, facts![sentence, cure])
}

fn error_rate(of: &CheckedRun<'_>) -> Option<RuleResult> {
    let run = of.run;
    if of.objectives.iter().any(Objective::is_about_error_rate) {
        return not_tested("an objective says how many failures are expected");
    }
    let Some(rate) = run.failures.error_rate.filter(|_| run.requests.completed > 0) else {
        return not_tested("no request completed");
    };
    let less = run.run.load.less_load();
    let cure = failure_cure(run).map_or_else(|| format!("{less} or fix the cause of the failures"), str::to_owned);
    at_most(rate, ERROR_RATE_BAR, facts![rate, run.requests.failed, run.slo.scheduled, ERROR_RATE_BAR, cure])
}

/// Cure of the most frequent failure, where its kind says where the cause is.
pub(crate) fn failure_cure(summary: &Summary) -> Option<&'static str> {
    match summary.failures.kinds.first()?.kind {
        FailureKind::Internal => Some("this is a bug in skyline: please report it"),
        FailureKind::HttpStatus(502 | 504) => Some("look at the log of the gateway before the server"),
        kind if kind.is_timeout() => Some("raise this client's limit (--timeout and its like), or lower the rate"),
        FailureKind::HttpStatus(401 | 403) if summary.requests.completed > 0 => Some(
            "the server stopped taking the key during the run: look at whether it expired, was revoked or used up its \
             quota; less load does not help",
        ),
        FailureKind::HttpStatus(401 | 403) => Some("the server refuses the key: check it (--api-key-env)"),
        FailureKind::HttpStatus(402) => Some("the server asks for payment: look at the account of the key"),
        FailureKind::HttpStatus(400 | 404 | 405 | 413 | 422) => {
            Some("the server refuses what these requests are, not how many: read its words")
        }
        FailureKind::ClientLimit => {
            Some("raise this machine's limits (`ulimit -n`, net.ipv4.ip_local_port_range), or send from more machines")
        }
        _ => None,
    }
}
