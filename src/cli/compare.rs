//! `skyline compare`: stored runs beside a baseline.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use strum::VariantNames as _;

use super::args::{ValidityArgs, one_of};
use super::output::{ShowArgs, render};
use crate::experiment::compare::{
    AnySide, Compared, ComparedForeign, ComparedSide, ComparedSweeps, Condition, Gate, GateJudgement, Margin, SweepSide,
};
use crate::experiment::{InvalidRuns, Sweep};
use crate::record::RunLog;
use crate::report::{Document, Format, documents};
use crate::session::exits::{ExitRules, Undecided};
use crate::session::stored::{self, Stored};
use crate::session::stored_run::JudgedRun;
use crate::session::{Exit, Printer, Stop, save};
use crate::workload::WorkloadSpec;

/// Compare stored runs, repeats or sweeps with a baseline.
#[derive(Debug, Args)]
pub(super) struct CompareArgs {
    /// Folders of runs, of runs that were repeated, or of sweeps, the baseline first; or results of vLLM,
    /// SGLang, GuideLLM or AIPerf beside runs or each other, of a file of several `FILE:N`
    #[arg(value_name = "FOLDER", required = true, num_args = 2..)]
    folders: Vec<PathBuf>,

    /// Condition that is varied: it may differ between the runs and is shown; may be repeated
    /// [default: none]
    #[arg(long, value_name = "NAME", hide_possible_values = true,
          value_parser = one_of::<Condition>(Condition::VARIANTS))]
    vary: Vec<Condition>,

    /// Exit with 1 if a figure is worse than the baseline's by more, and not by chance, such as `p95 ttft 10%`; may be
    /// repeated [default: none]
    #[arg(long, value_name = "FIGURE SHARE")]
    max_regression: Vec<Margin>,

    /// Exit with 1 if a figure is not better than the baseline's by as much, or if that may be chance, such
    /// as `p95 ttft 25%`; may be repeated [default: none]
    #[arg(long, value_name = "FIGURE SHARE")]
    require_improvement: Vec<Margin>,

    /// What a demand counts as for the exit code if the runs cannot tell it, `pass` or `fail` [default: a regression
    /// passes, an improvement fails]
    #[arg(long, value_name = "HOW", value_enum, hide_possible_values = true)]
    undecided: Option<Undecided>,

    #[command(flatten)]
    validity: ValidityArgs,

    /// Write the comparison as a page with charts to this file [default: none]
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,

    /// Write the comparison as Markdown, for the summary of a CI job, to this file; - prints it in place of the text
    /// [default: none]
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,

    #[command(flatten)]
    show: ShowArgs,
}

/// The hint at what to name in place of something else.
const NAME_ONE: &str = "hint: name the folder of a run, of repeats or of a sweep";

pub(super) fn run(args: &CompareArgs, printer: Printer) -> Result<Exit, Stop> {
    args.show.check()?;
    if let Some(absent) = args.folders.iter().find(|folder| !stored::is_there(folder)) {
        return Err(Stop::usage(format!("{} is not there\n{NAME_ONE}", absent.display())));
    }
    if args.show.shown() == Format::Json && args.shows_markdown() {
        return Err(Stop::usage(
            "--json and --markdown - both go to standard output\nhint: name a file for the Markdown",
        ));
    }
    let folders = args.folders.iter().map(|path| stored::one_result(path)).collect::<Result<Vec<_>, _>>()?;
    let open = |(folder, name): (PathBuf, String)| {
        let stored = stored::open(&folder, None)?;
        Ok(OpenedSide { folder, name, stored })
    };
    let names = names(&folders);
    let sides = folders.into_iter().zip(names).map(open).collect::<Result<Vec<_>, Stop>>()?;
    let rules = ExitRules { undecided: args.undecided, ..args.validity.rules() };
    rules.check_use(args.gates().is_empty(), "demand", printer);
    let find = |is_sweep: bool| {
        let mut all = sides.iter();
        all.find(|side| matches!(side.stored, Stored::Sweep(_)) == is_sweep).map(|side| &side.folder)
    };
    let passed = match (find(true), find(false)) {
        _ if sides.iter().any(|side| matches!(side.stored, Stored::Foreign(_))) => runs(args, sides, printer)?,
        (Some(sweep), Some(run)) => {
            return Err(Stop::usage(format!(
                "{} is a sweep and {} is not\nhint: compare like with like; one run of the sweep: {0}/run-001",
                sweep.display(),
                run.display()
            )));
        }
        (Some(_), None) => sweeps(args, sides, printer)?,
        (None, _) => runs(args, sides, printer)?,
    };
    Ok(if passed { Exit::Fine } else { Exit::Missed })
}

