//! Why runs of a sweep do not count: the few kinds of reasons with their numbers.

use crate::experiment::{Sweep, Trial};
use crate::report::document::{Level, Note, Section, Table, TableColumn};
use crate::units::counted;

/// Reasons that are listed as they are; of more each kind has one line, with an example.
const FEW: usize = 3;

/// What is against an INVALID sweep.
pub(super) fn section(sweep: &Sweep) -> Section {
    let mut section = Section::continued(Level::Summary);
    if !sweep.valid {
        add(&mut section, sweep);
    }
    section
}

/// How many runs do not count, and why.
pub(super) fn add(section: &mut Section, sweep: &Sweep) {
    let reasons = &sweep.reasons;
    if reasons.is_empty() && sweep.valid {
        return;
    }
    let trials = || sweep.points.iter().flat_map(|point| &point.trials);
    let (bad, all) = (trials().filter(|trial| !Trial::is_valid(trial)).count(), trials().count());
    let all = counted(all as u64, "run");
    section.note(Note::warning(format!("{bad} of {all} are INVALID and do not count")));
    if reasons.len() <= FEW {
        section.notes(reasons.iter().map(Note::error));
        section.more(["validity"]);
        return;
    }
    section.notes(kinds(reasons).iter().map(|kind| {
        Note::error(format!("{}, such as {}", counted(kind.reasons as u64, "reason"), kind.first))
    }));
    let mut table =
        Table::new("All reasons, run by run", [TableColumn::new("all reasons, run by run").left()]);
    for reason in reasons {
        table.detail_row([reason.as_str()]);
    }
    section.more(["validity"]);
    section.table(table);
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

/// What a reason says besides which run it is about, up to its first figure, or without its figures where it
/// begins with one.
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
            "run-002 (2.00/s): requests were dispatched late: p99 schedule lag is at least 2.44 ms; limit: 1.24 ms",
            "run-002 (2.00/s): requests were dispatched late: p99.9 schedule lag is at least 7.13 ms; limit: 6.18 ms",
            "run-003 (4.00/s): Little's law: 0.988 requests were present on average",
            "run-003 (4.00/s): requests were dispatched late: p99 schedule lag is at least 11.8 ms; limit: 1.42 ms",
            "run-004 (4.00/s): 3 of 80 requests failed",
            "run-005 (4.00/s): 12 of 96 requests failed",
            "run-006 (8.00/s): 7 of 96 requests failed",
            "no run finished",
        ]
        .map(str::to_owned);
        let found = kinds(&reasons);
        let found: Vec<_> = found.iter().map(|kind| (kind.reasons, kind.about.as_str())).collect();
        assert_eq!(
            found,
            [
                (3, "of requests failed"),
                (2, "requests were dispatched late: p99 schedule lag is at least"),
                (1, "requests were dispatched late: p99.9 schedule lag is at least"),
                (1, "Little's law:"),
                (1, "no run finished"),
            ]
        );
    }
}
