//! `skyline workloads`: what can be run.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::args::SliceArgs;
use super::output::ShowArgs;
use crate::experiment::{FittedWorkload, fit_run, fit_trace};
use crate::generator::RequestTrace;
use crate::record::RunLog;
use crate::report::render::{self, Extent};
use crate::report::{Style, documents};
use crate::session::stored_run::runs_in;
use crate::session::{Exit, Printer, Stop, survey, whole_file};
use crate::workload::{GoldenSet, WorkloadSpec, library};

/// List the embedded workloads, show one, or fit one to a run or a trace.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct WorkloadsArgs {
    #[command(subcommand)]
    action: Option<Action>,

    #[command(flatten)]
    show: ShowArgs,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Print a workload's TOML, as a start for your own: `skyline workloads show short_chat > my.toml`
    Show {
        /// Name of an embedded workload or golden set, or path of a workload. A file is checked
        workload: String,
    },
    /// Fit a workload to a stored run or to a trace, and report how well it fits
    Fit(Box<FitArgs>),
}

pub(super) fn run(args: &WorkloadsArgs, printer: Printer) -> Result<Exit, Stop> {
    match &args.action {
        None => list(&args.show, printer)?,
        Some(Action::Show { workload }) => printer.data(&show(workload)?)?,
        Some(Action::Fit(args)) => fit(args, printer)?,
    }
    Ok(Exit::Fine)
}

fn list(show: &ShowArgs, printer: Printer) -> Result<(), Stop> {
    show.check()?;
    let both = library::all().and_then(|all| Ok([all, library::of_files()?].concat()));
    let workloads = both.map_err(Stop::impossible)?;
    show.with_json(printer, || documents::workloads(&workloads), || documents::workloads_json(&workloads))
}

/// Returns the text of a sound workload, or of a golden set. An unsound one is answered with its mistakes.
fn show(workload: &str) -> Result<String, Stop> {
    if let Some(set) = GoldenSet::source(workload) {
        return Ok(set.to_owned());
    }
    let spec = WorkloadSpec::load_with(workload, &|trace, seed| survey(trace, seed)).map_err(Stop::usage)?;
    match library::source(workload) {
        Some(source) => Ok(source.to_owned()),
        // It is read only once.
        None if workload == "-" => toml::to_string(&spec).map_err(Stop::impossible),
        None => std::fs::read_to_string(workload).map_err(Stop::usage),
    }
}

/// Fit a workload to a stored run or to a trace, and report how well it fits.
#[derive(Debug, Args)]
struct FitArgs {
    /// A run's folder or its run.jsonl; or a trace in any format that `--trace` reads
    source: PathBuf,

    /// Write the workload to this file, and its report to standard error [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    #[command(flatten)]
    slice: SliceArgs,

    /// Skip and count unusable lines of the trace [default: refuse the file]
    #[arg(long, help_heading = "Trace")]
    skip_bad: bool,
}

/// Columns of the report in a comment. Each of its lines is one line of the file.
const UNWRAPPED: usize = 10_000;

fn fit(args: &FitArgs, printer: Printer) -> Result<(), Stop> {
    let FittedWorkload { spec, report } = if is_run(&args.source) { of_run(args)? } else { of_trace(args)? };
    let report = render::text(&documents::fit(&report), Style { width: UNWRAPPED, ..Style::PLAIN }, Extent::Full);
    let toml = toml::to_string(&spec).map_err(Stop::impossible)?;
    let comment = report.trim_end().replace('\n', "\n# ");
    let text = format!("# {comment}\n\n{toml}");
    match &args.out {
        None => printer.data(&text)?,
        Some(path) => {
            let cannot = |error| Stop::usage(format!("cannot write {}: {error}", path.display()));
            whole_file(path, |out| out.write_all(text.as_bytes())).map_err(cannot)?;
            printer.words(&report);
            printer.words(&format!("written to {} (run it: skyline bench {0})", path.display()));
        }
    }
    Ok(())
}

/// Returns whether a run is stored at a path. The path is a folder that has a run's log, or a file that begins like
/// one.
fn is_run(path: &Path) -> bool {
    if path.is_dir() {
        return path.join(RunLog::FILE_NAME).exists();
    }
    let mut begins = [0; 10];
    File::open(path).and_then(|mut file| file.read_exact(&mut begins)).is_ok() && begins == *br#"{"header":"#
}

fn of_run(args: &FitArgs) -> Result<FittedWorkload, Stop> {
    if let Some(option) = args.slice.first_change().or(args.skip_bad.then_some("--skip-bad")) {
        return Err(Stop::usage(format!(
            "{option} needs a trace, and {} is a run\nhint: make a trace of it first: skyline trace from {0}",
            args.source.display()
        )));
    }
    let log = RunLog::read(&args.source).map_err(Stop::usage)?;
    fit_run(&log, &args.source.display().to_string()).map_err(Stop::usage)
}

fn of_trace(args: &FitArgs) -> Result<FittedWorkload, Stop> {
    let path = args.source.display().to_string();
    if runs_in(&args.source).is_ok_and(|runs| !runs.is_empty()) {
        return Err(Stop::usage(format!(
            "{path} holds no file chunk-N-trace.csv (a pool of clients), nor run.jsonl\nhint: there are runs in it; \
             name the run's own folder inside it"
        )));
    }
    let trace = args.slice.of_file(&path, args.skip_bad);
    let found = survey(&trace, 0).map_err(Stop::usage)?;
    let traced = RequestTrace::of_slice(&trace, &found, 0).map_err(Stop::usage)?;
    fit_trace(&trace, &found, &traced).map_err(Stop::usage)
}