impl CompareArgs {
    /// Whether Markdown is printed in place of text.
    fn shows_markdown(&self) -> bool {
        self.markdown.as_ref().is_some_and(|path| path.as_os_str() == "-")
    }

    fn gates(&self) -> Vec<Gate> {
        let undecided_passes = self.undecided.map(|undecided| undecided == Undecided::Pass);
        let of = |margin: &Margin| Margin { undecided_passes, ..margin.clone() };
        let regressions = self.max_regression.iter().map(of).map(Gate::MaxRegression);
        regressions.chain(self.require_improvement.iter().map(of).map(Gate::RequiredImprovement)).collect()
    }

    /// Prints a comparison and writes the files that are requested of it. Returns whether every demand is met.
    fn show_compared<'a>(
        &self,
        printer: Printer,
        compared: &impl Serialize,
        mut judged: impl Iterator<Item = &'a GateJudgement>,
        document: impl Fn() -> Document,
    ) -> Result<bool, Stop> {
        if self.shows_markdown() {
            printer.data(&render(Format::Markdown, compared, &document)?)?;
        } else {
            self.show.result(printer, compared, &document)?;
        }
        let markdown = self.markdown.as_ref().filter(|_| !self.shows_markdown());
        let files = [("page", self.page.as_ref(), Format::Html), ("Markdown", markdown, Format::Markdown)];
        for (what, path, format) in files {
            if let Some(path) = path {
                save::text(path, &render(format, compared, &document)?)?;
                printer.words(&format!("{what} written to {}", path.display()));
            }
        }
        Ok(judged.all(|gate| gate.passes))
    }
}

/// Content of a folder, under the name of its side.
struct OpenedSide {
    folder: PathBuf,
    name: String,
    stored: Stored,
}

/// Names the sides by the last parts of their paths. Where these do not differ, the names have more parts.
fn names(folders: &[PathBuf]) -> Vec<String> {
    let last = |folder: &PathBuf| folder.file_name().map(|name| name.to_string_lossy().into_owned());
    let short: Option<Vec<String>> = folders.iter().map(last).collect();
    let parts = |folder: &PathBuf| folder.iter().map(OsStr::to_owned).collect::<Vec<_>>();
    let paths: Vec<Vec<_>> = folders.iter().map(parts).collect();
    let shared = |place: &usize| paths.iter().all(|path| path.get(*place) == paths[0].get(*place));
    let common = (0..paths[0].len()).take_while(shared).count();
    let rest = |path: &Vec<OsString>| path.get(common..)?.iter().collect::<PathBuf>().to_str().map(str::to_owned);
    let inner: Option<Vec<String>> = paths.iter().map(rest).collect();
    let differ = |names: &Vec<String>| {
        names.iter().collect::<BTreeSet<_>>().len() == names.len() && names.iter().all(|name| !name.is_empty())
    };
    let whole = || folders.iter().map(|folder| folder.display().to_string()).collect();
    short.filter(differ).or_else(|| inner.filter(differ)).unwrap_or_else(whole)
}

/// Compares runs, of which some may be other tools'; whether every demand is met.
fn runs(args: &CompareArgs, opened: Vec<OpenedSide>, printer: Printer) -> Result<bool, Stop> {
    let gates = args.gates();
    let own = |OpenedSide { folder, name, stored }| match stored {
        Stored::Foreign(runs) => Ok(AnySide::Foreign(name, Box::new(stored::only_foreign_run(&folder, runs)?))),
        Stored::Sweep(_) => Err(Stop::usage(format!(
            "{0} is a sweep, and the result of another tool is one run\nhint: name one run of the sweep: {0}/run-001",
            folder.display()
        ))),
        ours => Ok(AnySide::Ours(Box::new(side(&folder, name, ours, &gates)?))),
    };
    let sides = opened.into_iter().map(own).collect::<Result<Vec<_>, _>>()?;
    let several_tools = sides.iter().any(AnySide::is_foreign);
    for side in &sides {
        if let (AnySide::Ours(ours), false) = (side, several_tools) {
            check(&gates, ours.workload())?;
        }
        believe(side.name(), &side.reasons(), side.is_foreign(), args.validity.invalid_runs())?;
    }
    if several_tools {
        let compared = ComparedForeign::new(&sides, &args.vary, &gates).map_err(Stop::usage)?;
        let judged = compared.against.iter().flat_map(|against| &against.gates);
        return args.show_compared(printer, &compared, judged, || documents::compared_foreign(&compared));
    }
    let ours: Vec<ComparedSide> = sides.into_iter().filter_map(AnySide::own).collect();
    let compared = Compared::new(&ours, &args.vary, &gates).map_err(Stop::usage)?;
    let judged = compared.against.iter().flat_map(|against| &against.gates);
    args.show_compared(printer, &compared, judged, || documents::compared(&compared))
}

