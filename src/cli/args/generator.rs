//! What this machine runs of a plan, when it begins, and whether it is asked first what it can do.

use clap::Args;

use crate::record::Shard;
use crate::session::settings::{MachineCheck, Share};

/// Whether this machine is asked first what it can do, and heeded.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "This machine")]
pub(in crate::cli) struct MachineArgs {
    /// Do not ask first, for half a second, what this machine can do
    #[arg(long)]
    no_calibration: bool,

    /// Run a plan that asks for more than this machine can be trusted with
    #[arg(long, conflicts_with = "no_calibration")]
    force: bool,
}

/// The part of this machine beside others.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "This machine")]
pub(in crate::cli) struct ShareArgs {
    /// Run only the I-th of N equal shares of the plan, such as 1/2, while other generators run the others; limits
    /// such as --max-concurrency are each generator's own; `skyline merge` joins the runs [default: the whole plan]
    #[arg(long, value_name = "I/N", conflicts_with = "repeats")]
    pub(in crate::cli) shard: Option<Shard>,

    /// Begin at this moment, such as 2026-11-21T08:00:00Z, so that several generators begin together [default: as
    /// soon as everything is ready]
    #[arg(long, value_name = "TIME", value_parser = moment, conflicts_with = "repeats")]
    pub(in crate::cli) start_at: Option<jiff::Timestamp>,
}

impl MachineArgs {
    /// What it means.
    pub(in crate::cli) fn settings(self) -> MachineCheck {
        match (self.no_calibration, self.force) {
            (true, _) => MachineCheck::Skipped,
            (false, true) => MachineCheck::Overridden,
            (false, false) => MachineCheck::Enforced,
        }
    }
}

impl ShareArgs {
    /// What it means.
    pub(in crate::cli) fn settings(self) -> Share {
        Share { shard: self.shard, start_at: self.start_at }
    }
}

/// A moment with its offset from UTC.
fn moment(text: &str) -> Result<jiff::Timestamp, String> {
    text.parse().map_err(|_| {
        format!("`{text}` is not a moment; write it with its offset from UTC, such as 2026-11-21T08:00:00Z")
    })
}
