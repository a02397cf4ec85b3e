//! `skyline guide --search`: the sections of the guide that have all words, each with the sentence or row
//! that says most.

use std::cmp::Reverse;
use std::fmt::Write as _;

use crate::guide::{TOPICS, Topic};

/// Most sections that are listed.
const SHOWN: usize = 12;
/// Most characters of a sentence or row that are shown.
const LONGEST: usize = 150;
/// Where a longer one is cut, the characters that are shown before the first word.
const BEFORE: usize = 50;
/// Most signs before a word that the sentence or row is about.
const LEAD: usize = 3;

/// Returns the sections with all words. First come those that have them in the heading, then those that have them most
/// often. `None` where there is none.
pub(super) fn found(words: &str) -> Option<String> {
    let words: Vec<String> = words.split_whitespace().map(str::to_lowercase).collect();
    if words.is_empty() {
        return None;
    }
    let mut hits: Vec<_> = TOPICS.iter().flat_map(|topic| in_topic(topic, &words)).collect();
    hits.sort_by_key(|(rank, _)| *rank);
    let mut text: String = hits.iter().take(SHOWN).map(|(_, shown)| shown.as_str()).collect();
    if hits.len() > SHOWN {
        let _ = writeln!(text, "… and {} more sections; more words find fewer", hits.len() - SHOWN);
    }
    (!hits.is_empty()).then_some(text)
}

/// Returns the sections of a topic with all words, each with its rank. The sections are as they are shown.
fn in_topic(topic: &Topic, words: &[String]) -> Vec<((bool, Reverse<usize>), String)> {
    let sections = topic.sections().into_iter().enumerate();
    let found = sections.filter_map(|(place, (heading, lines))| {
        let mut passages = passages(&lines);
        let mut whole = heading.to_owned();
        if place == 0 {
            passages.push(Passage { text: topic.about.to_owned(), is_code: false });
            whole = format!("{whole}\n{}", topic.also.join("\n"));
        }
        let whole = passages.iter().fold(whole, |all, passage| all + "\n" + &passage.text);
        let best = passages.iter().min_by_key(|passage| passage.rank(words))?;
        let count = passages.iter().filter(|passage| has_all(&passage.text, words)).count();
        let shown = excerpt(&best.text, words);
        let shown = format!("{heading}  →  skyline guide {}\n    {shown}\n", topic.name);
        has_all(&whole, words).then_some(((!has_all(heading, words), Reverse(count)), shown))
    });
    found.collect()
}

/// A sentence, a row of a table, or a line of code.
#[derive(Debug, PartialEq, Eq)]
struct Passage {
    text: String,
    is_code: bool,
}

impl Passage {
    /// Returns how little the passage says about the words. Passages of the same rank stand in their order.
    fn rank(&self, words: &[String]) -> u8 {
        let first = words.iter().filter_map(|word| place(&self.text, word)).min();
        match (has_all(&self.text, words), self.is_code, first) {
            (true, false, Some(0..=LEAD)) => 0,
            (true, false, _) => 1,
            (true, true, _) => 2,
            (false, _, Some(_)) => 3,
            (false, _, None) => 4,
        }
    }
}

/// The passages of a section, lines of prose joined.
fn passages(lines: &[&str]) -> Vec<Passage> {
    let mut passages = Vec::new();
    let mut prose = String::new();
    let mut in_code = false;
    for line in lines.iter().copied().chain([""]) {
        let is_fence = line.starts_with("```");
        let is_row = line.starts_with('|');
        let is_item = line.trim_start().starts_with("- ") || line.starts_with(|sign: char| sign.is_ascii_digit());
        if is_fence || is_row || is_item || line.is_empty() {
            passages.extend(sentences(&std::mem::take(&mut prose)));
        }
        in_code ^= is_fence;
        if is_fence || line.is_empty() {
            continue;
        }
        if in_code {
            passages.push(Passage { text: line.trim().to_owned(), is_code: true });
        } else if is_row {
            let cells: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
            let is_rule = cells.iter().all(|cell| cell.chars().all(|sign| sign == '-'));
            let text = cells.into_iter().filter(|cell| !cell.is_empty()).collect::<Vec<_>>().join(" · ");
            passages.extend((!is_rule).then_some(Passage { text, is_code: false }));
        } else {
            let words = line.trim_start().trim_start_matches("- ");
            if !prose.is_empty() {
                prose.push(' ');
            }
            prose.push_str(words);
        }
    }
    passages
}

