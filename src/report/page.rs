//! A page of text in the making: wrapped, coloured where wanted, safe to print.

use std::fmt::Write as _;

use super::grid::Grid;
use crate::analysis::Status;
use crate::units::steers;

/// How a page is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Whether colours are used.
    pub colour: Colour,
    /// Columns of the terminal.
    pub width: usize,
}

impl Style {
    /// No colour, 100 columns: for pipes and files.
    pub const PLAIN: Self = Self { colour: Colour::Plain, width: 100 };
}

/// Whether colours are used. Nothing is said by colour alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// ANSI colours.
    Ansi,
    /// None.
    Plain,
}

/// How a piece of text stands out, where there is colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Normal,
    Strong,
    Faint,
    Good,
    Bad,
}

impl Tone {
    const fn code(self) -> Option<&'static str> {
        match self {
            Self::Normal => None,
            Self::Strong => Some("1"),
            Self::Faint => Some("2"),
            Self::Good => Some("1;32"),
            Self::Bad => Some("1;31"),
        }
    }
}

/// The page: what stands on it, one under another, until it is written as text or told otherwise.
#[derive(Debug)]
pub(crate) struct Page {
    style: Style,
    elements: Vec<Element>,
}

/// A piece of a page.
#[derive(Debug)]
pub(crate) enum Element {
    Blank,
    Heading(String),
    /// One line as it is.
    Line(Tone, String),
    /// A text behind a label.
    Entry {
        tone: Tone,
        label: String,
        text: String,
    },
    Grid(Grid),
}

impl Page {
    pub(crate) fn new(style: Style) -> Self {
        Self { style, elements: Vec::new() }
    }

    /// The page as text. Every text that is on it goes through [`printable`].
    pub(crate) fn finish(self) -> String {
        let mut written = Written { style: self.style, out: String::new() };
        for element in self.elements {
            match element {
                Element::Blank => written.out.push('\n'),
                Element::Heading(text) => {
                    written.out.push('\n');
                    written.line(Tone::Strong, &text);
                }
                Element::Line(tone, text) => written.line(tone, &text),
                Element::Entry { tone, label, text } => written.entry(tone, &label, &text),
                Element::Grid(grid) => written.grid(grid),
            }
        }
        written.out
    }

    /// What stands on it.
    pub(crate) fn elements(self) -> Vec<Element> {
        self.elements
    }

    pub(crate) fn blank(&mut self) {
        self.elements.push(Element::Blank);
    }

    /// A blank line and a heading.
    pub(crate) fn heading(&mut self, text: &str) {
        self.elements.push(Element::Heading(text.to_owned()));
    }

    /// One line as it is, however long.
    pub(crate) fn line(&mut self, tone: Tone, text: &str) {
        self.elements.push(Element::Line(tone, text.to_owned()));
    }

    /// A grid, its header faint.
    pub(crate) fn grid(&mut self, grid: Grid) {
        self.elements.push(Element::Grid(grid));
    }

    /// A text behind a label, wrapped to the page's width, later lines under the first one's text.
    pub(crate) fn entry(&mut self, tone: Tone, label: &str, text: &str) {
        self.elements.push(Element::Entry { tone, label: label.to_owned(), text: text.to_owned() });
    }
}

/// Demands, each with its status and its line.
pub(crate) fn judgements<'a>(page: &mut Page, judgements: impl Iterator<Item = (Status, &'a str)>) {
    for (i, (status, line)) in judgements.enumerate() {
        if i == 0 {
            page.heading("Objectives");
        }
        let (sign, tone) = match status {
            Status::Met => ("  ✓ ", Tone::Good),
            Status::Missed => ("  ✗ ", Tone::Bad),
            Status::Unresolvable => ("  ? ", Tone::Bad),
        };
        page.entry(tone, sign, line);
    }
}

/// A page's text in the making.
struct Written {
    style: Style,
    out: String,
}

impl Written {
    fn line(&mut self, tone: Tone, text: &str) {
        let text = printable(text.trim_end());
        match tone.code().filter(|_| self.style.colour == Colour::Ansi) {
            // Writing to a string cannot fail.
            Some(code) => _ = writeln!(self.out, "\x1b[{code}m{text}\x1b[0m"),
            None => _ = writeln!(self.out, "{text}"),
        }
    }

    fn grid(&mut self, grid: Grid) {
        for (i, line) in grid.lines(self.style.width).iter().enumerate() {
            self.line(if i == 0 { Tone::Faint } else { Tone::Normal }, line);
        }
    }

    fn entry(&mut self, tone: Tone, label: &str, text: &str) {
        let indent = label.chars().count();
        let mut start = label.to_owned();
        for line in wrap(&printable(text), self.style.width.saturating_sub(indent).max(30)) {
            self.line(tone, &format!("{start}{line}"));
            start = " ".repeat(indent);
        }
    }
}

/// Breaks a text into lines of at most `width` characters at its spaces, and a longer word where the line ends.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let Some(line) = lines.last_mut() else { break };
        let used = line.chars().count();
        if used == 0 {
            line.push_str(word);
        } else if used + 1 + word.chars().count() <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
        while let Some(line) = lines.last_mut()
            && let Some((end, _)) = line.char_indices().nth(width)
        {
            let rest = line.split_off(end);
            lines.push(rest);
        }
    }
    lines
}

/// The text with everything that could steer a terminal, or turn the direction of writing, made visible: what
/// a server sends must not write outside its place.
#[must_use]
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if steers(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_steers_the_terminal() {
        let hostile = "a\x1b[2Jb\r\nc\u{9b}31m\u{202e}d\u{7}";
        assert_eq!(printable(hostile), r"a\u{1b}[2Jb\r\nc\u{9b}31m\u{202e}d\u{7}");
        let unseen = "a\u{fffe}\u{ffff}\u{61c}\u{ad}\u{180e}\u{2060}\u{2064}\u{e0041}é漢";
        let shown = r"a\u{fffe}\u{ffff}\u{61c}\u{ad}\u{180e}\u{2060}\u{2064}\u{e0041}é漢";
        assert_eq!(printable(unseen), shown);
        let mut page = Page::new(Style { colour: Colour::Ansi, width: 80 });
        page.line(Tone::Bad, hostile);
        assert_eq!(page.finish().matches('\x1b').count(), 2, "only the page's own colours");
    }

    #[test]
    fn entries_wrap_under_their_text() {
        let mut page = Page::new(Style { colour: Colour::Plain, width: 40 });
        page.entry(Tone::Normal, "  cure: ", "give this machine less other work, or several machines");
        assert_eq!(
            page.finish(),
            "  cure: give this machine less other\n        work, or several machines\n"
        );
        assert_eq!(wrap("see aaaaabbbbbcc now", 5), ["see", "aaaaa", "bbbbb", "cc", "now"]);
    }
}
