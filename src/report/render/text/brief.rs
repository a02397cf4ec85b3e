//! Short forms for a screen: a text loses its last clauses, but never a limit, until it fits.

use super::lines::wrap;
use crate::report::document::Note;
use crate::report::render::printable::printable;

/// What begins a clause without which the text before it is still a sentence; so does a figure in a list of them.
const SEPARATORS: [&str; 9] =
    ["; ", ": ", ", and ", ", or ", ", but ", ", which ", ", mostly ", ", such as ", ", although "];

/// A clause that holds one of these stays: a figure without its limit says nothing.
const LIMITS: [&str; 2] = ["limit:", "limits:"];

/// The longest form of a text that has at most so many lines of this width; its shortest one where none has.
pub(super) fn brief(text: &str, lines: usize, width: usize) -> String {
    fitting(forms(text), lines, width)
}

/// The same of a fact, which stays whole up to its colon and behind it.
pub(super) fn fact_in_brief(text: &str, lines: usize, width: usize) -> String {
    fitting(shorter(clauses(text, |separator| separator != ": ")), lines, width)
}

fn fitting(mut forms: Vec<String>, lines: usize, width: usize) -> String {
    let found = forms.iter().position(|form| wrap(form, width).len() <= lines);
    forms.swap_remove(found.unwrap_or(forms.len() - 1))
}

/// A note in two lines: the second begins with the cure, or both run on. What caused it and what would confirm it have no
/// room.
pub(super) fn note_in_brief(note: &Note, width: usize) -> (String, Option<String>) {
    let sentence = printable(&note.sentence);
    let Some(cure) = note.cure.as_deref().filter(|cure| !cure.is_empty()).map(printable) else {
        return (brief(&sentence, 2, width), None);
    };
    let (sentences, cures) = (forms(&sentence), forms(&cure));
    let is_line = |text: &str, width: usize| wrap(text, width).len() == 1;
    let below = cures.iter().find(|cure| is_line(cure, width.saturating_sub(ARROW)));
    if let (true, Some(below)) = (is_line(&sentence, width), below) {
        return (sentence, Some(below.clone()));
    }
    let pairs = sentences.iter().flat_map(|sentence| cures.iter().map(move |cure| (sentence, cure)));
    let forms: Vec<String> = pairs.map(|(sentence, cure)| format!("{sentence} → {cure}")).collect();
    let fitting = forms.iter().filter(|form| wrap(form, width).len() <= 2);
    let chosen = fitting.max_by_key(|form| form.chars().count()).or(forms.last());
    (chosen.cloned().unwrap_or(sentence), None)
}

/// Characters of the arrow before a cure.
const ARROW: usize = 2;

/// The text, then the text without its last clause, and so on; at last without what stands in brackets at its end.
fn forms(text: &str) -> Vec<String> {
    let mut forms = shorter(clauses(text, |_| true));
    let bracket =
        forms.last().and_then(|last| last.strip_suffix(')')?.find(" (").map(|at| last[..at].to_owned()));
    forms.extend(bracket);
    forms
}

fn shorter(mut clauses: Vec<&str>) -> Vec<String> {
    let mut forms = vec![clauses.concat()];
    let has_limit = |clause: &str| LIMITS.iter().any(|limit| clause.contains(limit));
    while let Some(last) = (1..clauses.len()).rev().find(|&place| !has_limit(clauses[place])) {
        clauses.remove(last);
        forms.push(clauses.concat());
    }
    forms
}

/// The clauses of a text, each with what separates it from the one before. What is in brackets or quoted stays whole.
fn clauses(text: &str, separates: impl Fn(&str) -> bool) -> Vec<&str> {
    let mut all = Vec::new();
    let (mut from, mut depth, mut quoted) = (0, 0_i32, false);
    for (at, sign) in text.char_indices() {
        match sign {
            '(' => depth += 1,
            ')' => depth -= 1,
            '`' | '"' => quoted = !quoted,
            _ => {}
        }
        if depth == 0 && !quoted && at > from && begins_clause(&text[at..], &separates) {
            let before = &text[from..at];
            if !before.ends_with("limit") && !before.ends_with("limits") {
                all.push(before);
                from = at;
            }
        }
    }
    all.push(&text[from..]);
    all
}

fn begins_clause(rest: &str, separates: impl Fn(&str) -> bool) -> bool {
    SEPARATORS.iter().any(|separator| rest.starts_with(separator) && separates(separator))
        || rest.strip_prefix(", ").is_some_and(|item| item.starts_with(|sign: char| sign.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATE: &str = "30 of 600 requests were still running when the drain limit ended (5 %; limit: 1 %): the system did not \
                        keep up, and these latencies depend on the length of the run";

    #[test]
    fn a_text_loses_its_last_clauses_until_it_fits() {
        assert_eq!(brief(LATE, 3, 76), LATE);
        let two = "30 of 600 requests were still running when the drain limit ended (5 %; limit: 1 %): the system did not keep up";
        assert_eq!(brief(LATE, 2, 76), two);
        assert_eq!(brief("words that go on and on", 1, 5), "words that go on and on");
    }

    #[test]
    fn a_limit_stays() {
        assert_eq!(
            brief("left out: rounds 2, 4 and 5 (of the first: 3 ms; limit: 1 ms (five times that))", 1, 40),
            "left out: rounds 2, 4 and 5"
        );
        let text = "the cache was 97 % full, and 3 requests were preempted: they start again; limit: 95 %";
        assert_eq!(brief(text, 1, 60), "the cache was 97 % full; limit: 95 %");
    }

    #[test]
    fn a_note_has_its_cure_in_two_lines() {
        let cure = "lower the rate until completions match arrivals; if answers take longer, raise --drain";
        let (line, below) = note_in_brief(&Note::error(LATE).cure(cure), 76);
        assert_eq!(
            (line.as_str(), below),
            (
                "30 of 600 requests were still running when the drain limit ended (5 %; limit: 1 %) → lower the rate until \
                 completions match arrivals",
                None
            )
        );
        let (line, below) =
            note_in_brief(&Note::warning("host stalls: 430 ms; limit: 100 ms").cure(cure), 76);
        assert_eq!(line, "host stalls: 430 ms; limit: 100 ms");
        assert_eq!(below.as_deref(), Some("lower the rate until completions match arrivals"));
    }
}
