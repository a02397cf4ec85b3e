//! `skyline report`: a stored run, shown again; without a path the latest, and of a folder of runs a list.

use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use strum::VariantNames;

use crate::cli::args::{ObjectiveArgs, ValidityArgs, config, one_of};
use crate::cli::output::{AB, FormatArgs, Outputs, OwnFiles, RUN, RunList, SWEEP, render_run};
use crate::experiment::InvalidRuns;
use crate::experiment::Sweep;
use crate::experiment::tune::Tune;
use crate::foreign::ForeignTool;
use crate::live::{Screen, StepLine};
use crate::report::{self, JSON_SCHEMAS, documents};
use crate::session::campaign::reported::Reported as _;
use crate::session::exits::{self, ExitRules};
use crate::session::stored::{self, Stored, experiments};
use crate::session::stored_run::JudgedRun;
use crate::session::stored_run::repeats_again;
use crate::session::{Exit, Printer, Stop, folder};

/// Show a stored run again.
#[derive(Debug, Args)]
#[command(after_help = crate::report::documents::glossary())]
pub(in crate::cli) struct ReportArgs {
    /// The run's folder, its run.jsonl, or the folder of runs that were repeated, of a sweep, of an A/B
    /// experiment, of a table of experiments or of a tuning; a folder of these, which are then listed; or a
    /// result of vLLM, SGLang, GuideLLM or AIPerf, of a file of several `FILE:N` [default: the latest under
    /// `results`]
    run: Option<PathBuf>,

    #[command(flatten)]
    objectives: ObjectiveArgs,

    #[command(flatten)]
    validity: ValidityArgs,

    #[command(flatten)]
    format: FormatArgs,

    /// Read a result of this tool, and say what is missing for it to be one: vllm, sglang, guidellm or aiperf [default:
    /// recognised by its content]
    #[arg(long, value_name = "TOOL", hide_possible_values = true,
          value_parser = one_of::<ForeignTool>(ForeignTool::VARIANTS))]
    from: Option<ForeignTool>,

    /// Print the JSON Schema of what is stored or printed under this name, and nothing else
    #[arg(long, value_name = "NAME", exclusive = true, value_parser = json_schema())]
    json_schema: Option<&'static str>,
}

fn json_schema() -> impl TypedValueParser<Value = &'static str> {
    PossibleValuesParser::new(JSON_SCHEMAS.map(|(name, _)| name)).map(|typed| {
        let schema = JSON_SCHEMAS.into_iter().find(|(name, _)| *name == typed);
        schema.map_or("", |(_, schema)| schema)
    })
}

pub(in crate::cli) fn run(args: &ReportArgs, printer: Printer) -> Result<Exit, Stop> {
    match (&args.run, args.json_schema) {
        (_, Some(schema)) => printer.data(schema).map(|()| Exit::Fine),
        (Some(run), None) => show(run, args, printer),
        (None, None) => {
            let folder = config::results_folder(&config::Surroundings::of_process());
            let latest = stored::latest(&folder).ok_or_else(|| nothing_stored(&folder))?;
            printer.words(&format!("the latest result: {}", latest.display()));
            show(&latest, args, printer)
        }
    }
}

/// Shows what is stored at `path`, and writes what is requested.
fn show(path: &Path, args: &ReportArgs, printer: Printer) -> Result<Exit, Stop> {
    let outputs = args.format.outputs()?;
    match stored::open(path, args.from)? {
        Stored::Foreign(runs) => {
            refuse_objectives(
                args,
                " of Skyline: latencies of other tools count from sending, and not from the schedule\n\
                 hint: compare the result with a run with skyline compare",
            )?;
            let forms = outputs.forms_of("a result of another tool")?;
            forms.with_json(printer, || documents::foreign(&runs), || report::foreign_json(&runs))?;
            Ok(Exit::Fine)
        }
        Stored::Sweep(sweep) => show_sweep(path, *sweep, args, outputs, printer),
        Stored::AbTest => show_ab(path, args, &outputs, printer),
        Stored::Matrix(folder) => show_matrix(&folder, args, &outputs, printer),
        Stored::Tune(folder) => show_tune(&folder, args, &outputs, printer),
        Stored::Repeats(runs) => show_repeats(path, &runs, args, outputs, printer),
        Stored::Results(folders) => {
            refuse_objectives(args, ", and this is a folder of results\nhint: name one of them")?;
            let forms = outputs.forms_of("a folder of results")?;
            let (listed, shown) = (stored::listed(&folders), path.to_string_lossy());
            let document = || documents::results(shown.trim_end_matches('/'), &listed);
            forms.with_json(printer, document, || documents::results_json(&listed))?;
            Ok(Exit::Fine)
        }
        Stored::Run => {
            outputs.check(&RUN)?;
            let line = StepLine::start(Screen::detect(), "reading the run");
            let run = JudgedRun::read(path, &args.objectives.objectives())?;
            drop(line);
            let report = run.report();
            if let Some(format) = outputs.shown() {
                printer.data(&render_run(report, format)?)?;
            }
            outputs.write_run(report, folder::of(path), printer)?;
            Ok(exits::of_run(&run.summary, args.objectives.undecided.rules(args.validity), printer))
        }
    }
}

