//! A command that is run to its end.

use std::process::ExitStatus;
use std::time::{Duration, Instant};

use super::group::Awaited;
use super::{Output, Variables, begin};
use crate::session::exit::Stop;
use crate::session::interrupts::Interrupts;
use crate::units;

/// How long a command that is cut off may take to tidy up.
const GRACE: Duration = Duration::from_secs(5);

/// One line for the shell, by where it comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Line<'a> {
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
pub(crate) struct Hook<'a> {
    /// What it is called where something is said of it: `reset`, say.
    pub(crate) name: &'a str,
    pub(crate) line: Line<'a>,
    /// It may take so long.
    pub(crate) limit: Duration,
}

impl Hook<'_> {
    /// Long enough for a server to load a large model.
    pub(crate) const USUAL_LIMIT: Duration = Duration::from_mins(15);

    /// Runs it and waits for its end; what it leaves running in the background stays. A second Ctrl-C cuts it off: the
    /// first lets it bring what it began to an end.
    ///
    /// # Errors
    ///
    /// When it cannot be started, fails, takes too long or is cut off, with the end of what it wrote.
    pub(crate) fn run(
        self,
        variables: &Variables,
        output: &mut Output,
        interrupts: &Interrupts,
    ) -> Result<(), Stop> {
        self.run_unless(&|| interrupts.leave_is_wished(), variables, output)
    }

    /// The same, but that nothing cuts it off except its time limit: for a command that tidies up, which is wanted most
    /// when a person leaves.
    ///
    /// # Errors
    ///
    /// When it cannot be started, fails or takes too long, with the end of what it wrote.
    pub(crate) fn run_in_any_case(self, variables: &Variables, output: &mut Output) -> Result<(), Stop> {
        self.run_unless(&|| false, variables, output)
    }

    fn run_unless(
        self,
        cut_off: &dyn Fn() -> bool,
        variables: &Variables,
        output: &mut Output,
    ) -> Result<(), Stop> {
        let Self { name, line, limit } = self;
        let mut group = begin(name, line, variables, output)?;
        let end = Instant::now() + limit;
        match group.await_leader(|| cut_off() || Instant::now() >= end) {
            Awaited::Ended(status) if status.success() => Ok(()),
            Awaited::Ended(status) => Err(self.failure(&format!("failed: {}", said(status)), output)),
            Awaited::StillThere => {
                group.end(GRACE);
                if cut_off() {
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
