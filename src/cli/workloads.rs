//! `skyline workloads`: what can be run.

use std::fmt::Write as _;

use clap::{Args, Subcommand};

use super::args::survey;
use super::exit::{Exit, Stop};
use super::printer::Printer;
use crate::workload::{WorkloadSpec, library};

/// List the embedded workloads, or show one.
#[derive(Debug, Args)]
pub(super) struct WorkloadsArgs {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Print a workload's TOML, to start your own from: `skyline workloads show short_chat > my.toml`
    Show {
        /// Name of an embedded workload, or the path of a file, which is then checked
        workload: String,
    },
}

pub(super) fn run(args: &WorkloadsArgs, printer: Printer) -> Result<Exit, Stop> {
    match &args.action {
        None => printer.data(&list()?)?,
        Some(Action::Show { workload }) => printer.data(&show(workload)?)?,
    }
    Ok(Exit::Fine)
}

fn list() -> Result<String, Stop> {
    let workloads = library::all().map_err(Stop::impossible)?;
    let width = workloads.iter().map(|spec| spec.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for spec in &workloads {
        let _ = writeln!(text, "{:width$}  {}", spec.name, spec.description);
    }
    text.push_str("\nRun one:            skyline bench short_chat 60\n");
    text.push_str("Start your own:     skyline workloads show short_chat > my.toml\n");
    Ok(text)
}

/// The text of a workload that is sound; an unsound one is answered with its mistakes.
fn show(workload: &str) -> Result<String, Stop> {
    WorkloadSpec::load_with(workload, &|trace, seed| survey(trace, seed)).map_err(Stop::usage)?;
    match library::source(workload) {
        Some(source) => Ok(source.to_owned()),
        None => std::fs::read_to_string(workload).map_err(Stop::usage),
    }
}
