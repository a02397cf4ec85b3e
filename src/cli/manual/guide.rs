//! `skyline guide`: the chapters of the guide.

use std::fmt::Write as _;

use clap::Args;

use crate::guide::{TOPICS, Topic};
use crate::report::cut;
use crate::session::{Exit, Printer, Stop};
use crate::workload::nearest;

/// Show a chapter of the guide, list all of them, or search them.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  skyline guide
  skyline guide validity | less
  skyline guide --search \"prefix cache\"")]
pub(in crate::cli) struct GuideArgs {
    /// The topic to show [default: a list of all]
    topic: Option<String>,

    /// List the sections that have all of these words
    #[arg(long, value_name = "WORDS", conflicts_with = "topic")]
    search: Option<String>,
}

pub(in crate::cli) fn run(args: &GuideArgs, printer: Printer) -> Result<Exit, Stop> {
    let text = match (&args.topic, &args.search) {
        (Some(topic), _) => Topic::find(topic).ok_or_else(|| unknown(topic))?.text.to_owned(),
        (None, Some(words)) => found(words)?,
        (None, None) => list(),
    };
    printer.data(&text)?;
    Ok(Exit::Fine)
}

fn list() -> String {
    let mut text = "Topics\n".to_owned();
    for topic in TOPICS {
        let _ = writeln!(text, "  {:<15}{}", topic.name, topic.about);
    }
    text + "\nskyline guide TOPIC shows one; skyline guide --search WORDS looks into all"
}

/// Most characters that are shown of a line that was found.
const LINE: usize = 74;

/// The sections that have all of the words: those first whose heading has them.
fn found(words: &str) -> Result<String, Stop> {
    let words: Vec<String> = words.split_whitespace().map(str::to_lowercase).collect();
    let sections = TOPICS
        .iter()
        .flat_map(|topic| topic.sections().into_iter().map(|(heading, lines)| (topic.name, heading, lines)));
    let mut hits: Vec<_> = sections
        .filter_map(|(topic, heading, lines)| Some((topic, heading, best_line(heading, &lines, &words)?)))
        .collect();
    if words.is_empty() || hits.is_empty() {
        return Err(Stop::usage(format!(
            "no section of the guide has `{}`\nhint: fewer or shorter words find more; `skyline guide` lists all topics",
            words.join(" ")
        )));
    }
    hits.sort_by_key(|(_, heading, _)| !has_all(heading, &words));
    let mut text = String::new();
    for (topic, heading, line) in hits {
        let _ = writeln!(text, "{heading}  →  skyline guide {topic}");
        if !line.is_empty() {
            let _ = writeln!(text, "    {}", cut(line.trim(), LINE));
        }
    }
    Ok(text)
}

fn has_all(line: &str, words: &[String]) -> bool {
    let line = line.to_lowercase();
    words.iter().all(|word| line.contains(word))
}

/// The line of a section that says most about `words`, if the section has all of them: one with all words, else the first
/// with one, else none.
fn best_line<'t>(heading: &str, lines: &[&'t str], words: &[String]) -> Option<&'t str> {
    if !has_all(&format!("{heading}\n{}", lines.join("\n")), words) {
        return None;
    }
    let with = |words: &[String]| lines.iter().copied().find(|line| has_all(line, words));
    with(words).or_else(|| words.iter().find_map(|word| with(std::slice::from_ref(word)))).or(Some(""))
}

fn unknown(asked: &str) -> Stop {
    let known = TOPICS.iter().flat_map(|topic| std::iter::once(topic.name).chain(topic.also.iter().copied()));
    let near = nearest(asked, known).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    Stop::usage(format!(
        "the guide has no topic `{asked}`{near}\nhint: `skyline guide` lists all topics; `skyline guide --search {asked}` looks \
         into them"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_has_every_topic_in_a_line_of_the_terminal() {
        let list = list();
        for topic in TOPICS {
            assert!(list.contains(&format!("\n  {} ", topic.name)), "{}", topic.name);
        }
        assert!(list.lines().all(|line| line.chars().count() <= 100), "{list}");
    }

    #[test]
    fn a_search_leads_to_a_topic() {
        let text = found("Burst").unwrap();
        assert!(text.contains("skyline guide workloads"), "{text}");
        assert!(
            text.lines().filter(|line| line.starts_with(' ')).all(|line| line.chars().count() < 80),
            "{text}"
        );
        assert!(found("xyzzy burst").is_err() && found(" ").is_err());
    }

    #[test]
    fn a_section_is_found_by_its_words() {
        let lines = ["", "A rate steps up.", "The rate is a mean."];
        let line = |words: &[&str]| {
            best_line("Bursts", &lines, &words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(line(&["burst", "rate"]), Some("A rate steps up."));
        assert_eq!(line(&["rate", "mean"]), Some("The rate is a mean."));
        assert_eq!(line(&["burst"]), Some(""));
        assert_eq!(line(&["rate", "user"]), None);
    }

    #[test]
    fn a_wrong_topic_is_answered_with_the_nearest() {
        assert!(unknown("validty").message().contains("did you mean `validity`?"));
    }
}
