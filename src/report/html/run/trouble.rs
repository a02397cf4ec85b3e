//! What went wrong in a run, and what its figures point to.

use maud::{Markup, html};

use super::super::parts::{framed, notes, symptoms};
use super::super::told::told;
use crate::analysis::wording::percent;
use crate::analysis::{FailureCount, Summary};
use crate::experiment::Diagnosis;
use crate::record::Failure;
use crate::report::{printable, troubles};
use crate::units::count;

pub(super) fn section(summary: &Summary, diagnosis: Option<&Diagnosis>) -> Markup {
    let failures = &summary.failures;
    html! {
        h2 { "Failures" }
        @if failures.kinds.is_empty() { p { "None in the window." } } @else { (table(&failures.kinds)) }
        @if !failures.cooldown_kinds.is_empty() {
            p.muted { "After the window, in no figure:" }
            (table(&failures.cooldown_kinds))
        }
        (told(|page| troubles::findings(page, summary)))
        @if let Some(diagnosis) = diagnosis.filter(|diagnosis| !diagnosis.is_silent()) {
            h2 { "Diagnosis" }
            (symptoms(diagnosis))
        }
        @let lacking = diagnosis.map(|diagnosis| diagnosis.could_not_tell.as_slice()).unwrap_or_default();
        @if !lacking.is_empty() {
            details {
                summary { "What could not be told" }
                (notes(&lacking.iter().map(|rule| format!("{}: {}", rule.about, rule.lacked)).collect::<Vec<_>>()))
            }
        }
    }
}

fn table(kinds: &[FailureCount]) -> Markup {
    let rows = html! {
        @for failure in kinds { tr {
            th scope="row" { (failure.kind) }
            td { (count(failure.count)) }
            td { (percent(failure.share)) }
            td.wide { (bounded(&failure.example)) }
        } }
    };
    framed("Failures by kind", ["kind", "requests", "share", "the first said"].into_iter(), &rows)
}

/// What a server said, escaped, and no longer than messages are kept.
fn bounded(message: &str) -> String {
    let cut: String = message.chars().take(Failure::MESSAGE_LIMIT + 1).collect();
    printable(&cut)
}
