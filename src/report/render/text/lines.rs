//! Lines of text: wrapped to their width, coloured where wanted, and unable to steer a terminal.

use std::fmt::Write as _;

use crate::report::document::Tone;
use crate::report::render::printable::printable;

/// Fewest characters that a wrapped text gets, however long the label before it is.
const NARROWEST: usize = 30;

/// Style in which text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Whether colours are used.
    pub colour: Colour,
    /// Columns of the terminal.
    pub width: usize,
}

impl Style {
    /// Style without colour, 100 columns wide: for pipes and files.
    pub const PLAIN: Self = Self { colour: Colour::Plain, width: 100 };
}

/// Whether colours are used. Nothing is said by colour alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// ANSI colours.
    Ansi,
    /// No colour.
    Plain,
}

/// Weight with which a line stands out, where there is colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Weight {
    Normal,
    Strong,
    Faint,
    Good,
    Bad,
}

impl Weight {
    fn ansi(self) -> console::Style {
        let plain = console::Style::new().force_styling(true);
        match self {
            Self::Normal => plain,
            Self::Strong => plain.bold(),
            Self::Faint => plain.dim(),
            Self::Good => plain.green().bold(),
            Self::Bad => plain.red().bold(),
        }
    }
}

impl From<Tone> for Weight {
    fn from(tone: Tone) -> Self {
        tone.choose([Self::Normal, Self::Good, Self::Bad])
    }
}

/// Lines in the making. Every text goes through [`printable`].
pub(super) struct TextLines {
    pub(super) style: Style,
    pub(super) out: String,
}

impl TextLines {
    pub(super) const fn new(style: Style) -> Self {
        Self { style, out: String::new() }
    }

    /// A blank line, unless nothing or one stands before it.
    pub(super) fn blank(&mut self) {
        if !self.out.is_empty() && !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
    }

    /// One line as it is, however long.
    pub(super) fn line(&mut self, weight: Weight, text: &str) {
        let text = printable(text.trim_end());
        // Writing to a string cannot fail.
        _ = match self.style.colour {
            Colour::Ansi => writeln!(self.out, "{}", weight.ansi().apply_to(text)),
            Colour::Plain => writeln!(self.out, "{text}"),
        };
    }

    /// Writes a text behind a label, wrapped to the width. Later lines stand under the first one's text.
    pub(super) fn wrapped(&mut self, weight: Weight, label: &str, text: &str) {
        let indent = label.chars().count();
        let mut start = label.to_owned();
        for line in wrap(&printable(text), self.style.width.saturating_sub(indent).max(NARROWEST)) {
            self.line(weight, &format!("{start}{line}"));
            start = " ".repeat(indent);
        }
    }
}

/// The words of a text; a figure and its unit are one.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let unit = word.trim_end_matches([',', ';', ':', '.', ')']);
        let is_figure = |before: &&mut String| before.ends_with(|sign: char| sign.is_ascii_digit());
        match words.last_mut().filter(is_figure) {
            Some(figure) if matches!(unit, "%" | "ms" | "s" | "min") => *figure = format!("{figure} {word}"),
            _ => words.push(word.to_owned()),
        }
    }
    words
}

/// Breaks a text into lines of at most `width` characters at its spaces. A longer word breaks where the line ends.
pub(in crate::report::render) fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = Vec::new();
    let (mut line, mut used) = (String::new(), 0);
    for word in &words(text) {
        let letters = word.chars().count();
        if used > 0 && used + 1 + letters <= width {
            line.push(' ');
            line.push_str(word);
            used += 1 + letters;
            continue;
        }
        if used > 0 {
            lines.push(std::mem::take(&mut line));
        }
        let mut rest = word.as_str();
        while let Some((end, _)) = rest.char_indices().nth(width) {
            lines.push(rest[..end].to_owned());
            rest = &rest[end..];
        }
        rest.clone_into(&mut line);
        used = rest.chars().count();
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_steers_the_terminal() {
        let hostile = "a\x1b[2Jb\r\nc\u{9b}31m\u{202e}d\u{7}";
        let mut lines = TextLines::new(Style { colour: Colour::Ansi, width: 80 });
        lines.line(Weight::Bad, hostile);
        let seen = console::strip_ansi_codes(&lines.out);
        assert_eq!(seen, format!("{}\n", printable(hostile)), "only the renderer's own colours");
    }

    #[test]
    fn a_text_wraps_under_its_beginning() {
        let mut lines = TextLines::new(Style { colour: Colour::Plain, width: 40 });
        lines.wrapped(Weight::Normal, "  cure: ", "free up CPU on this machine, or split the load");
        assert_eq!(lines.out, "  cure: free up CPU on this machine, or\n        split the load\n");
        assert_eq!(wrap("see aaaaabbbbbcc now", 5), ["see", "aaaaa", "bbbbb", "cc", "now"]);
        assert_eq!(wrap("limit: 10 %, not 12 ms", 9), ["limit:", "10 %, not", "12 ms"]);
        assert_eq!(wrap("aaa bbbbbbb", 5), ["aaa", "bbbbb", "bb"]);
        assert_eq!((wrap("", 5), wrap("ab", 0)), (vec![String::new()], vec!["a".to_owned(), "b".to_owned()]));
    }

    #[test]
    fn a_long_word_takes_memory_in_proportion_to_its_length() {
        let lines = wrap(&"é".repeat(1_000_000), 100);
        assert_eq!(lines.len(), 10_000);
        assert!(lines.iter().map(String::capacity).sum::<usize>() < 4_000_000);
    }
}
