//! `skyline report`: a stored run, shown again.

use std::path::PathBuf;

use clap::Args;

use super::exit::{Exit, Stop};
use super::outcome::{self, Format};
use super::printer::Printer;
use super::series;
use crate::analysis::Objective;
use crate::record::RunLog;

/// Show a stored run again.
#[derive(Debug, Args)]
pub(super) struct ReportArgs {
    /// The run's folder, its run.jsonl, or the folder of runs that were repeated
    run: PathBuf,

    /// Hold the run against this objective, in place of those it was flown with; may be repeated
    #[arg(long = "objective", value_name = "OBJECTIVE")]
    objectives: Vec<Objective>,

    /// Print the summary as JSON, and nothing else
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &ReportArgs, printer: Printer) -> Result<Exit, Stop> {
    let format = if args.json { Format::Json } else { Format::Text };
    let repeats = series::runs_in(&args.run);
    if !repeats.is_empty() {
        let repeats = series::again(&repeats, &args.objectives)?;
        printer.data(&outcome::render_repeats(&repeats, format)?)?;
        return Ok(outcome::exit_of_repeats(&repeats));
    }
    let log = RunLog::read(&args.run).map_err(Stop::usage)?;
    let objectives = if args.objectives.is_empty() {
        outcome::objectives_of(&log.header)?
    } else {
        args.objectives.clone()
    };
    let summary = crate::analysis::summarise(&log, &objectives);
    printer.data(&outcome::render(&summary, format)?)?;
    Ok(outcome::exit(&summary))
}
