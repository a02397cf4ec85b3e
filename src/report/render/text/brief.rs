//! Short forms for a screen: a text loses its last clauses, but never a limit, until it fits.

use super::lines::wrap;
use crate::analysis::Status;
use crate::report::document::{Note, NoteKind};
use crate::report::render::printable::printable;

/// Beginnings of clauses without which the text before them is still a sentence.
const SEPARATORS: [&str; 9] =
    ["; ", ": ", ", and ", ", or ", ", but ", ", which ", ", mostly ", ", such as ", ", although "];

/// A clause that holds one of these stays: a figure without its limit says nothing.
const LIMITS: [&str; 2] = ["limit:", "limits:"];

/// Returns a text's longest form with at most so many lines of this width. It is the shortest one where none has.
pub(super) fn brief(text: &str, lines: usize, width: usize) -> String {
    fitting(forms(text), lines, width)
}

/// Returns a fact's longest form with at most so many lines of this width. It is the shortest one where none has. A
/// fact stays whole up to its colon and behind it.
pub(super) fn fact_in_brief(text: &str, lines: usize, width: usize) -> String {
    fitting(shorter(clauses(text, |separator| separator != ": ")), lines, width)
}

/// At last a text loses what stands in brackets at its end, clause by clause.
fn fitting(mut forms: Vec<String>, lines: usize, width: usize) -> String {
    if let Some((begin, inside)) = forms.last().and_then(|last| last_bracket(last)) {
        // What stands before a colon there says only whose the rest is.
        let says_something = |form: &String| form.contains(": ") || !inside.contains(": ");
        let shorter = shorter(clauses(inside, |_| true)).into_iter().skip(1).filter(says_something);
        let shorter: Vec<String> = shorter.map(|form| format!("{begin} ({form})")).chain([begin.to_owned()]).collect();
        forms.extend(shorter);
    }
    let found = forms.iter().position(|form| wrap(form, width).len() <= lines);
    forms.swap_remove(found.unwrap_or(forms.len() - 1))
}

/// Splits off the brackets at the end of a text. Returns what stands before them, and what in them.
fn last_bracket(text: &str) -> Option<(&str, &str)> {
    let inside = text.strip_suffix(')')?;
    let mut depth = 1;
    let begin = inside.char_indices().rev().find_map(|(at, sign)| {
        depth += match sign {
            ')' => 1,
            '(' => -1,
            _ => 0,
        };
        (depth == 0).then_some(at)
    })?;
    Some((inside[..begin].strip_suffix(' ')?, &inside[begin + 1..]))
}

/// Returns a note in two lines, and an error in three. The last begins with the cure, or both run on. What caused it
/// and what would confirm it have no room.
pub(super) fn note_in_brief(note: &Note, width: usize) -> (String, Option<String>) {
    let sentence = printable(&note.sentence);
    let Some(cure) = note.cure.as_deref().filter(|cure| !cure.is_empty()).map(printable) else {
        let short = if note.kind.is_demand() { fact_in_brief } else { brief };
        let lines = if note.kind == NoteKind::Demand(Status::Met) { 1 } else { 2 };
        return (short(&sentence, lines, width), None);
    };
    let below = brief(&cure, 1, width.saturating_sub(ARROW));
    if note.kind == NoteKind::Error {
        return (brief(&sentence, 2, width), Some(below));
    }
    if wrap(&sentence, width).len() == 1 && wrap(&below, width.saturating_sub(ARROW)).len() == 1 {
        return (sentence, Some(below));
    }
    let (sentences, cures) = (forms(&sentence), forms(&cure));
    let pairs = sentences.iter().flat_map(|sentence| cures.iter().map(move |cure| (sentence, cure)));
    let forms: Vec<String> = pairs.map(|(sentence, cure)| format!("{sentence} → {cure}")).collect();
    let fitting = forms.iter().filter(|form| wrap(form, width).len() <= 2);
    let chosen = fitting.max_by_key(|form| form.chars().count()).or(forms.last());
    (chosen.cloned().unwrap_or(sentence), None)
}

/// Characters of the arrow before a cure.
const ARROW: usize = 2;

