//! `skyline report`: a stored run, shown again.

use std::path::PathBuf;

use clap::Args;

use super::args::ValidityArgs;
use super::exit::{Exit, Stop};
use super::outcome::{self, Format};
use super::printer::Printer;
use super::{ab, matrix, pair, series, sweep};
use crate::analysis::Objective;
use crate::experiment::{Diagnosis, Sweep};
use crate::record::RunLog;
use crate::report::Beside;

/// Show a stored run again.
#[derive(Debug, Args)]
#[command(after_help = GLOSSARY)]
pub(super) struct ReportArgs {
    /// The run's folder, its run.jsonl, or the folder of runs that were repeated, of a sweep, of an A/B experiment or of a
    /// table of experiments
    run: PathBuf,

    /// Hold the run against this objective, in place of those it was flown with; may be repeated
    #[arg(long = "objective", value_name = "OBJECTIVE")]
    objectives: Vec<Objective>,

    #[command(flatten)]
    validity: ValidityArgs,

    /// Print the summary as JSON, and nothing else
    #[arg(long)]
    json: bool,
}

/// What the names mean, and what others call the same.
const GLOSSARY: &str = "\
Glossary (N: output tokens):
  ttft            first token − scheduled; ttft_from_send counts from sending, as vLLM bench does
  ttfa            first token that is not reasoning − scheduled
  tpot            (last − first token) / (N − 1): as vLLM; AIPerf's and NIM's inter-token latency
  tpot_adjusted   (last − first token) / (N − tokens of the first chunk)
  itl             gaps between tokens; a gap that brings k tokens counts as k gaps of a k-th
  chunk_gap       gaps between chunks as they came: vLLM's and SGLang's itl
  e2e             last token − scheduled; e2e_from_send counts from sending
  schedule_lag    let go − scheduled: this program's own lateness
  queue_wait      wait for a place under --max-concurrency
GuideLLM's time per output token is e2e from sending / N; course texts divide last − first by N.
Both are in summary.json under `aliases`.";

pub(super) fn run(args: &ReportArgs, printer: Printer) -> Result<Exit, Stop> {
    let format = if args.json { Format::Json } else { Format::Text };
    if Sweep::is_kept_in(&args.run) {
        return sweep::show(&args.run, &args.objectives, format, args.validity.policy(), printer);
    }
    if let Some((test, exit)) = ab::stored(&args.run, args.validity.policy())? {
        if !args.objectives.is_empty() {
            return Err(Stop::usage(
                "--objective is for runs, and an A/B experiment has a verdict of its own\n\
                 hint: show one of its runs, such as round-1/b",
            ));
        }
        printer.data(&outcome::render_ab(&test, format)?)?;
        return Ok(exit);
    }
    if let Some((shown, exit)) = matrix::stored(&args.run, format, args.validity.policy())? {
        if !args.objectives.is_empty() {
            return Err(Stop::usage(
                "--objective is for runs, and a table of experiments has a contract of its own\n\
                 hint: show one of its rows, such as row-A",
            ));
        }
        printer.data(&shown)?;
        return Ok(exit);
    }
    let repeats = series::runs_in(&args.run);
    if !repeats.is_empty() {
        let repeats = series::again(&repeats, &args.objectives)?;
        printer.data(&outcome::render_repeats(&repeats, format)?)?;
        return Ok(outcome::exit_of_repeats(&repeats, args.validity.policy()));
    }
    let log = RunLog::read(&args.run).map_err(Stop::usage)?;
    let objectives = if args.objectives.is_empty() {
        outcome::objectives_of(&log.header)?
    } else {
        outcome::fit(&args.objectives, &log.header.workload)?;
        args.objectives.clone()
    };
    let summary = crate::analysis::summarise(&log, &objectives);
    let open = pair::again(&summary, &args.run)?;
    let diagnosis = Diagnosis::of_run(&log, &summary);
    let beside = Beside { paired_open: open.as_ref(), diagnosis: Some(&diagnosis) };
    printer.data(&outcome::render(&summary, beside, format)?)?;
    Ok(outcome::exit(&summary, args.validity.policy()))
}
