//! Judges a run, first by what became of the planned requests: all accounted for, the run whole, failures rare.

use super::check::{Check, CheckOutcome, Measure, Rule, Verdict, VerdictOutcome};
use super::{client, laws, server, stamps, steady_state, tokens};
use crate::analysis::requests::observed::Observed;
use crate::analysis::rules::Suppressor::{NothingRan, Reason, Smoke};
use crate::analysis::rules::{RuleRow, Suppressor};
use crate::analysis::server::settings::keep_alive;
use crate::analysis::slo::objective::Objective;
use crate::analysis::summary::run::Summary;
use crate::record::{FailureKind, PlanCheck, RunEnding};
use crate::units::{count, counted, percent, seconds};

type Test = fn(&Observed<'_>, &Summary, &[Objective]) -> Vec<Check>;
type Row = RuleRow<Rule, Test>;

const fn row(rule: Rule, test: Test, suppressed_by: &'static [Suppressor]) -> Row {
    Row::new(rule, "validity", test, suppressed_by)
}

/// Runs without a request, of which there is nothing to say, and those of which nobody asked how long answers take.
const NOT_ASKED: &[Suppressor] = &[NothingRan, Smoke];

/// The rules, first whether the planned requests ran. A server that is gone comes before what it breaks.
const RULES: &[Row] = &[
    row(Rule::MeasuredRequests, |_, run, _| vec![measured_requests(run)], &[]),
    row(Rule::ServerStayed, |observed, _, _| vec![server::stayed(observed)], &[NothingRan]),
    row(Rule::WholeWindow, |_, run, _| vec![whole_window(run)], &[]),
    row(Rule::WholeLog, |_, run, _| whole_log(run).into_iter().collect(), &[]),
    row(Rule::Conservation, |_, run, _| vec![conservation(run)], &[]),
    row(Rule::Plan, |observed, _, _| observed.log.plan_check.iter().map(plan).collect(), &[]),
    row(Rule::SomethingCompleted, |_, run, _| vec![something_completed(run)], &[NothingRan, GONE]),
    row(Rule::ErrorRate, |_, run, objectives| vec![error_rate(run, objectives)], &[NothingRan, GONE]),
    row(Rule::SentTwice, |_, run, _| sent_twice(run).into_iter().collect(), &[NothingRan]),
    row(Rule::PlannedArrivals, |_, run, _| run.arrivals.checks(&run.run.arrival), NOT_ASKED),
    row(Rule::ScheduleLag, |_, run, _| vec![client::lag_check(run)], NOT_ASKED),
    row(Rule::ScheduleLag, |observed, _, _| stamps::handed_over(observed).into_iter().collect(), NOT_ASKED),
    row(Rule::Stamps, |observed, _, _| vec![stamps::check(observed)], NOT_ASKED),
    row(Rule::StreamsWhole, |observed, _, _| vec![stamps::held_back(observed)], NOT_ASKED),
    row(Rule::LittlesLaw, |observed, _, _| vec![laws::littles_law(observed)], NOT_ASKED),
    row(Rule::InteractiveLaw, |of, run, _| laws::interactive_law(of, run).into_iter().collect(), NOT_ASKED),
    row(Rule::SteadyState, |_, run, _| steady_state::checks(run), &[NothingRan, GONE]),
    row(Rule::TokenIdentity, |observed, _, _| tokens::checks(observed), &[NothingRan]),
    row(Rule::ClientStarved, |_, run, _| vec![client::loop_busy(run), client::read_delay(run)], NOT_ASKED),
    row(Rule::ClientStarved, |_, run, _| vec![client::files_and_ports(run)], &[NothingRan]),
    row(Rule::HostStalls, |_, run, _| vec![client::stall_check(run)], NOT_ASKED),
];

/// A server that is gone breaks the rule too, and the reason has said so.
const GONE: Suppressor = Reason(Rule::ServerStayed);

/// Judges a run by what it is for. Where an objective is about the error rate, it takes the place of the limit here.
pub(crate) fn judge(observed: &Observed<'_>, summary: &Summary, objectives: &[Objective]) -> Verdict {
    let ask = |row: &Row| Some((row.test)(observed, summary, objectives));
    // A reason silences reasons, below, and no check.
    let speaks = |by: Suppressor, _: &[_]| !matches!(by, Reason(_)) && by.speaks_of(summary);
    let judged = Row::judge(RULES, speaks, ask);
    let mut checks: Vec<Check> = judged.into_iter().flat_map(|(_, checks)| checks).collect();
    // A stop is the cause of what was late.
    if checks.last().is_some_and(client::is_stop) {
        checks.rotate_right(1);
    }
    let failed = || checks.iter().filter(|check| check.outcome == CheckOutcome::Failed);
    let spoke = |by: &Suppressor| failed().any(|check| *by == Reason(check.rule));
    let silenced = |rule| RULES.iter().any(|row| row.id == rule && row.suppressed_by.iter().any(spoke));
    let reasons = failed().filter(|check| !silenced(check.rule));
    Verdict::new(reasons.map(|check| check.reason(blame(check.rule, summary))).collect(), checks)
}

/// What a broken rule makes of the run. The server is to blame for a queue that grows, for failures that come
/// of load, and where a breaker cut the window short: what it found is judged by the other rules. What
/// somebody stopped shows no queue.
fn blame(rule: Rule, summary: &Summary) -> VerdictOutcome {
    let failures = &summary.failures;
    let of_load = [failures.reject_rate, failures.timeout_rate].into_iter().flatten().sum::<f64>();
    match (rule, failures.error_rate) {
        (Rule::SteadyState, _) if summary.window.ending != Some(RunEnding::Interrupted) => {
            VerdictOutcome::Overloaded
        }
        (Rule::WholeWindow, _) if summary.breaker.is_some() => VerdictOutcome::Overloaded,
        (Rule::ErrorRate, Some(rate)) => of_failures(rate - of_load),
        _ => VerdictOutcome::Invalid,
    }
}

/// Outcome of too many failures: a run is OVERLOADED where the `others`, neither a refusal
/// (429, 503) nor a timeout, would be rare enough.
pub(crate) fn of_failures(others: f64) -> VerdictOutcome {
    if others <= ERROR_RATE_BAR { VerdictOutcome::Overloaded } else { VerdictOutcome::Invalid }
}

/// Largest share of failed requests in a valid run that declares no objective on it.
pub(crate) const ERROR_RATE_BAR: f64 = 0.01;
/// Largest share of requests that may be sent twice.
const SENT_TWICE_BAR: f64 = 0.01;

fn measured_requests(summary: &Summary) -> Check {
    let counts = &summary.requests;
    let sentence = match counts.executed() {
        0 => format!("no request of the window was run; {} were planned", count(counts.planned)),
        sent => format!("{} of the window were run", counted(sent, "request")),
    };
    let measure = Measure::new(Rule::MeasuredRequests, "no request run: 1, some: 0");
    let empty = f64::from(u8::from(counts.executed() == 0));
    let cure = match summary.window.ending {
        Some(RunEnding::Interrupted) => "let the run finish",
        _ => "run longer, at a higher rate, or with a shorter warm-up",
    };
    measure.at_most(empty, 0.0, sentence, cure)
}

fn whole_window(summary: &Summary) -> Check {
    let window = &summary.window;
    let (after, planned) = (seconds(window.end_s), seconds(window.planned_end_s));
    let sentence = match (window.cut_short, window.ending) {
        (false, Some(_)) => format!("the run reached the end of its window at {planned}"),
        (false, None) => match summary.requests.in_flight {
            0 => "the log ends before its run did".to_owned(),
            open => format!("the log ends before its run did: {} had no end yet", counted(open, "request")),
        },
        (true, ending) => {
            let what = summary
                .aborted()
                .unwrap_or_else(|| ending.map_or("the log ends", |_| "the run was interrupted").to_owned());
            // Where its requests end it, no end was planned.
            let is_open = window.planned_end_s <= window.end_s;
            let before = if is_open {
                "its last request".to_owned()
            } else {
                format!("the end of its window at {planned}")
            };
            format!("{what} after {after}, before {before}")
        }
    };
    let measure = Measure::new(Rule::WholeWindow, "window cut short: 1, whole: 0");
    let short = f64::from(u8::from(window.cut_short || window.ending.is_none()));
    let cure = match failure_cure(summary).filter(|_| summary.breaker.is_some()) {
        Some(cure) => cure,
        None if summary.breaker.is_some() => {
            "look at the server's log, or lower the load; --abort-on none runs it to its end"
        }
        None => "let the run finish; the figures cover only what was run",
    };
    measure.at_most(short, 0.0, sentence, cure)
}

/// Nothing is said of a log that is as it was written.
fn whole_log(summary: &Summary) -> Option<Check> {
    let sentence = summary.log_damage.warning()?;
    let measure = Measure::new(Rule::WholeLog, "places at which the log is not as it was written");
    let cure =
        "the figures cover only what could be read: use a copy of the log that is not damaged, or run again";
    Some(measure.at_most(summary.log_damage.faults as f64, 0.0, sentence, cure))
}

fn conservation(summary: &Summary) -> Check {
    let counts = &summary.requests;
    let warm_up = summary.window.warmup_requests;
    let window = Part {
        planned: counted(counts.planned, "planned request"),
        lost: counts.unrecorded,
        added: counts.unplanned,
    };
    let warm_up = Part {
        planned: counted(warm_up, "planned warm-up request"),
        lost: counts.warmup_unrecorded,
        added: counts.warmup_unplanned,
    };
    let measure =
        Measure::new(Rule::Conservation, "planned requests without a record, or records without a plan");
    let value = [&window, &warm_up].map(|part| part.lost + part.added).iter().sum::<u64>() as f64;
    let known = &summary.unrecorded_requests;
    let (of_warm_up, of_window) = known.split_at(known.len().min(counts.warmup_unrecorded as usize));
    let (sentence, cure) = window
        .fault(of_window)
        .or_else(|| warm_up.fault(of_warm_up))
        .unwrap_or_else(|| (format!("{}: each that came due has one record", window.planned), ""));
    measure.at_most(value, 0.0, sentence, cure)
}

/// A part of the run, and how its records stand to its plan.
struct Part {
    /// What was planned, in words.
    planned: String,
    /// Planned requests without a record.
    lost: u64,
    /// Records without a plan.
    added: u64,
}

impl Part {
    /// What is wrong with it, and the cure; `None` if nothing is. Some of the lost requests are known by their indices.
    fn fault(&self, known: &[u64]) -> Option<(String, &'static str)> {
        let Self { planned, lost, added } = self;
        if *added > 0 {
            let sentence =
                format!("the log has {} more than the {planned}; limit: none", counted(*added, "record"));
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

/// What came of holding the records to their plan.
fn plan(found: &PlanCheck) -> Check {
    let measure = Measure::new(Rule::Plan, "records, and facts of the header, that are not the plan's");
    match found {
        PlanCheck::NotChecked(why) => measure.not_tested(format!("the plan was not checked: {why}")),
        PlanCheck::Held { records, unchecked } => {
            let held =
                format!("{} agree with the plan, drawn again from the header", counted(*records, "record"));
            let sentence = match unchecked.as_slice() {
                [] => held,
                unchecked => format!("{held}; not checked: {}", unchecked.join(", ")),
            };
            measure.at_most(0.0, 0.0, sentence, "")
        }
        PlanCheck::Differs { number, first } => {
            let more = number.saturating_sub(first.len() as u64);
            let more = if more > 0 { format!("; and {} more", count(more)) } else { String::new() };
            let sentence =
                format!("the log is not that of its plan: {}{more}; limit: no difference", first.join("; "));
            let cure = "do not use these figures: the log was changed after the run; use a copy that was not, or run \
                again";
            measure.at_most(*number as f64, 0.0, sentence, cure)
        }
    }
}

fn something_completed(summary: &Summary) -> Check {
    let counts = &summary.requests;
    let requests = counted(counts.executed(), "request");
    let measure = Measure::new(Rule::SomethingCompleted, "no request completed: 1, some: 0");
    if counts.completed > 0 {
        let sentence = format!("{} of {requests} completed", count(counts.completed));
        return measure.at_most(0.0, 0.0, sentence, "");
    }
    let example = summary.failures.kinds.first();
    let example =
        example.map(|kind| format!("; the most frequent failure is {}: {}", kind.kind, kind.example));
    let sentence = format!(
        "none of {requests} completed: {} failed, {} censored{}",
        count(counts.failed),
        count(counts.censored),
        example.unwrap_or_default()
    );
    let cure = match (counts.failed, failure_cure(summary)) {
        (0, _) => {
            let less = summary.run.load.less_load();
            format!("{less}, or raise --drain: no answer was complete before the run stopped waiting")
        }
        (_, Some(cure)) => cure.to_owned(),
        _ => "try one request by hand against the same address, then run again".to_owned(),
    };
    measure.at_most(1.0, 0.0, sentence, &cure)
}

fn error_rate(summary: &Summary, objectives: &[Objective]) -> Check {
    let measure = Measure::new(Rule::ErrorRate, "share of failed requests");
    if objectives.iter().any(Objective::is_about_error_rate) {
        return measure.not_tested("an objective says how many failures are expected");
    }
    let Some(rate) = summary.failures.error_rate.filter(|_| summary.requests.completed > 0) else {
        return measure.not_tested("no request completed");
    };
    let sentence = format!(
        "{} of the requests failed ({} of {}); limit: {}",
        percent(rate),
        count(summary.requests.failed),
        count(summary.slo.scheduled),
        percent(ERROR_RATE_BAR)
    );
    let less = summary.run.load.less_load();
    let cure = failure_cure(summary)
        .map_or_else(|| format!("{less} or fix the cause of the failures"), str::to_owned);
    let cure = format!("{cure}; if failures are expected, allow them with --objective \"error_rate < 5%\"");
    measure.at_most(rate, ERROR_RATE_BAR, sentence, &cure)
}

/// Requests that were sent twice, which a server may have had twice.
fn sent_twice(summary: &Summary) -> Option<Check> {
    let (twice, all) = (summary.requests.resent, summary.requests.executed());
    let measure = Measure::new(Rule::SentTwice, "share of requests that were sent twice");
    let share = twice as f64 / all.max(1) as f64;
    let sentence = format!(
        "{} of the requests ({} of {}) were sent twice: the server closed their idle connection as they came, and may \
         have had them; limit: {}, or one request",
        percent(share),
        count(twice),
        count(all),
        percent(SENT_TWICE_BAR)
    );
    // One may meet a close in any run.
    let over = if twice == 1 { 0.0 } else { share };
    (twice > 0).then(|| measure.at_most(over, SENT_TWICE_BAR, sentence, &keep_alive(&summary.run.engine)))
}

/// Cure of the most frequent failure, where its kind says where the cause is.
pub(crate) fn failure_cure(summary: &Summary) -> Option<&'static str> {
    match summary.failures.kinds.first()?.kind {
        FailureKind::Internal => Some("this is a bug in skyline: please report it"),
        FailureKind::HttpStatus(502 | 504) => Some("look at the log of the gateway before the server"),
        kind if kind.is_timeout() => {
            Some("raise this client's limit (--timeout and its like), or lower the rate")
        }
        FailureKind::HttpStatus(401 | 403) if summary.requests.completed > 0 => Some(
            "the server stopped taking the key during the run: look at whether it expired, was revoked or used up its \
             quota; less load does not help",
        ),
        FailureKind::HttpStatus(401 | 403) => Some("the server refuses the key: check it (--api-key-env)"),
        FailureKind::HttpStatus(402) => Some("the server asks for payment: look at the account of the key"),
        FailureKind::HttpStatus(400 | 404 | 405 | 413 | 422) => {
            Some("the server refuses what these requests are, not how many: read its words")
        }
        FailureKind::ClientLimit => Some(
            "raise this machine's limits (`ulimit -n`, net.ipv4.ip_local_port_range), or send from more machines",
        ),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_silenced_by_rules_before_it() {
        for (place, row) in RULES.iter().enumerate() {
            let before = |rule: &Rule| RULES[..place].iter().any(|row| row.id == *rule);
            let stands = |by: &Suppressor| !matches!(by, Reason(rule) if !before(rule));
            assert!(row.suppressed_by.iter().all(stands), "{:?}", row.id);
        }
    }
}
