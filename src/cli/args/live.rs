//! How progress is shown.

use clap::{Args, ValueEnum};

use crate::live::Screen;

/// Whether progress is shown, and how.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Output")]
pub(in crate::cli) struct LiveArgs {
    /// How progress is shown on a terminal: `dashboard`, on all of it while a run is on, where there are 60 columns and 12
    /// rows or more, or `line`; elsewhere a line is printed every five seconds
    #[arg(long, value_name = "HOW", value_enum, hide_possible_values = true, default_value_t = LiveForm::Dashboard)]
    live: LiveForm,

    /// Do not show progress
    #[arg(long, short, conflicts_with = "live")]
    pub(in crate::cli) quiet: bool,
}

/// Forms of progress on a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LiveForm {
    /// On the whole terminal while a run is on, which then is as it was before
    Dashboard,
    /// In one line, redrawn in place
    Line,
}

impl LiveArgs {
    /// What progress is shown on.
    pub(in crate::cli) fn screen(self) -> Screen {
        match self.live {
            _ if self.quiet => Screen::Quiet,
            LiveForm::Dashboard => Screen::detect(),
            LiveForm::Line => Screen::detect().in_a_line(),
        }
    }
}
