//! Stored results that are compared: opened, named, and believed or refused.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::open::{Stored, is_there, one_result, only_foreign_run, open};
use crate::experiment::compare::{AnySide, ComparedSide, ComparedSweeps, Gate, SweepSide};
use crate::experiment::{InvalidRuns, Sweep};
use crate::record::RunLog;
use crate::session::console::Stop;
use crate::session::stored_run::JudgedRun;
use crate::workload::WorkloadSpec;

/// The hint at what to name in place of something else.
const NAME_ONE: &str = "hint: name the folder of a run, of repeats or of a sweep";

/// Stored results of one kind, the baseline first.
pub(crate) enum ComparedResults {
    /// Runs of Skyline, or repeats.
    Runs(Vec<ComparedSide>),
    /// Runs of several tools, or of others.
    WithOthers(Vec<AnySide>),
    /// Sweeps.
    Sweeps(Vec<SweepSide>),
}

impl ComparedResults {
    /// Opens the results at these paths, if they can be compared under these demands.
    pub(crate) fn open(paths: &[PathBuf], gates: &[Gate], invalid: InvalidRuns) -> Result<Self, Stop> {
        if let Some(absent) = paths.iter().find(|path| !is_there(path)) {
            return Err(Stop::usage(format!("{} is not there\n{NAME_ONE}", absent.display())));
        }
        let folders = paths.iter().map(|path| one_result(path)).collect::<Result<Vec<_>, _>>()?;
        let names = names(&folders);
        let opened = folders.iter().zip(names).map(|(folder, name)| Ok((folder, name, open(folder, None)?)));
        let opened = opened.collect::<Result<Vec<_>, Stop>>()?;
        let find = |is_sweep: bool| {
            opened.iter().find(|(.., stored)| matches!(stored, Stored::Sweep(_)) == is_sweep).map(|(folder, ..)| folder)
        };
        let are_several_tools = opened.iter().any(|(.., stored)| matches!(stored, Stored::Foreign(_)));
        match (find(true), find(false)) {
            (Some(sweep), Some(run)) if !are_several_tools => Err(Stop::usage(format!(
                "{} is a sweep and {} is not\nhint: compare like with like; one run of the sweep: {0}/run-001",
                sweep.display(),
                run.display()
            ))),
            (Some(_), None) => sweeps(opened, gates, invalid),
            _ => runs(opened, are_several_tools, gates, invalid),
        }
    }
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

/// Runs, of which some may be other tools'.
fn runs(
    opened: Vec<(&PathBuf, String, Stored)>,
    are_several_tools: bool,
    gates: &[Gate],
    invalid: InvalidRuns,
) -> Result<ComparedResults, Stop> {
    let own = |(folder, name, stored): (&PathBuf, String, Stored)| match stored {
        Stored::Foreign(runs) => Ok(AnySide::Foreign(name, Box::new(only_foreign_run(folder, runs)?))),
        Stored::Sweep(_) => Err(Stop::usage(format!(
            "{0} is a sweep, and the result of another tool is one run\nhint: name one run of the sweep: {0}/run-001",
            folder.display()
        ))),
        ours => {
            let (side, log) = side(folder, name, ours, gates)?;
            Ok(AnySide::Ours(Box::new(side), log.filter(|_| are_several_tools).map(Box::new)))
        }
    };
    let sides = opened.into_iter().map(own).collect::<Result<Vec<_>, _>>()?;
    for side in &sides {
        if let (AnySide::Ours(ours, _), false) = (side, are_several_tools) {
            check(gates, ours.workload())?;
        }
        believe(side.name(), &side.reasons(), side.is_foreign(), invalid)?;
    }
    if are_several_tools {
        return Ok(ComparedResults::WithOthers(sides));
    }
    Ok(ComparedResults::Runs(sides.into_iter().filter_map(AnySide::own).collect()))
}

fn sweeps(
    opened: Vec<(&PathBuf, String, Stored)>,
    gates: &[Gate],
    invalid: InvalidRuns,
) -> Result<ComparedResults, Stop> {
    let mut sides = Vec::new();
    for (folder, name, stored) in opened {
        if let Stored::Sweep(sweep) = stored {
            sides.push(sweep_side(folder, name, *sweep)?);
        }
    }
    gates.iter().try_for_each(ComparedSweeps::check).map_err(Stop::usage)?;
    for side in &sides {
        check(gates, &side.sweep.workload)?;
        let reasons = if side.sweep.valid { &[][..] } else { &side.sweep.reasons };
        believe(&side.name, reasons, false, invalid)?;
    }
    Ok(ComparedResults::Sweeps(sides))
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

/// A stored run with its log, or runs that repeat one another.
fn side(folder: &Path, name: String, stored: Stored, gates: &[Gate]) -> Result<(ComparedSide, Option<RunLog>), Stop> {
    let read = |folder: &Path| {
        let read = JudgedRun::read(folder, &[]);
        read.map_err(|stop| Stop::usage(format!("{}\n{NAME_ONE}", stop.message())))
    };
    let Stored::Repeats(runs) = stored else {
        let JudgedRun { log, summary, .. } = read(folder)?;
        let demanded = gates.iter().map(|gate| &gate.margin().figure);
        return Ok((ComparedSide::of_run(name, &log, summary, demanded), Some(log)));
    };
    let runs = runs.iter().map(|run| read(run).map(|run| (run.log.header, run.summary)));
    let runs = runs.collect::<Result<Vec<_>, Stop>>()?;
    let problem = format!("{} does not hold runs that repeat one another", folder.display());
    let side = ComparedSide::of_repeats(name, runs, &[]);
    side.map(|side| (side, None)).map_err(|error| Stop::usage(format!("{problem}: {error}")))
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
