//! Experiments in Markdown: a line that says all, and their text.

use crate::experiment::{AbOverall, AbTest, Sweep};
use crate::report::render::escape::{block, text};
use crate::report::{Style, ab_text, sweep_text};

/// A sweep as Markdown: the answer as a heading, and its text in a block.
#[must_use]
pub fn sweep_markdown(sweep: &Sweep) -> String {
    let answer = sweep.answer.as_ref();
    let sign = match answer.map(|answer| answer.passed) {
        _ if !sweep.valid => "❌ INVALID: ",
        Some(Some(_)) => "✅ ",
        Some(None) => "❌ ",
        None => "",
    };
    let knee = || sweep.knee.as_ref().map(|knee| knee.sentence.as_str());
    let sentence = answer.map(|answer| answer.sentence.as_str()).or_else(knee);
    let headline = text(sentence.unwrap_or("the curve has no knee"));
    format!("## {sign}{headline}\n\n{}", block("text", &sweep_text(sweep, Style::PLAIN)))
}

/// An A/B experiment as Markdown: the verdict as a heading, and its text in a block.
#[must_use]
pub fn ab_markdown(test: &AbTest) -> String {
    let sign = match test.verdict {
        AbOverall::Better | AbOverall::Equivalent => "✅",
        AbOverall::Worse | AbOverall::Mixed | AbOverall::Invalid => "❌",
        AbOverall::Inconclusive | AbOverall::Unfinished => "❔",
    };
    let verdict = test.verdict.word().to_uppercase();
    let sentence = text(&test.sentence);
    format!("## {sign} {verdict}: {sentence}\n\n{}", block("text", &ab_text(test, Style::PLAIN)))
}
