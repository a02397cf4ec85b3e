//! `skyline workloads`: what can be run.

mod fit;

use std::fmt::Write as _;

use clap::{Args, Subcommand};

use crate::session::{Exit, Printer, Stop, survey};
use crate::workload::{WorkloadSpec, library};

/// List the embedded workloads, show one, or fit one to a run or a trace.
#[derive(Debug, Args)]
pub(in crate::cli) struct WorkloadsArgs {
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
    /// Write a workload whose laws are fitted to a stored run or to a trace, and say how well they fit
    Fit(Box<fit::FitArgs>),
}

pub(in crate::cli) fn run(args: &WorkloadsArgs, printer: Printer) -> Result<Exit, Stop> {
    match &args.action {
        None => printer.data(&list()?)?,
        Some(Action::Show { workload }) => printer.data(&show(workload)?)?,
        Some(Action::Fit(args)) => fit::run(args, printer)?,
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
    text.push_str("Fit one to a run:   skyline workloads fit results/my-run > fitted.toml\n");
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
