//! `skyline guide`: the chapters of the guide.

use std::fmt::Write as _;

use clap::Args;

use super::page::page;
use super::search::found;
use crate::cli::output::{NARROWEST, WIDEST, columns};
use crate::guide::{TOPICS, Topic};
use crate::session::{Exit, Printer, Stop};
use crate::workload::nearest;

/// Show a chapter of the guide, list all of them, or search them.
#[derive(Debug, Args)]
pub(in crate::cli) struct GuideArgs {
    /// The topic to show [default: a list of all]
    topic: Option<String>,

    /// List the sections that have all of these words
    #[arg(long, value_name = "WORDS", conflicts_with = "topic")]
    search: Option<String>,

    /// Print the page for coding agents: Markdown with front matter, to save as SKILL.md
    #[arg(long, conflicts_with_all = ["topic", "search"])]
    skill: bool,
}

pub(in crate::cli) fn run(args: &GuideArgs, printer: Printer) -> Result<Exit, Stop> {
    if let Some(page) = Topic::skill().filter(|_| args.skill) {
        printer.data(&page)?;
        return Ok(Exit::Fine);
    }
    let text = match (&args.topic, &args.search) {
        (Some(topic), _) => {
            let width = columns().unwrap_or(NARROWEST).clamp(NARROWEST, WIDEST);
            page(Topic::find(topic).ok_or_else(|| unknown(topic))?.text, width)
        }
        (None, Some(words)) => found(words).ok_or_else(|| nothing(words))?,
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

fn nothing(words: &str) -> Stop {
    Stop::usage(format!(
        "no section of the guide has `{}`\nhint: fewer or shorter words find more; `skyline guide` lists all topics",
        words.trim()
    ))
}

fn unknown(asked: &str) -> Stop {
    let known = TOPICS.iter().flat_map(|topic| std::iter::once(topic.name).chain(topic.also.iter().copied()));
    let near = nearest(asked, known).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    Stop::usage(format!(
        "the guide has no topic `{asked}`{near}\nhint: `skyline guide` lists all topics; `skyline guide --search \
         {asked}` looks into them"
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
    fn a_wrong_topic_is_answered_with_the_nearest() {
        assert!(unknown("validty").message().contains("did you mean `validity`?"));
    }
}