fn sentences(prose: &str) -> impl Iterator<Item = Passage> {
    let ends = prose.match_indices(". ").map(|(at, _)| at + 1).chain([prose.len()]);
    let mut start = 0;
    ends.map(move |end| {
        let text = prose[start..end].trim().to_owned();
        start = end;
        Passage { text, is_code: false }
    })
    .filter(|passage| !passage.text.is_empty())
}

fn has_all(text: &str, words: &[String]) -> bool {
    words.iter().all(|word| place(text, word).is_some())
}

/// Where a word of the text begins with `word`, whatever the case, in characters.
fn place(text: &str, word: &str) -> Option<usize> {
    let text: Vec<char> = text.to_lowercase().chars().collect();
    let word: Vec<char> = word.chars().collect();
    let begins = |at: usize| at == 0 || !text[at - 1].is_alphanumeric() || !word[0].is_alphanumeric();
    (0..text.len()).find(|&at| begins(at) && text[at..].starts_with(&word))
}

/// Returns the part of a passage around the first of the words. It has at most [`LONGEST`] characters.
fn excerpt(passage: &str, words: &[String]) -> String {
    let length = passage.chars().count();
    if length <= LONGEST {
        return passage.to_owned();
    }
    let first = words.iter().filter_map(|word| place(passage, word)).min().unwrap_or(0);
    let skipped = first.saturating_sub(BEFORE);
    let part: String = passage.chars().skip(skipped).take(LONGEST).collect();
    let part = if skipped > 0 { part.split_once(' ').map_or("", |(_, rest)| rest) } else { &part };
    let (start, end) = (if skipped > 0 { "… " } else { "" }, if skipped + LONGEST < length { " …" } else { "" });
    let part = if end.is_empty() { part } else { part.rsplit_once(' ').map_or(part, |(whole, _)| whole) };
    format!("{start}{part}{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn a_search_leads_to_the_row_that_says_most() {
        let text = found("Burst").unwrap();
        let first: Vec<_> = text.lines().take(2).collect();
        assert_eq!(first[0], "Arrivals, and bursts  →  skyline guide workloads");
        assert!(first[1].contains("`bursts` · `base_rate_per_s`"), "{text}");
        assert!(text.lines().count() <= 2 * SHOWN + 1, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= LONGEST + 10), "{text}");
        assert!(found("no such words here").is_none() && found(" ").is_none());
    }

    #[test]
    fn passages_are_sentences_rows_and_lines_of_code() {
        let lines = [
            "A rate steps",
            "up. The rate is a mean.",
            "- an item of",
            "  two lines",
            "| `a` | b |  |",
            "|---|---|---|",
            "```sh",
            "skyline bench",
            "```",
        ];
        let texts = ["A rate steps up.", "The rate is a mean.", "an item of two lines", "`a` · b", "skyline bench"];
        let found = passages(&lines);
        assert_eq!(found.iter().map(|passage| passage.text.as_str()).collect::<Vec<_>>(), texts);
        assert_eq!(found.iter().filter(|passage| passage.is_code).count(), 1);
    }

    #[test]
    fn words_are_found_at_their_beginning() {
        assert_eq!(place("The capital, or API", "api"), Some(16));
        assert_eq!(place("give --rate 5", "--rate"), Some(5));
        assert_eq!(place("separate", "rate"), None);
        assert!(has_all("Bursty traffic", &words(&["burst", "TRAFFIC".to_lowercase().as_str()])));
    }

    #[test]
    fn a_long_passage_is_cut_around_the_word() {
        let long = format!("{} needle {}", "before ".repeat(30), "after ".repeat(30));
        let shown = excerpt(&long, &words(&["needle"]));
        assert!(shown.starts_with("… before") && shown.contains(" needle after") && shown.ends_with(" …"), "{shown}");
        assert_eq!(excerpt("short", &words(&["none"])), "short");
    }
}
