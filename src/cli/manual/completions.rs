//! `skyline completions`: completions for a shell.

use clap::{Args, Command};
use clap_complete::{Shell, generate};

use crate::session::{Exit, Printer, Stop};

/// Print completions for a shell.
#[derive(Debug, Args)]
pub(in crate::cli) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(in crate::cli) fn run(args: &CompletionsArgs, mut command: Command, printer: Printer) -> Result<Exit, Stop> {
    let mut script = Vec::new();
    generate(args.shell, &mut command, "skyline", &mut script);
    printer.data(&String::from_utf8_lossy(&script)).map(|()| Exit::Fine)
}
