//! Why runs of a sweep do not count: the few kinds of reasons with their numbers.

use crate::experiment::{Sweep, Trial};
use crate::report::document::{Note, Section, Table};
use crate::report::documents::parts::cells::grouped;
use crate::units::counted;

/// Most reasons that are listed as they are. Of more each kind has one line, with an example.
const FEW: usize = 3;

/// Says how many runs do not count, and why.
pub(super) fn add(section: Section, sweep: &Sweep) -> Section {
    let reasons = &sweep.reasons;
    if reasons.is_empty() && sweep.valid {
        return section;
    }
    let trials = || sweep.points.iter().flat_map(|point| &point.trials);
    let (bad, all) = (trials().filter(|trial| !Trial::is_valid(trial)).count(), trials().count());
    let all = counted(all as u64, "run");
    let section = section.notes([Note::warning(format!("{bad} of {all} are INVALID and do not count"))]);
    if reasons.len() <= FEW {
        return section.notes(reasons.iter().map(Note::error)).more(["validity"]);
    }
    let kinds = kinds(reasons).into_iter().map(|(_, reasons)| {
        let first = reasons.first().copied().unwrap_or_default();
        Note::error(format!("{}, such as {first}", counted(reasons.len() as u64, "reason")))
    });
    let table = Table::over("All reasons, run by run", reasons)
        .left("all reasons, run by run", String::as_str)
        .detail_rows(|_, _| true);
    section.notes(kinds).more(["validity"]).table(table)
}

/// Reasons that say the same with other figures, each kind by what it says. Those of most runs are first.
fn kinds(reasons: &[String]) -> Vec<(String, Vec<&str>)> {
    let mut kinds = grouped(reasons.iter().map(|reason| (reason.as_str(), about(reason))));
    kinds.sort_by_key(|(_, reasons)| std::cmp::Reverse(reasons.len()));
    kinds
}

/// Returns what a reason says besides its run, up to its first figure. Where it begins with a figure, it is all of that
/// without its figures.
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
        let found: Vec<_> = found.iter().map(|(about, reasons)| (reasons.len(), about.as_str())).collect();
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
