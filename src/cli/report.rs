//! `skyline report`: a stored run, shown again.

use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use strum::VariantNames;

use super::ab;
use super::args::ValidityArgs;
use super::formats::{FormatArgs, Outputs, OwnFiles, RunList};
use super::matrix;
use super::outcome;
use super::sweep;
use crate::analysis::Objective;
use crate::experiment::{Diagnosis, Sweep};
use crate::foreign::{ForeignRun, ForeignTool};
use crate::record::RunLog;
use crate::report::{Extras, JSON_SCHEMAS, RunReport};
use crate::session::stored::{self, Stored};
use crate::session::{Exit, Printer, Stop, folder, pair, repeats, save};

/// Show a stored run again.
#[derive(Debug, Args)]
#[command(after_help = crate::report::documents::glossary())]
pub(super) struct ReportArgs {
    /// The run's folder, its run.jsonl, or the folder of runs that were repeated, of a sweep, of an A/B experiment or of a
    /// table of experiments; or a result of vLLM, SGLang, GuideLLM or AIPerf, of a file of several `FILE:N`
    #[arg(required_unless_present = "json_schema")]
    run: Option<PathBuf>,

    /// Hold the run against this objective, in place of those it was flown with; may be repeated
    #[arg(long = "objective", value_name = "OBJECTIVE")]
    objectives: Vec<Objective>,

    #[command(flatten)]
    validity: ValidityArgs,

    #[command(flatten)]
    format: FormatArgs,

    /// Read a result of this tool, and say what is missing for it to be one: vllm, sglang, guidellm or aiperf [default: told
    /// by what stands in it]
    #[arg(long, value_name = "TOOL", hide_possible_values = true, value_parser = tool())]
    from: Option<ForeignTool>,

    /// Print the JSON Schema of what is stored or printed under this name, and nothing else
    #[arg(long, value_name = "NAME", exclusive = true, value_parser = json_schema())]
    json_schema: Option<&'static str>,
}

fn tool() -> impl TypedValueParser<Value = ForeignTool> {
    PossibleValuesParser::new(ForeignTool::VARIANTS).try_map(|name| name.parse::<ForeignTool>())
}

fn json_schema() -> impl TypedValueParser<Value = &'static str> {
    PossibleValuesParser::new(JSON_SCHEMAS.map(|(name, _)| name)).map(|typed| {
        let schema = JSON_SCHEMAS.into_iter().find(|(name, _)| *name == typed);
        schema.map_or("", |(_, schema)| schema)
    })
}

pub(super) fn run(args: &ReportArgs, printer: Printer) -> Result<Exit, Stop> {
    match (&args.run, args.json_schema) {
        (_, Some(schema)) => printer.data(schema).map(|()| Exit::Fine),
        (Some(run), None) => show(run, args, printer),
        (None, None) => Err(Stop::usage("name the folder of a run")),
    }
}

/// Shows what is stored at `path`, and writes what is asked for.
fn show(path: &Path, args: &ReportArgs, printer: Printer) -> Result<Exit, Stop> {
    let outputs = args.format.outputs()?;
    match stored::open(path, args.from)? {
        Stored::Foreign(runs) => show_foreign(&runs, args, &outputs, printer),
        Stored::Sweep(sweep) => show_sweep(path, *sweep, args, outputs, printer),
        Stored::AbTest => show_ab(path, args, &outputs, printer),
        Stored::Matrix(folder) => show_matrix(&folder, args, &outputs, printer),
        Stored::Repeats(runs) => show_repeats(path, &runs, args, outputs, printer),
        Stored::Run => show_run(path, args, &outputs, printer),
    }
}

/// Refuses objectives for what is not a run, with the reason.
fn refuse_objectives(args: &ReportArgs, why: &str) -> Result<(), Stop> {
    if args.objectives.is_empty() {
        return Ok(());
    }
    Err(Stop::usage(format!("--objective is for runs{why}")))
}

fn show_foreign(
    runs: &[ForeignRun],
    args: &ReportArgs,
    outputs: &Outputs<'_>,
    printer: Printer,
) -> Result<Exit, Stop> {
    refuse_objectives(
        args,
        " of Skyline: latencies of other tools count from sending, and not from the schedule\n\
         hint: hold the result against a run with skyline compare",
    )?;
    let format = outputs.only_shown("a result of another tool")?;
    printer.data(&outcome::render_foreign(runs, format)?)?;
    Ok(Exit::Fine)
}

