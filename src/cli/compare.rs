//! `skyline compare`: stored runs held against a baseline.

use super::show::ShowArgs;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use strum::VariantNames as _;

use super::args::ValidityArgs;
use super::outcome::{self, Format, Invalid};
use crate::analysis::summarise;
use crate::experiment::Sweep;
use crate::experiment::compare::{
    AnySide, Compared, ComparedForeign, ComparedSide, ComparedSweeps, Condition, Gate, Margin, SweepSide,
};
use crate::record::{RunHeader, RunLog};
use crate::report::documents;
use crate::session::stored::{self, Stored, foreign, repeats};
use crate::session::{Exit, Printer, Stop, save};
use crate::workload::WorkloadSpec;

/// Hold stored runs, repeats or sweeps against a baseline.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct CompareArgs {
    /// Folders of runs, of runs that were repeated, or of sweeps, the baseline first; or results of vLLM, SGLang, GuideLLM or
    /// AIPerf beside runs or each other, of a file of several `FILE:N`
    #[arg(value_name = "FOLDER", required = true, num_args = 2..)]
    folders: Vec<PathBuf>,

    /// What differs on purpose, and is then allowed and shown; may be repeated
    #[arg(long, value_name = "NAME", hide_possible_values = true, value_parser = condition())]
    vary: Vec<Condition>,

    /// Exit with 1 if a figure is worse than the baseline's by more, such as `p95 ttft 10%`; may be repeated
    #[arg(long, value_name = "FIGURE SHARE")]
    max_regression: Vec<Margin>,

    /// Exit with 1 if a figure is not better than the baseline's by as much, or if that may be chance, such as `p95 ttft
    /// 25%`; may be repeated
    #[arg(long, value_name = "FIGURE SHARE")]
    require_improvement: Vec<Margin>,

    #[command(flatten)]
    validity: ValidityArgs,

    /// Write the comparison as a page with charts to this file
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,

    /// Write the comparison as Markdown, for the summary of a CI job, to this file; - prints it in place of the text
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,

    #[command(flatten)]
    show: ShowArgs,
}

const AFTER_HELP: &str = "\
What --vary takes. Runs that differ in one of these are refused:
  simulated model hardware gpus precision workload rate window plan share endpoint streaming parameters prompts cache limits
These are reported, and need no --vary:
  seed engine server labels client skyline

Exit codes:
  0  compared, and every demand met
  1  a regression was found, or an improvement missed
  2  the runs cannot be held against each other
  3  one of them is INVALID, or too many requests of another tool's result failed";

/// What to name in place of something else.
const NAME_ONE: &str = "hint: name the folder of a run, of repeats or of a sweep";

fn condition() -> impl TypedValueParser<Value = Condition> {
    PossibleValuesParser::new(Condition::VARIANTS).try_map(|name| name.parse::<Condition>())
}

pub(super) fn run(args: &CompareArgs, printer: Printer) -> Result<Exit, Stop> {
    args.show.check()?;
    if let Some(absent) = args.folders.iter().find(|folder| !foreign::exists(folder)) {
        return Err(Stop::usage(format!("{} is not there\n{NAME_ONE}", absent.display())));
    }
    if args.show.shown() == Format::Json && args.markdown.as_ref().is_some_and(|path| path.as_os_str() == "-")
    {
        return Err(Stop::usage(
            "--json and --markdown - both go to standard output\nhint: name a file for the Markdown",
        ));
    }
    let names = names(&args.folders);
    let stored = args.folders.iter().map(|path| stored::open(path, None)).collect::<Result<Vec<_>, _>>()?;
    let is_foreign = stored.iter().any(|stored| matches!(stored, Stored::Foreign(_)));
    let find = |is_sweep: bool| {
        let mut all = args.folders.iter().zip(&stored);
        all.find(|(_, stored)| matches!(stored, Stored::Sweep(_)) == is_sweep).map(|(folder, _)| folder)
    };
    let report = match (find(true), find(false)) {
        _ if is_foreign => several_tools(args, names, stored)?,
        (Some(sweep), Some(run)) => {
            return Err(Stop::usage(format!(
                "{} is a sweep and {} is not\nhint: compare like with like; one run of the sweep: {0}/run-001",
                sweep.display(),
                run.display()
            )));
        }
        (Some(_), None) => sweeps(args, names, stored)?,
        (None, _) => runs(args, names)?,
    };
    let (to_stdout, to_file) = match &args.markdown {
        Some(path) if path.as_os_str() == "-" => (true, None),
        other => (false, other.as_ref()),
    };
    if to_stdout {
        printer.data(&(report.render)(Format::Markdown)?)?;
    } else {
        args.show.show(printer, &report.render)?;
    }
    let files = [("page", args.page.as_ref(), Format::Html), ("Markdown", to_file, Format::Markdown)];
    for (what, path, format) in files {
        if let Some(path) = path {
            save::text(path, &(report.render)(format)?)?;
            printer.words(&format!("{what} written to {}", path.display()));
        }
    }
    Ok(if report.passed { Exit::Fine } else { Exit::Missed })
}

/// What a comparison comes to.
struct ComparisonReport {
    /// Renders it.
    render: Box<dyn Fn(Format) -> Result<String, Stop>>,
    /// Whether every demand was met.
    passed: bool,
}

