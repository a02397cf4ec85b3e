//! Why a verb stops, and with which exit code.

use std::fmt::Display;

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
    /// The user stopped the run.
    Interrupted,
}

/// Reason why a verb could not do its work. It has a message fit to be read, and the exit code.
#[derive(Debug)]
pub(crate) struct Stop {
    exit: Exit,
    message: String,
    /// Whether the server failed, and nothing on this side.
    pub(crate) of_server: bool,
}

impl Stop {
    /// Returns a stop because of a mistake in what was typed.
    pub(crate) fn usage(message: impl Display) -> Self {
        Self { exit: Exit::Usage, message: message.to_string(), of_server: false }
    }

    /// Returns a stop because what was asked cannot be done.
    pub(crate) fn impossible(message: impl Display) -> Self {
        Self { exit: Exit::Invalid, message: message.to_string(), of_server: false }
    }

    /// Returns a stop by the user.
    pub(crate) fn interrupted(message: impl Display) -> Self {
        Self { exit: Exit::Interrupted, message: message.to_string(), of_server: false }
    }

    /// Returns the stop with what it is about before its message.
    pub(crate) fn about(self, what: &str) -> Self {
        Self { message: format!("{what}: {}", self.message), ..self }
    }

    /// Returns the stop as a failure of the server. The server did not start, did not become ready, or ended.
    pub(crate) fn of_server(self) -> Self {
        Self { of_server: true, ..self }
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
        (Err(one), Err(other)) => Err(Stop { message: format!("{}\nerror: {}", one.message, other.message), ..one }),
        (Err(stop), _) | (_, Err(stop)) => Err(stop),
    }
}

/// Fine, or all mistakes as one error, with the exit code of the first.
pub(crate) fn all(outcomes: impl IntoIterator<Item = Result<(), Stop>>) -> Result<(), Stop> {
    outcomes.into_iter().reduce(|one, other| both(one, other).map(drop)).unwrap_or(Ok(()))
}