fn nothing_stored(folder: &Path) -> Stop {
    Stop::usage(format!(
        "no result is stored in {}\nhint: name the folder of a run, or make one: skyline bench short_chat 60",
        folder.display()
    ))
}

/// Refuses objectives for what is not a run, with the reason.
fn refuse_objectives(args: &ReportArgs, why: &str) -> Result<(), Stop> {
    if args.objectives.are_given() {
        return Err(Stop::usage(format!("--objective and --undecided are for runs{why}")));
    }
    Ok(())
}

fn show_sweep(
    path: &Path,
    stored: Sweep,
    args: &ReportArgs,
    mut outputs: Outputs,
    printer: Printer,
) -> Result<Exit, Stop> {
    let lists = outputs.take_lists(OwnFiles::None);
    outputs.check(&SWEEP)?;
    if !lists.is_empty() {
        list_sweep(path, &stored, lists, printer)?;
    }
    let objectives = args.objectives.objectives();
    let sweep = match objectives.as_slice() {
        [] => stored,
        others => experiments::sweep_judged_by(&stored, path, others)?,
    };
    outputs.show(&sweep, printer)?;
    outputs.write(&SWEEP, folder::of(path), printer, |write, out| write(&sweep, out))?;
    Ok(sweep.exit(args.objectives.undecided.rules(args.validity), printer))
}

fn show_ab(path: &Path, args: &ReportArgs, outputs: &Outputs, printer: Printer) -> Result<Exit, Stop> {
    let (test, require) = experiments::ab_test(path, args.validity.invalid_runs())?;
    refuse_objectives(
        args,
        ", and an A/B experiment has a verdict of its own\nhint: show one of its runs, such as round-1/b",
    )?;
    outputs.check(&AB)?;
    outputs.show(&test, printer)?;
    outputs.write(&AB, path, printer, |write, out| write(&test, out))?;
    Ok(test.exit(ExitRules { require, ..args.validity.rules() }, printer))
}

fn show_matrix(folder: &Path, args: &ReportArgs, outputs: &Outputs, printer: Printer) -> Result<Exit, Stop> {
    let invalid = args.validity.invalid_runs();
    let table = experiments::matrix(folder, invalid)?;
    refuse_objectives(
        args,
        ", and a table of experiments has a contract of its own\nhint: show one of its rows, such as row-A",
    )?;
    let forms = outputs.forms_of("a table of experiments")?;
    forms.result(printer, &table, || table.document())?;
    Ok(table.exit(args.validity.rules(), printer))
}

fn show_tune(folder: &Path, args: &ReportArgs, outputs: &Outputs, printer: Printer) -> Result<Exit, Stop> {
    let tune = Tune::read(folder).unwrap_or_else(|| Err(format!("{} has no tuning", folder.display())));
    let tune = tune.map_err(Stop::usage)?;
    printer.words(&format!("the figures are those in {}: a tuning is not computed from its runs", Tune::FILE_NAME));
    refuse_objectives(args, ", and a tuning has its own\nhint: show one of its runs")?;
    if args.validity.invalid_runs() == InvalidRuns::Counted {
        return Err(Stop::usage(
            "--allow-invalid decides which runs a tuning has, so it cannot be given afterwards\n\
             hint: run it again: skyline tune FILE --allow-invalid",
        ));
    }
    let forms = outputs.forms_of("a tuning")?;
    forms.result(printer, &tune, || tune.document())?;
    Ok(tune.exit(args.validity.rules(), printer))
}

fn show_repeats(
    path: &Path,
    runs: &[PathBuf],
    args: &ReportArgs,
    mut outputs: Outputs,
    printer: Printer,
) -> Result<Exit, Stop> {
    let mut lists = outputs.take_lists(OwnFiles::Each);
    outputs.check_runs()?;
    let repeats = repeats_again(runs, &args.objectives.objectives(), |folder, run| {
        lists.add(run.report())?;
        outputs.write_run(run.report(), folder, printer)
    })?;
    outputs.show(&repeats, printer)?;
    lists.write(path, printer)?;
    Ok(repeats.exit(args.objectives.undecided.rules(args.validity), printer))
}

/// Writes the runs of the sweep at `path` as one list. They are in the order in which they ran.
fn list_sweep(path: &Path, sweep: &Sweep, mut lists: RunList, printer: Printer) -> Result<(), Stop> {
    let folder = folder::of(path);
    let mut trials: Vec<_> = sweep.points.iter().flat_map(|point| &point.trials).collect();
    trials.sort_by_key(|trial| trial.number);
    for trial in trials {
        lists.add(JudgedRun::read(&folder.join(&trial.run), &[])?.report())?;
    }
    lists.write(folder, printer)
}