fn sweeps(args: &CompareArgs, opened: Vec<OpenedSide>, printer: Printer) -> Result<bool, Stop> {
    let mut sides = Vec::new();
    for OpenedSide { folder, name, stored } in opened {
        if let Stored::Sweep(sweep) = stored {
            sides.push(sweep_side(&folder, name, *sweep)?);
        }
    }
    let gates = args.gates();
    gates.iter().try_for_each(ComparedSweeps::check).map_err(Stop::usage)?;
    for side in &sides {
        check(&gates, &side.sweep.workload)?;
        let invalid = if side.sweep.valid { &[][..] } else { &side.sweep.reasons };
        believe(&side.name, invalid, false, args.validity.invalid_runs())?;
    }
    let compared = ComparedSweeps::new(&sides, &args.vary, &gates).map_err(Stop::usage)?;
    let judged = compared.against.iter().flat_map(|against| &against.gates);
    args.show_compared(printer, &compared, judged, || documents::compared_sweeps(&compared))
}

/// Reads a stored sweep, and the header of its first run.
fn sweep_side(folder: &Path, name: String, sweep: Sweep) -> Result<SweepSide, Stop> {
    let first = sweep.points.iter().flat_map(|point| &point.trials).min_by_key(|trial| trial.number);
    let first = first
        .ok_or_else(|| Stop::usage(format!("{} has no finished run\nhint: resume it: --resume", folder.display())))?;
    let header = RunLog::read(&folder.join(&first.run)).map_err(Stop::usage)?.header;
    Ok(SweepSide { name, header, sweep })
}

/// Refuses demands on figures that a workload leaves nothing of.
fn check(gates: &[Gate], workload: &WorkloadSpec) -> Result<(), Stop> {
    gates.iter().try_for_each(|gate| gate.margin().figure.check(workload)).map_err(Stop::usage)
}

/// A stored run, or runs that repeat one another.
fn side(folder: &Path, name: String, stored: Stored, gates: &[Gate]) -> Result<ComparedSide, Stop> {
    let read = |folder: &Path| {
        let read = JudgedRun::read(folder, &[]);
        read.map_err(|stop| Stop::usage(format!("{}\n{NAME_ONE}", stop.message())))
    };
    let Stored::Repeats(runs) = stored else {
        let JudgedRun { log, summary, .. } = read(folder)?;
        let demanded = gates.iter().map(|gate| &gate.margin().figure);
        return Ok(ComparedSide::of_run(name, &log, summary, demanded));
    };
    let runs = runs.iter().map(|run| read(run).map(|run| (run.log.header, run.summary)));
    let runs = runs.collect::<Result<Vec<_>, Stop>>()?;
    let problem = format!("{} does not hold runs that repeat one another", folder.display());
    ComparedSide::of_repeats(name, runs, &[]).map_err(|error| Stop::usage(format!("{problem}: {error}")))
}

/// Refuses a side with reasons not to trust it, unless --allow-invalid is given. A run of another tool has no verdict.
fn believe(name: &str, reasons: &[String], is_foreign: bool, invalid: InvalidRuns) -> Result<(), Stop> {
    if reasons.is_empty() || invalid == InvalidRuns::Counted {
        return Ok(());
    }
    let (standing, cure) = if is_foreign {
        ("is not compared", " with a load that the server can answer")
    } else {
        ("is INVALID and is not compared", " (cures: skyline report)")
    };
    Err(Stop::impossible(format!(
        "{name} {standing}:\n  ✗ {}\nhint: run it again{cure}, or compare it anyway with --allow-invalid",
        reasons.join("\n  ✗ ")
    )))
}
