//! `skyline compare`: stored runs held against a baseline.

use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::args::ValidityArgs;
use super::exit::{Exit, Stop};
use super::outcome::{self, Format, Invalid};
use super::printer::Printer;
use super::series;
use crate::analysis::summarise;
use crate::experiment::compare::{Compared, Condition, Gate, Margin, Side};
use crate::record::{RunHeader, RunLog};

/// Hold stored runs, repeats or sweeps against a baseline.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct CompareArgs {
    /// Folders of runs, of runs that were repeated, or of sweeps, the baseline first
    #[arg(value_name = "FOLDER", required = true, num_args = 2..)]
    folders: Vec<PathBuf>,

    /// What differs on purpose, and is then allowed and shown; may be repeated
    #[arg(long, value_name = "NAME", hide_possible_values = true, value_parser = condition())]
    vary: Vec<Condition>,

    /// Exit with 1 if a figure is worse than the baseline's by more, such as `p95 ttft 10%`; may be repeated
    #[arg(long, value_name = "FIGURE SHARE")]
    max_regression: Vec<Margin>,

    /// Exit with 1 if a figure is not better than the baseline's by as much, such as `p95 ttft 25%`; may be repeated
    #[arg(long, value_name = "FIGURE SHARE")]
    require_improvement: Vec<Margin>,

    #[command(flatten)]
    validity: ValidityArgs,

    /// Print the comparison as JSON on standard output, and nothing else
    #[arg(long)]
    json: bool,
}

const AFTER_HELP: &str = "\
What --vary takes. Runs that differ in one of these are refused:
  simulated model hardware gpus precision workload rate window plan share endpoint streaming prompts cache limits
These are told, and need no --vary:
  seed engine server labels client skyline

Exit codes:
  0  compared, and every demand met
  1  a regression was found, or an improvement missed
  2  the runs cannot be held against each other
  3  one of them is INVALID";

fn condition() -> impl TypedValueParser<Value = Condition> {
    PossibleValuesParser::new(Condition::ALL.map(Condition::name)).try_map(|name| name.parse::<Condition>())
}

pub(super) fn run(args: &CompareArgs, printer: Printer) -> Result<Exit, Stop> {
    let names = names(&args.folders);
    let sides = args.folders.iter().zip(names).map(|(folder, name)| side(folder, name));
    let sides = sides.collect::<Result<Vec<_>, _>>()?;
    let gates = gates(args);
    believe(&sides, args.validity.policy())?;
    let compared = Compared::of(&sides, &args.vary, &gates).map_err(Stop::usage)?;
    let format = if args.json { Format::Json } else { Format::Text };
    printer.data(&outcome::render_compared(&compared, format)?)?;
    Ok(if compared.passed() { Exit::Fine } else { Exit::Missed })
}

fn gates(args: &CompareArgs) -> Vec<Gate> {
    let regressions = args.max_regression.iter().cloned().map(Gate::MaxRegression);
    regressions.chain(args.require_improvement.iter().cloned().map(Gate::RequiredImprovement)).collect()
}

/// What the sides are called: the last part of each folder's path, if all differ in that, else the whole.
fn names(folders: &[PathBuf]) -> Vec<String> {
    let last = |folder: &PathBuf| folder.file_name().map(|name| name.to_string_lossy().into_owned());
    let short: Option<Vec<String>> = folders.iter().map(last).collect();
    let whole = || folders.iter().map(|folder| folder.display().to_string()).collect();
    let told_apart =
        |names: &Vec<String>| names.iter().collect::<std::collections::BTreeSet<_>>().len() == names.len();
    short.filter(told_apart).unwrap_or_else(whole)
}

/// Reads a stored run, or runs that repeat one another.
fn side(folder: &Path, name: String) -> Result<Side, Stop> {
    let runs = series::runs_in(folder);
    if runs.is_empty() {
        let (header, summary) = run_in(folder)?;
        return Ok(Side::of_run(name, header, summary));
    }
    let runs = runs.iter().map(|run| run_in(run)).collect::<Result<Vec<_>, _>>()?;
    let problem = format!("{} does not hold runs that repeat one another", folder.display());
    Side::of_repeats(name, runs, &[]).map_err(|error| Stop::usage(format!("{problem}: {error}")))
}

fn run_in(folder: &Path) -> Result<(RunHeader, crate::analysis::Summary), Stop> {
    let log = RunLog::read(folder).map_err(Stop::usage)?;
    let objectives = outcome::objectives_of(&log.header)?;
    let summary = summarise(&log, &objectives);
    Ok((log.header, summary))
}

/// Refuses sides whose figures do not deserve belief, unless they are wanted all the same.
fn believe(sides: &[Side], invalid: Invalid) -> Result<(), Stop> {
    let doubtful = sides.iter().find(|side| !side.reasons().is_empty());
    let Some(side) = doubtful.filter(|_| invalid == Invalid::Refused) else { return Ok(()) };
    let reasons: Vec<_> = side.reasons().iter().map(|reason| format!("\n  ✗ {reason}")).collect();
    Err(Stop::impossible(format!(
        "{} is INVALID, and nothing can be said by it:{}\nhint: fly it again (its cures: skyline report {0}), or compare it all \
         the same with --allow-invalid",
        side.name(),
        reasons.concat()
    )))
}
