//! What the process says by its exit code.

use std::fmt::Display;
use std::process::ExitCode;

/// Exit codes are an interface: scripts and CI decide by them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// All is well.
    Fine,
    /// An objective was missed.
    Missed,
    /// The command line or the workload has a mistake.
    Usage,
    /// The run was impossible, or its numbers do not deserve belief.
    Invalid,
    /// A person stopped the run.
    Interrupted,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Fine => 0,
            Exit::Missed => 1,
            Exit::Usage => 2,
            Exit::Invalid => 3,
            Exit::Interrupted => 130,
        })
    }
}

/// Why a verb could not do its work: a message fit to be read, and the exit code.
#[derive(Debug)]
pub(crate) struct Stop {
    exit: Exit,
    message: String,
    /// The server failed, and nothing on this side.
    of_server: bool,
}

impl Stop {
    /// What was typed has a mistake.
    pub(crate) fn usage(message: impl Display) -> Self {
        Self { exit: Exit::Usage, message: message.to_string(), of_server: false }
    }

    /// What was asked cannot be done.
    pub(crate) fn impossible(message: impl Display) -> Self {
        Self { exit: Exit::Invalid, message: message.to_string(), of_server: false }
    }

    /// A person stopped it.
    pub(crate) fn interrupted(message: impl Display) -> Self {
        Self { exit: Exit::Interrupted, message: message.to_string(), of_server: false }
    }

    /// The same, with what it is about before it.
    pub(crate) fn about(self, what: &str) -> Self {
        Self { message: format!("{what}: {}", self.message), ..self }
    }

    /// The same, told as the server's own failing: it did not start, did not become ready, or ended.
    pub(crate) fn of_server(self) -> Self {
        Self { of_server: true, ..self }
    }

    pub(crate) fn is_of_server(&self) -> bool {
        self.of_server
    }

    /// The message without its hints.
    pub(crate) fn first_line(&self) -> String {
        self.message.lines().next().unwrap_or_default().to_owned()
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }
}

/// Mistakes that were found so far, to be reported all at once.
#[derive(Debug, Default)]
pub(crate) struct Mistakes(Vec<Stop>);

impl Mistakes {
    /// The value, or nothing and one mistake more.
    pub(crate) fn note<T>(&mut self, outcome: Result<T, Stop>) -> Option<T> {
        outcome.map_err(|mistake| self.0.push(mistake)).ok()
    }

    /// All of them as one, with the exit code of the first; nothing where there are none.
    pub(crate) fn found(self) -> Option<Stop> {
        let messages: Vec<_> = self.0.iter().map(|stop| stop.message.clone()).collect();
        let first = self.0.into_iter().next()?;
        Some(Stop { message: messages.join("\nerror: "), ..first })
    }
}
