//! Words and data for the user at the terminal.

use std::io::{self, ErrorKind, Write};
use std::sync::Arc;

use super::stop::Stop;
use crate::live;
use crate::report::{Out, printable};

/// Writes for a user or a pipe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Printer;

impl Printer {
    /// Data: what a script would read. A reader that has gone away is no error; a full disk is.
    pub(crate) fn data(self, text: &str) -> Result<(), Stop> {
        let end = if text.ends_with('\n') { "" } else { "\n" };
        self.stream(|out| write!(out, "{text}{end}"))
    }

    /// Data that is written piece by piece, under the same rules.
    #[allow(clippy::unused_self)] // Only code that was handed the printer may print.
    pub(crate) fn stream(self, write: impl FnOnce(Out<'_>) -> io::Result<()>) -> Result<(), Stop> {
        let mut out = PipeWriter { out: io::BufWriter::new(io::stdout()), gone: false };
        match write(&mut out).and_then(|()| out.flush()) {
            // Writers of tables hide the kind of an error in one of their own.
            Err(error) if !out.gone => Err(Stop::impossible(format!("cannot write to standard output: {error}"))),
            _ => Ok(()),
        }
    }

    /// Words: what only a user reads. They may hold what a server said, which must not steer a terminal.
    #[allow(clippy::unused_self)] // Only code that was handed the printer may print.
    pub(crate) fn words(self, text: &str) {
        text.lines().for_each(|line| live::say(&printable(line)));
    }
}

/// Remembers that its reader has gone away.
struct PipeWriter<W> {
    out: W,
    gone: bool,
}

/// Returns whether the reader of standard output has gone away. The reader is a pipe or a terminal. A terminal that is
/// gone gives the error of a broken disk.
fn is_gone(error: &io::Error) -> bool {
    #[cfg(unix)]
    let hung_up = || {
        use rustix::io::Errno;
        error.raw_os_error() == Some(Errno::IO.raw_os_error())
            && rustix::termios::tcgetattr(io::stdout()).err() == Some(Errno::IO)
    };
    #[cfg(not(unix))]
    let hung_up = || false;
    error.kind() == ErrorKind::BrokenPipe || hung_up()
}

impl<W> PipeWriter<W> {
    fn watch<T>(&mut self, outcome: io::Result<T>) -> io::Result<T> {
        self.gone |= outcome.as_ref().is_err_and(is_gone);
        outcome
    }
}

impl<W: Write> Write for PipeWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes);
        self.watch(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.out.flush();
        self.watch(flushed)
    }
}

/// Makes a file at its size limit (`ulimit -f`) fail as on a full disk. The signal for it ends no process.
pub(crate) fn outlive_file_limits() {
    #[cfg(unix)]
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
}
