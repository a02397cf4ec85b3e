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

/// Both values, or all mistakes in them.
pub(crate) fn both<A, B>(one: Result<A, Stop>, other: Result<B, Stop>) -> Result<(A, B), Stop> {
    match (one, other) {
        (Ok(one), Ok(other)) => Ok((one, other)),
        (Err(one), Err(other)) => {
            Err(Stop { message: format!("{}\nerror: {}", one.message, other.message), ..one })
        }
        (Err(stop), _) | (_, Err(stop)) => Err(stop),
    }
}

/// Fine, or all mistakes as one error, with the exit code of the first.
pub(crate) fn all(outcomes: impl IntoIterator<Item = Result<(), Stop>>) -> Result<(), Stop> {
    outcomes.into_iter().fold(Ok(()), |so_far, outcome| both(so_far, outcome).map(drop))
}
