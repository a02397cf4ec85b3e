//! A page of text in the making: wrapped, coloured where wanted, safe to print.

use std::fmt::Write as _;

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

/// The page. Every text that is put on it goes through [`printable`].
#[derive(Debug)]
pub(crate) struct Page {
    style: Style,
    out: String,
}

impl Page {
    pub(crate) fn new(style: Style) -> Self {
        Self { style, out: String::new() }
    }

    pub(crate) fn finish(self) -> String {
        self.out
    }

    pub(crate) fn blank(&mut self) {
        self.out.push('\n');
    }

    /// A blank line and a heading.
    pub(crate) fn heading(&mut self, text: &str) {
        self.blank();
        self.line(Tone::Strong, text);
    }

    /// One line as it is, however long.
    pub(crate) fn line(&mut self, tone: Tone, text: &str) {
        let text = printable(text.trim_end());
        match tone.code().filter(|_| self.style.colour == Colour::Ansi) {
            // Writing to a string cannot fail.
            Some(code) => _ = writeln!(self.out, "\x1b[{code}m{text}\x1b[0m"),
            None => _ = writeln!(self.out, "{text}"),
        }
    }

    /// A text behind a label, wrapped to the page's width, later lines under the first one's text.
    pub(crate) fn entry(&mut self, tone: Tone, label: &str, text: &str) {
        let indent = label.chars().count();
        let mut start = label.to_owned();
        for line in wrap(&printable(text), self.style.width.saturating_sub(indent).max(30)) {
            self.line(tone, &format!("{start}{line}"));
            start = " ".repeat(indent);
        }
    }
}

/// Breaks a text into lines of at most `width` characters at its spaces; a longer word gets a line of its own.
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
    }
    lines
}

/// The text with everything that could steer a terminal, or turn the direction of writing, made visible: what
/// a server sends must not write outside its place.
#[must_use]
pub fn printable(text: &str) -> String {
    let steers = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
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
    }
}
