//! The one way to standard output and standard error: data to the first, words to the second.

use std::io::{self, IsTerminal, Write};

/// Writes for a person or a pipe. A reader that has gone away is no error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Printer;

impl Printer {
    /// Data: what a script would read.
    #[allow(clippy::unused_self)] // Only who was handed the printer may print.
    pub(super) fn data(self, text: &str) {
        let mut out = io::stdout().lock();
        let _ = out.write_all(text.as_bytes());
        if !text.ends_with('\n') {
            let _ = out.write_all(b"\n");
        }
        let _ = out.flush();
    }

    /// Words: what only a person would read.
    #[allow(clippy::unused_self)] // Only who was handed the printer may print.
    pub(super) fn words(self, text: &str) {
        let _ = writeln!(io::stderr().lock(), "{text}");
    }
}

/// Whether data goes to a terminal that wants colour (<https://no-color.org>).
pub(super) fn wants_colour() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    io::stdout().is_terminal()
        && !is_set("NO_COLOR")
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}
