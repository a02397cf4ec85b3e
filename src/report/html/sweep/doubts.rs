//! Why a sweep cannot be trusted: its few kinds of reasons with their numbers, and all of them run by run.

use maud::{Markup, html};

use super::super::parts::notes;
use crate::analysis::wording::counted;
use crate::experiment::Sweep;
use crate::report::printable;

/// Reasons that are listed as they are: of more each kind is told once.
const FEW: usize = 3;

/// The verdict with what is against the sweep.
pub(super) fn told(sweep: &Sweep) -> Markup {
    let reasons = &sweep.reasons;
    html! {
        p.lead { span.bad { "✗ INVALID" } ": its figures cannot be trusted" }
        @if reasons.len() <= FEW { (notes(reasons)) } @else {
            ul.notes {
                @for kind in kinds(reasons) {
                    li { strong { (counted(kind.reasons as u64, "run")) } ", such as " (printable(kind.first)) }
                }
            }
            details { summary { "All " (reasons.len()) " reasons, run by run" } (notes(reasons)) }
        }
    }
}

/// Reasons that say the same with other figures.
struct Kind<'a> {
    /// What they say up to their first figure.
    about: String,
    first: &'a str,
    reasons: usize,
}

/// The kinds, those of most runs first.
fn kinds(reasons: &[String]) -> Vec<Kind<'_>> {
    let mut kinds: Vec<Kind<'_>> = Vec::new();
    for reason in reasons {
        let about = about(reason);
        match kinds.iter_mut().find(|kind| kind.about == about) {
            Some(kind) => kind.reasons += 1,
            None => kinds.push(Kind { about, first: reason, reasons: 1 }),
        }
    }
    kinds.sort_by_key(|kind| std::cmp::Reverse(kind.reasons));
    kinds
}

/// What a reason says besides which run it is about, up to its first figure, or without its figures where it begins with
/// one.
fn about(reason: &str) -> String {
    let said = reason.split_once("): ").map_or(reason, |(_, said)| said);
    let is_word = |word: &&str| !word.starts_with(|first: char| first.is_ascii_digit());
    let words: Vec<&str> = said.split_whitespace().take_while(is_word).collect();
    let words = if words.is_empty() { said.split_whitespace().filter(is_word).collect() } else { words };
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_again_with_other_figures_is_told_once() {
        let reasons = [
            "run-002 (2.00/s): requests left late: p99 schedule lag is at least 2.44 ms; the bar is 1.24 ms",
            "run-002 (2.00/s): requests left late: p99.9 schedule lag is at least 7.13 ms; the bar is 6.18 ms",
            "run-003 (4.00/s): Little's law: 0.988 requests were there on average",
            "run-003 (4.00/s): requests left late: p99 schedule lag is at least 11.8 ms; the bar is 1.42 ms",
            "run-004 (4.00/s): 3 of 80 requests failed",
            "run-005 (4.00/s): 12 of 96 requests failed",
            "run-006 (8.00/s): 7 of 96 requests failed",
            "no run came to its end",
        ]
        .map(str::to_owned);
        let found = kinds(&reasons);
        let found: Vec<_> = found.iter().map(|kind| (kind.reasons, kind.about.as_str())).collect();
        assert_eq!(
            found,
            [
                (3, "of requests failed"),
                (2, "requests left late: p99 schedule lag is at least"),
                (1, "requests left late: p99.9 schedule lag is at least"),
                (1, "Little's law:"),
                (1, "no run came to its end"),
            ]
        );
    }
}
