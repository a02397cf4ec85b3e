//! What clients that retry or hedge did.

use crate::analysis::{AskedWaits, AttemptFigures, Summary};
use crate::report::document::{KeyFigure, Level, Section, known};
use crate::report::documents::parts::clients;
use crate::units::{count, counted, joined, percent, seconds, three_digits};

/// Returns one line of the summary, where requests may have been sent more than once. No reader shall miss that.
pub(super) fn key_figure(summary: &Summary) -> Option<KeyFigure> {
    let found = summary.attempts.as_ref()?;
    Some(KeyFigure::new("attempts", known(found.amplification), "per request").below(said(found)))
}

fn said(found: &AttemptFigures) -> impl Iterator<Item = String> {
    let none = (found.attempts <= found.requests).then(|| "clients may retry or hedge, and none did".to_owned());
    let retried = (found.retries > 0).then(|| retries(found));
    let hedged = (found.hedges > 0).then(|| hedges(found));
    [none, retried, hedged].into_iter().flatten()
}

/// Returns what a screen says of the attempts. It has no room for what stands below a figure.
pub(super) fn in_brief(summary: &Summary) -> Section {
    let line = |found| format!("{}; latencies include every attempt and wait", joined(said(found), "; "));
    Section::continued(Level::Brief).text(summary.attempts.as_ref().map(line))
}

/// Returns the whole section about the attempts.
pub(super) fn section(summary: &Summary) -> Option<Section> {
    let found = summary.attempts.as_ref()?;
    let [attempts, requests, recovered] = [found.attempts, found.requests, found.recovered_requests].map(count);
    let amplification = known(found.amplification);
    let at_once = found.first_attempt_success.map(percent);
    let retried = counted(found.retried_requests, "retried request");
    let recovered = format!("{recovered} of {retried} were answered in the end");
    let asked = found.asked_waits.map(|AskedWaits { waits, longest_s }| {
        format!("{} (Retry-After), the longest {}", counted(waits, "wait"), seconds(longest_s))
    });
    let tokens = found.discarded_output_tokens;
    let discarded = counted(tokens, "answer token");
    let good = if summary.slo.declared { "requests within their SLO" } else { "requests completed" };
    let rates = [
        (found.offered_requests_per_s, "requests offered"),
        (found.attempts_per_s, "attempts"),
        (found.goodput_per_s, good),
    ];
    let rates = rates.into_iter().filter_map(|(rate, what)| Some(format!("{} {what}", three_digits(rate?))));
    let section = Section::detail("Attempts: latencies include all of them, and the waits between")
        .facts("clients", summary.run.clients.as_ref().map(clients::in_words))
        .fact("attempts", format!("{attempts} for {requests} requests: {amplification} per request"))
        .facts("first attempt", at_once.map(|share| format!("answered {share} of the requests")))
        .facts("retries", (found.retries > 0).then(|| retries(found)))
        .facts("recovered", (found.retries > 0).then_some(recovered))
        .facts("asked by the server", asked)
        .facts("hedges", (found.hedges > 0).then(|| hedges(found)))
        .facts("thrown away", (tokens > 0).then(|| format!("{discarded} of attempts that failed and were retried")))
        .fact("per second", joined(rates, ", "));
    Some(section)
}

/// `143 retries after http 429 (120), timeout in total (23)`, `4 retries after connect`.
fn retries(found: &AttemptFigures) -> String {
    let kinds = found.retried_failures.iter().map(|failed| match found.retried_failures.len() {
        1 => failed.kind.clone(),
        _ => format!("{} ({})", failed.kind, count(failed.retries)),
    });
    let retries = if found.retries == 1 { "1 retry".to_owned() } else { format!("{} retries", count(found.retries)) };
    format!("{retries} after {}", joined(kinds, ", "))
}

fn hedges(found: &AttemptFigures) -> String {
    format!("{}, {} won", counted(found.hedges, "hedge"), count(found.hedges_won))
}
