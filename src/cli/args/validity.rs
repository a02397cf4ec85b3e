//! What is done about a run whose numbers do not deserve belief.

use clap::Args;

use crate::cli::outcome::Invalid;

/// Whether an INVALID run fails the command.
#[derive(Debug, Args)]
pub(in crate::cli) struct ValidityArgs {
    /// Exit with 0 or 1 as if the run were valid; the report still says INVALID, and why
    #[arg(long)]
    allow_invalid: bool,
}

impl ValidityArgs {
    pub(in crate::cli) fn policy(&self) -> Invalid {
        if self.allow_invalid { Invalid::Allowed } else { Invalid::Refused }
    }
}
