//! What clients that retry or hedge did.

use crate::analysis::{AskedWaits, AttemptFigures, Summary};
use crate::report::document::{KeyFigure, Level, Section, known};
use crate::report::documents::parts::clients;
use crate::units::{count, counted, percent, seconds, three_digits};

/// One line of the summary, where requests may have been sent more than once: no reader shall miss that.
pub(super) fn key_figure(summary: &Summary) -> Option<KeyFigure> {
    let found = summary.attempts.as_ref()?;
    Some(KeyFigure::new("attempts", known(found.amplification), "per request").below(said(found)))
}

fn said(found: &AttemptFigures) -> impl Iterator<Item = String> {
    let none =
        (found.attempts <= found.requests).then(|| "clients may retry or hedge, and none did".to_owned());
    let retried = (found.retries > 0).then(|| retries(found));
    let hedged = (found.hedges > 0).then(|| hedges(found));
    [none, retried, hedged].into_iter().flatten()
}

/// The same on a screen, which has no room for what stands below a figure.
pub(super) fn in_brief(summary: &Summary) -> Section {
    let mut section = Section::continued(Level::Brief);
    if let Some(found) = &summary.attempts {
        let said: Vec<_> = said(found).collect();
        section.text(format!("{}; latencies include every attempt and wait", said.join("; ")));
    }
    section
}

/// All of it.
pub(super) fn section(summary: &Summary) -> Section {
    let mut section = Section::detail("Attempts: latencies include all of them, and the waits between");
    let Some(found) = &summary.attempts else { return section };
    section.facts("clients", summary.run.clients.as_ref().map(clients::in_words));
    let [attempts, requests] = [found.attempts, found.requests].map(count);
    let amplification = known(found.amplification);
    section.fact("attempts", format!("{attempts} for {requests} requests: {amplification} per request"));
    let at_once = found.first_attempt_success.map(percent);
    section.facts("first attempt", at_once.map(|share| format!("answered {share} of the requests")));
    if found.retries > 0 {
        section.fact("retries", retries(found));
        let [retried, recovered] = [found.retried_requests, found.recovered_requests];
        let retried = counted(retried, "retried request");
        section.fact("recovered", format!("{} of {retried} were answered in the end", count(recovered)));
    }
    if let Some(AskedWaits { waits, longest_s }) = found.asked_waits {
        let waits = counted(waits, "wait");
        section.fact(
            "asked by the server",
            format!("{waits} (Retry-After), the longest {}", seconds(longest_s)),
        );
    }
    if found.hedges > 0 {
        section.fact("hedges", hedges(found));
    }
    if found.discarded_output_tokens > 0 {
        let tokens = counted(found.discarded_output_tokens, "answer token");
        section.fact("thrown away", format!("{tokens} of attempts that failed and were retried"));
    }
    let rates = [
        (found.offered_requests_per_s, "requests offered"),
        (found.attempts_per_s, "attempts"),
        (
            found.goodput_per_s,
            if summary.slo.declared { "requests within their SLO" } else { "requests completed" },
        ),
    ];
    let known_rates =
        rates.into_iter().filter_map(|(rate, what)| Some(format!("{} {what}", three_digits(rate?))));
    section.fact("per second", known_rates.collect::<Vec<_>>().join(", "));
    section
}

/// `143 retries after http 429 (120), timeout in total (23)`, `4 retries after connect`.
fn retries(found: &AttemptFigures) -> String {
    let kinds = found.retried_failures.iter().map(|failed| match found.retried_failures.len() {
        1 => failed.kind.clone(),
        _ => format!("{} ({})", failed.kind, count(failed.retries)),
    });
    let retries =
        if found.retries == 1 { "1 retry".to_owned() } else { format!("{} retries", count(found.retries)) };
    format!("{retries} after {}", kinds.collect::<Vec<_>>().join(", "))
}

fn hedges(found: &AttemptFigures) -> String {
    format!("{}, {} won", counted(found.hedges, "hedge"), count(found.hedges_won))
}