fn show_sweep(
    path: &Path,
    sweep: Sweep,
    args: &ReportArgs,
    mut outputs: Outputs<'_>,
    printer: Printer,
) -> Result<Exit, Stop> {
    let lists = outputs.take_lists(OwnFiles::None);
    if !lists.is_empty() {
        list_sweep(path, &sweep, lists, printer)?;
    }
    sweep::show(sweep, path, &args.objectives, &outputs, args.validity.policy(), printer)
}

fn show_ab(path: &Path, args: &ReportArgs, outputs: &Outputs<'_>, printer: Printer) -> Result<Exit, Stop> {
    let (test, exit) = ab::read(path, args.validity.policy())?;
    refuse_objectives(
        args,
        ", and an A/B experiment has a verdict of its own\nhint: show one of its runs, such as round-1/b",
    )?;
    outputs.check_ab()?;
    if let Some(format) = outputs.shown() {
        printer.data(&outcome::render_ab(&test, format)?)?;
    }
    outputs.write_ab(&test, path, printer)?;
    Ok(exit)
}

fn show_matrix(
    folder: &Path,
    args: &ReportArgs,
    outputs: &Outputs<'_>,
    printer: Printer,
) -> Result<Exit, Stop> {
    let (table, exit) = matrix::read(folder, args.validity.policy())?;
    refuse_objectives(
        args,
        ", and a table of experiments has a contract of its own\nhint: show one of its rows, such as row-A",
    )?;
    let format = outputs.only_shown("a table of experiments")?;
    printer.data(&matrix::shown(&table, format)?)?;
    Ok(exit)
}

fn show_repeats(
    path: &Path,
    runs: &[PathBuf],
    args: &ReportArgs,
    mut outputs: Outputs<'_>,
    printer: Printer,
) -> Result<Exit, Stop> {
    let mut lists = outputs.take_lists(OwnFiles::Each);
    let format = outputs.check_runs()?;
    let repeats = repeats::again(runs, &args.objectives, |folder, log, summary, diagnosis| {
        let extras = Extras { paired_open: None, diagnosis: Some(diagnosis) };
        let report = RunReport { log, summary, extras };
        lists.add(report)?;
        outputs.write_run(report, folder, printer)
    })?;
    if let Some(format) = format {
        printer.data(&outcome::render_repeats(&repeats, format)?)?;
    }
    lists.write(path, printer)?;
    Ok(outcome::exit_of_repeats(&repeats, args.validity.policy()))
}

fn show_run(path: &Path, args: &ReportArgs, outputs: &Outputs<'_>, printer: Printer) -> Result<Exit, Stop> {
    outputs.check_run()?;
    let log = RunLog::read(path).map_err(Stop::usage)?;
    let objectives = if args.objectives.is_empty() {
        save::objectives_of(&log.header)?
    } else {
        save::check_objectives(&args.objectives, &log.header.workload)?;
        args.objectives.clone()
    };
    let summary = crate::analysis::summarise(&log, &objectives);
    let open = pair::again(&summary, path)?;
    let diagnosis = Diagnosis::of_run(&log, &summary);
    let extras = Extras { paired_open: open.as_ref(), diagnosis: Some(&diagnosis) };
    let report = RunReport { log: &log, summary: &summary, extras };
    if let Some(format) = outputs.shown() {
        printer.data(&outcome::render(report, format)?)?;
    }
    outputs.write_run(report, folder::of(path), printer)?;
    Ok(outcome::exit(&summary, args.validity.policy()))
}

/// Writes the runs of the sweep at `path` as one list, in the order in which they ran.
fn list_sweep(path: &Path, sweep: &Sweep, mut lists: RunList<'_>, printer: Printer) -> Result<(), Stop> {
    let folder = folder::of(path);
    let mut trials: Vec<_> = sweep.points.iter().flat_map(|point| &point.trials).collect();
    trials.sort_by_key(|trial| trial.number);
    for trial in trials {
        let log = RunLog::read(&folder.join(&trial.run)).map_err(Stop::usage)?;
        let summary = crate::analysis::summarise(&log, &save::objectives_of(&log.header)?);
        lists.add(RunReport { log: &log, summary: &summary, extras: Extras::default() })?;
    }
    lists.write(folder, printer)
}
