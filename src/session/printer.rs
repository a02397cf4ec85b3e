//! The one way to standard output and standard error: data to the first, words to the second.

use std::io::{self, ErrorKind, IsTerminal, Write};

use crate::live;
use crate::report::{Out, printable};
use crate::session::exit::Stop;

/// Writes for a person or a pipe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Printer;

impl Printer {
    /// Data: what a script would read. A reader that has gone away is no error; a full disk is.
    #[allow(clippy::unused_self)] // Only who was handed the printer may print.
    pub(crate) fn data(self, text: &str) -> Result<(), Stop> {
        let end = if text.ends_with('\n') { "" } else { "\n" };
        let mut out = io::stdout().lock();
        match write!(out, "{text}{end}").and_then(|()| out.flush()) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                Err(Stop::impossible(format!("cannot write to standard output: {error}")))
            }
            _ => Ok(()),
        }
    }

    /// Data that is written piece by piece, under the same rules.
    #[allow(clippy::unused_self)] // Only who was handed the printer may print.
    pub(crate) fn stream(self, write: impl FnOnce(Out<'_>) -> io::Result<()>) -> Result<(), Stop> {
        let mut out = WatchedRun { out: io::BufWriter::new(io::stdout()), gone: false };
        match write(&mut out).and_then(|()| out.flush()) {
            // Writers of tables hide the kind of an error in one of their own.
            Err(error) if !out.gone => {
                Err(Stop::impossible(format!("cannot write to standard output: {error}")))
            }
            _ => Ok(()),
        }
    }

    /// Words: what only a person would read. They may hold what a server said, which must not steer a terminal.
    #[allow(clippy::unused_self)] // Only who was handed the printer may print.
    pub(crate) fn words(self, text: &str) {
        text.lines().for_each(|line| live::say(&printable(line)));
    }
}

/// Remembers that its reader has gone away.
struct WatchedRun<W> {
    out: W,
    gone: bool,
}

impl<W> WatchedRun<W> {
    fn watch<T>(&mut self, outcome: io::Result<T>) -> io::Result<T> {
        self.gone |= outcome.as_ref().is_err_and(|error| error.kind() == ErrorKind::BrokenPipe);
        outcome
    }
}

impl<W: Write> Write for WatchedRun<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes);
        self.watch(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.out.flush();
        self.watch(flushed)
    }
}

/// Whether data goes to a terminal that wants colour (<https://no-color.org>).
pub(crate) fn wants_colour() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    io::stdout().is_terminal()
        && !is_set("NO_COLOR")
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}