/// The text, then the text without its last clause, and so on.
fn forms(text: &str) -> Vec<String> {
    shorter(clauses(text, |_| true))
}

fn shorter(mut clauses: Vec<&str>) -> Vec<String> {
    let mut forms = vec![clauses.concat()];
    let has_limit = |clause: &str| LIMITS.iter().any(|limit| clause.contains(limit));
    // What a limit is of stands after the colon before it.
    let is_kept = |clauses: &[&str], place: usize| {
        let next = clauses.get(place + 1);
        has_limit(clauses[place]) || clauses[place].starts_with(": ") && next.is_some_and(|next| has_limit(next))
    };
    while let Some(last) = (1..clauses.len()).rev().find(|&place| !is_kept(&clauses, place)) {
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
        let begins = |separator: &&str| text[at..].starts_with(*separator) && separates(separator);
        if depth == 0 && !quoted && at > from && SEPARATORS.iter().any(begins) {
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

#[cfg(test)]
mod tests {
    use super::*;

    const LATE: &str = "30 of 600 requests were still running when the drain limit ended (5 %; limit: 1 %): the system \
        did not keep up, and these latencies depend on the length of the run";

    #[test]
    fn a_text_loses_its_last_clauses_until_it_fits() {
        assert_eq!(brief(LATE, 3, 76), LATE);
        let two = "30 of 600 requests were still running when the drain limit ended (5 %; limit: 1 %): the system did \
            not keep up";
        assert_eq!(brief(LATE, 2, 76), two);
        assert_eq!(brief("words that go on and on", 1, 5), "words that go on and on");
    }

    #[test]
    fn a_limit_stays() {
        assert_eq!(
            brief("left out: rounds 2, 4 and 5 (of the first: 3 ms; limit: 1 ms (five times that))", 1, 40),
            "left out: rounds 2, 4 and 5"
        );
        let text = "left out: rounds 2 and 4 (of the first, A: Little's law: 0.361 were present; 15.0 a second of \
            0.0327 s account for 0.491: 35.9 % apart; limit: 30 %)";
        let forms = [(2, 70), (1, 70), (1, 40)].map(|(lines, width)| brief(text, lines, width));
        let begin = "left out: rounds 2 and 4";
        assert_eq!(
            forms,
            [
                format!("{begin} (of the first, A: Little's law: 0.361 were present: 35.9 % apart; limit: 30 %)"),
                format!("{begin} (of the first, A: 35.9 % apart; limit: 30 %)"),
                begin.to_owned(),
            ]
        );
        let text = "the cache was 97 % full, and 3 requests were preempted; limit: 95 %";
        assert_eq!(brief(text, 1, 60), "the cache was 97 % full; limit: 95 %");
        let text = "the server counts 112 tokens, and 100 were requested: 12 % more; limit: 10 %";
        assert_eq!(brief(text, 1, 60), "the server counts 112 tokens: 12 % more; limit: 10 %");
        let text = "cannot tell: p50 ttft < 110ms (100 ms, interval 80 ms to 120 ms; would take about 8 more runs)";
        let short = "cannot tell: p50 ttft < 110ms (100 ms, interval 80 ms to 120 ms)";
        assert_eq!(fact_in_brief(text, 1, 76), short);
    }

    #[test]
    fn a_note_has_its_cure_in_its_last_line_or_runs_on() {
        let cure = "lower the rate until completions match arrivals; if answers take longer, raise --drain";
        let short = "lower the rate until completions match arrivals";
        let (line, below) = note_in_brief(&Note::error(LATE).cure(cure), 76);
        assert_eq!((line, below.as_deref()), (brief(LATE, 2, 76), Some(short)));
        let (line, below) = note_in_brief(&Note::warning(LATE).cure(cure), 76);
        let first = "30 of 600 requests were still running when the drain limit ended (5 %; limit: 1 %)";
        assert_eq!((line, below), (format!("{first} → {short}"), None));
        let (line, below) = note_in_brief(&Note::warning("host stalls: 430 ms; limit: 100 ms").cure(cure), 76);
        assert_eq!((line.as_str(), below.as_deref()), ("host stalls: 430 ms; limit: 100 ms", Some(short)));
    }
}