/// Compares runs of which at least one is another tool's.
fn several_tools(
    args: &CompareArgs,
    names: Vec<String>,
    stored: Vec<Stored>,
) -> Result<ComparisonReport, Stop> {
    let mut sides = Vec::new();
    for ((path, name), stored) in args.folders.iter().zip(names).zip(stored) {
        sides.push(match stored {
            Stored::Foreign(runs) => AnySide::Foreign(name, Box::new(foreign::only_run(path, runs)?)),
            Stored::Sweep(_) => {
                return Err(Stop::usage(format!(
                    "{0} is a sweep, and the result of another tool is one run\nhint: name one run of the sweep: {0}/run-001",
                    path.display()
                )));
            }
            _ => AnySide::Ours(Box::new(side(path, name)?)),
        });
    }
    for side in &sides {
        believe_any(side, args.validity.policy())?;
    }
    let compared = ComparedForeign::of(&sides, &args.vary, &gates(args)).map_err(Stop::usage)?;
    let passed = compared.passed();
    let render = move |format| outcome::show(|| documents::compared_foreign(&compared), &compared, format);
    Ok(ComparisonReport { render: Box::new(render), passed })
}

fn runs(args: &CompareArgs, names: Vec<String>) -> Result<ComparisonReport, Stop> {
    let sides = args.folders.iter().zip(names).map(|(folder, name)| side(folder, name));
    let sides = sides.collect::<Result<Vec<_>, _>>()?;
    let gates = gates(args);
    for side in &sides {
        check(&gates, side.workload())?;
        believe(side.name(), side.reasons(), args.validity.policy())?;
    }
    let compared = Compared::of(&sides, &args.vary, &gates).map_err(Stop::usage)?;
    let passed = compared.passed();
    let render = move |format| outcome::show(|| documents::compared(&compared), &compared, format);
    Ok(ComparisonReport { render: Box::new(render), passed })
}

fn sweeps(args: &CompareArgs, names: Vec<String>, stored: Vec<Stored>) -> Result<ComparisonReport, Stop> {
    let mut sides = Vec::new();
    for ((folder, name), stored) in args.folders.iter().zip(names).zip(stored) {
        if let Stored::Sweep(sweep) = stored {
            sides.push(sweep_side(folder, name, *sweep)?);
        }
    }
    let gates = gates(args);
    gates.iter().try_for_each(ComparedSweeps::check).map_err(Stop::usage)?;
    for side in &sides {
        check(&gates, &side.sweep.workload)?;
        let invalid = if side.sweep.valid { &[][..] } else { &side.sweep.reasons };
        believe(&side.name, invalid, args.validity.policy())?;
    }
    let compared = ComparedSweeps::of(&sides, &args.vary, &gates).map_err(Stop::usage)?;
    let passed = compared.passed();
    let render = move |format| outcome::show(|| documents::compared_sweeps(&compared), &compared, format);
    Ok(ComparisonReport { render: Box::new(render), passed })
}

/// Reads a stored sweep, and the header of its first run.
fn sweep_side(folder: &Path, name: String, sweep: Sweep) -> Result<SweepSide, Stop> {
    let first = sweep.points.iter().flat_map(|point| &point.trials).min_by_key(|trial| trial.number);
    let first = first.ok_or_else(|| {
        Stop::usage(format!(
            "{} has no run that came to its end\nhint: go on with it: --resume",
            folder.display()
        ))
    })?;
    let header = RunLog::read(&folder.join(&first.run)).map_err(Stop::usage)?.header;
    Ok(SweepSide { name, header, sweep })
}

/// Refuses demands on figures that a workload leaves nothing of.
fn check(gates: &[Gate], workload: &WorkloadSpec) -> Result<(), Stop> {
    gates.iter().try_for_each(|gate| gate.margin().figure.check(workload)).map_err(Stop::usage)
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
fn side(folder: &Path, name: String) -> Result<ComparedSide, Stop> {
    let runs = repeats::runs_in(folder);
    if runs.is_empty() {
        let (header, summary) = run_in(folder)?;
        return Ok(ComparedSide::of_run(name, header, summary));
    }
    let runs = runs.iter().map(|run| run_in(run)).collect::<Result<Vec<_>, _>>()?;
    let problem = format!("{} does not hold runs that repeat one another", folder.display());
    ComparedSide::of_repeats(name, runs, &[]).map_err(|error| Stop::usage(format!("{problem}: {error}")))
}

fn run_in(folder: &Path) -> Result<(RunHeader, crate::analysis::Summary), Stop> {
    let log = RunLog::read(folder).map_err(|error| Stop::usage(format!("{error}\n{NAME_ONE}")))?;
    let objectives = save::objectives_of(&log.header)?;
    let summary = summarise(&log, &objectives);
    Ok((log.header, summary))
}

/// Refuses a side whose figures do not deserve belief, for these reasons, unless it is wanted all the same.
fn believe(name: &str, reasons: &[String], invalid: Invalid) -> Result<(), Stop> {
    if reasons.is_empty() || invalid == Invalid::Allowed {
        return Ok(());
    }
    let reasons: Vec<_> = reasons.iter().map(|reason| format!("\n  ✗ {reason}")).collect();
    Err(Stop::impossible(format!(
        "{name} is INVALID, and nothing can be said by it:{}\nhint: run it again (its cures: skyline report), or compare it all \
         the same with --allow-invalid",
        reasons.concat()
    )))
}

/// The same of a side that may be another tool's, which has no verdict.
fn believe_any(side: &AnySide, invalid: Invalid) -> Result<(), Stop> {
    let reasons = side.reasons();
    match side {
        AnySide::Foreign(name, _) if !reasons.is_empty() && invalid == Invalid::Refused => {
            Err(Stop::impossible(format!(
                "nothing can be said by {name}:\n  ✗ {}\nhint: run it again with a load that the server answers, or compare it all \
                 the same with --allow-invalid",
                reasons.join("\n  ✗ ")
            )))
        }
        AnySide::Foreign(..) => Ok(()),
        AnySide::Ours(_) => believe(side.name(), &reasons, invalid),
    }
}
