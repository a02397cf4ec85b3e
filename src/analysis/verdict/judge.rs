//! Judges a run, first by what became of the planned requests: all accounted for, the run whole, failures rare.

use super::check::{Check, CheckOutcome, Measure, Reason, Rule, Verdict, VerdictOutcome};
use super::{client, laws, server, stamps, steady_state, tokens};
use crate::analysis::findings::connections::keep_alive;
use crate::analysis::requests::observed::Observed;
use crate::analysis::slo::objective::Objective;
use crate::analysis::summary::run::Summary;
use crate::record::{FailureKind, PlanCheck, RunEnding};
use crate::units::{count, counted, percent, seconds};
use crate::workload::Purpose;

/// Judges a run by what it is for. Where an objective is about the error rate, it takes the place of the limit here.
pub(crate) fn judge(observed: &Observed<'_>, summary: &Summary, objectives: &[Objective]) -> Verdict {
    let mut checks = accounting(observed, summary, objectives);
    // Of a run without a request there is nothing else to say.
    let purpose = Some(summary.run.purpose).filter(|_| !observed.requests.is_empty());
    if purpose == Some(Purpose::Smoke) {
        checks.push(steady_state::left(summary));
        checks.extend(tokens::checks(observed));
        checks.push(client::files_and_ports(summary));
    } else if purpose.is_some() {
        checks.extend(summary.arrivals.checks(&summary.run.arrival));
        checks.push(client::lag_check(summary));
        checks.extend(stamps::handed_over(observed));
        checks.push(stamps::check(observed));
        checks.push(stamps::held_back(observed));
        checks.push(laws::littles_law(observed));
        checks.extend(laws::interactive_law(observed.log, summary));
        checks.extend(steady_state::checks(summary));
        checks.extend(tokens::checks(observed));
        checks.extend(client::checks(summary));
        let stall = client::stall_check(summary);
        // A stop is the cause of what was late.
        let place = if client::is_stop(&stall) { 0 } else { checks.len() };
        checks.insert(place, stall);
    }
    let failed = checks.iter().filter(|check| check.outcome == CheckOutcome::Failed);
    let is_gone = failed.clone().any(|check| check.rule == Rule::ServerStayed);
    let failed = failed.filter(|check| !(is_gone && Rule::OF_GONE.contains(&check.rule)));
    let reason = |check: &Check| Reason {
        rule: check.rule,
        outcome: blame(check.rule, summary),
        sentence: check.sentence.clone(),
        cure: check.cure.clone(),
    };
    Verdict::new(failed.map(reason).collect(), checks)
}

/// What a broken rule makes of the run. The server is to blame for a queue that grows, and for failures where those
/// that are neither a refusal (429, 503) nor a timeout would be rare enough, and where a breaker cut the window short: what
/// it found is judged by the other rules. What somebody stopped shows no queue.
fn blame(rule: Rule, summary: &Summary) -> VerdictOutcome {
    let of_server = match rule {
        Rule::SteadyState => summary.window.ending != Some(RunEnding::Interrupted),
        Rule::WholeWindow => summary.breaker.is_some(),
        Rule::ErrorRate => {
            let failures = &summary.failures;
            let of_load = [failures.reject_rate, failures.timeout_rate].into_iter().flatten().sum::<f64>();
            failures.error_rate.is_some_and(|rate| rate - of_load <= ERROR_RATE_BAR)
        }
        _ => false,
    };
    if of_server { VerdictOutcome::Overloaded } else { VerdictOutcome::Invalid }
}

/// Largest share of failed requests in a valid run that declares no objective on it.
pub(crate) const ERROR_RATE_BAR: f64 = 0.01;
/// Largest share of requests that may be sent twice.
const SENT_TWICE_BAR: f64 = 0.01;

fn accounting(observed: &Observed<'_>, summary: &Summary, objectives: &[Objective]) -> Vec<Check> {
    let ran = summary.requests.executed() > 0;
    let mut checks = vec![measured_requests(summary)];
    // Before what comes of it.
    checks.extend(ran.then(|| server::stayed(observed)));
    checks.push(whole_window(summary));
    checks.extend(whole_log(summary));
    checks.push(conservation(summary));
    checks.extend(observed.log.plan_check.as_ref().map(plan));
    if ran {
        checks.extend([something_completed(summary), error_rate(summary, objectives)]);
        checks.extend(sent_twice(summary));
    }
    checks
}

fn measured_requests(summary: &Summary) -> Check {
    let counts = &summary.requests;
    let sentence = match counts.executed() {
        0 => format!("no request of the window was run; {} were planned", count(counts.planned)),
        sent => format!("{} of the window were run", counted(sent, "request")),
    };
    let measure = Measure { rule: Rule::MeasuredRequests, statistic: "no request run: 1, some: 0" };
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
    let measure = Measure { rule: Rule::WholeWindow, statistic: "window cut short: 1, whole: 0" };
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
    let measure =
        Measure { rule: Rule::WholeLog, statistic: "places at which the log is not as it was written" };
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
    let measure = Measure {
        rule: Rule::Conservation,
        statistic: "planned requests without a record, or records without a plan",
    };
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
    let measure =
        Measure { rule: Rule::Plan, statistic: "records, and facts of the header, that are not the plan's" };
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
            let cure = "do not use these figures: the log was changed after the run; use a copy that was not, or run again";
            measure.at_most(*number as f64, 0.0, sentence, cure)
        }
    }
}

fn something_completed(summary: &Summary) -> Check {
    let counts = &summary.requests;
    let requests = counted(counts.executed(), "request");
    let measure = Measure { rule: Rule::SomethingCompleted, statistic: "no request completed: 1, some: 0" };
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
    let measure = Measure { rule: Rule::ErrorRate, statistic: "share of failed requests" };
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
    let measure = Measure { rule: Rule::SentTwice, statistic: "share of requests that were sent twice" };
    let share = twice as f64 / all.max(1) as f64;
    let sentence = format!(
        "{} of the requests ({} of {}) were sent twice: the server closed their idle connection as they came, and may have \
         had them; limit: {}, or one request",
        percent(share),
        count(twice),
        count(all),
        percent(SENT_TWICE_BAR)
    );
    // One may meet a close in any run.
    let over = if twice == 1 { 0.0 } else { share };
    (twice > 0).then(|| measure.at_most(over, SENT_TWICE_BAR, sentence, &keep_alive(summary)))
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
