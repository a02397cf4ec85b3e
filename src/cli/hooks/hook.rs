//! A command that is run to its end.

use std::process::ExitStatus;
use std::time::{Duration, Instant};

use super::group::Awaited;
use super::{Output, Variables, begin};
use crate::cli::exit::Stop;
use crate::cli::interrupts::Interrupts;
use crate::units;

/// How long a command that is cut off may take to tidy up.
const GRACE: Duration = Duration::from_secs(5);

/// One line for the shell, by where it comes from.
#[derive(Clone, Copy, Debug)]
pub(in crate::cli) enum Line<'a> {
    /// From a file, where it is there to be read.
    Filed(&'a str),
    /// It was typed: it may hold a secret, and is not repeated.
    Typed(&'a str),
}

impl<'a> Line<'a> {
    /// The line itself, to be run and not to be shown.
    pub(super) fn text(self) -> &'a str {
        let (Self::Filed(line) | Self::Typed(line)) = self;
        line
    }

    /// The same, where it may be shown.
    pub(super) fn shown(self) -> Option<&'a str> {
        match self {
            Self::Filed(line) => Some(line),
            Self::Typed(_) => None,
        }
    }

    /// What it adds to a sentence about it.
    fn quoted(self) -> String {
        self.shown().map_or_else(String::new, |line| format!(": `{line}`"))
    }
}

/// A command with a time limit.
#[derive(Clone, Copy, Debug)]
pub(in crate::cli) struct Hook<'a> {
    /// What it is called where something is said of it: `reset`, say.
    pub(in crate::cli) name: &'a str,
    pub(in crate::cli) line: Line<'a>,
    /// It may take so long.
    pub(in crate::cli) limit: Duration,
}

impl Hook<'_> {
    /// Long enough for a server to load a large model.
    pub(in crate::cli) const USUAL_LIMIT: Duration = Duration::from_mins(15);

    /// Runs it and waits for its end; what it leaves running in the background stays. A second Ctrl-C cuts it off: the
    /// first lets it bring what it began to an end.
    ///
    /// # Errors
    ///
    /// When it cannot be started, fails, takes too long or is cut off, with the end of what it wrote.
    pub(in crate::cli) fn run(
        self,
        variables: &Variables,
        output: &mut Output,
        interrupts: &Interrupts,
    ) -> Result<(), Stop> {
        let Self { name, line, limit } = self;
        let mut group = begin(name, line, variables, output)?;
        let end = Instant::now() + limit;
        match group.await_leader(|| interrupts.leave_is_wished() || Instant::now() >= end) {
            Awaited::Ended(status) if status.success() => Ok(()),
            Awaited::Ended(status) => Err(self.failure(&format!("failed: {}", said(status)), output)),
            Awaited::StillThere => {
                group.end(GRACE);
                if interrupts.leave_is_wished() {
                    return Err(Stop::interrupted(format!(
                        "the {name} command was cut off{}",
                        line.quoted()
                    )));
                }
                Err(self.failure(&format!("took longer than {} and was ended", units::spoken(limit)), output))
            }
        }
    }

    fn failure(self, what: &str, output: &Output) -> Stop {
        let Self { name, line, .. } = self;
        Stop::impossible(format!(
            "the {name} command {what}{}\n{}\nhint: run it by itself until it does what it should",
            line.quoted(),
            output.end()
        ))
    }
}

/// How a process ended, as a person reads it.
pub(super) fn said(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("it exited with {code}"),
        // Without a code there was a signal, which the status names.
        None => format!("it was ended by a {status}"),
    }
}
