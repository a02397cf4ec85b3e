//! A run and what it says: judged when it ends, read again, stored, and reported.

use std::path::{Path, PathBuf};

use super::save;
use crate::analysis::{Objective, Summary, summarise};
use crate::experiment::{Diagnosis, PairedOpen, Repeats};
use crate::record::{RunEnding, RunLog};
use crate::report::{Extras, RunReport};
use crate::session::console::Stop;
use crate::session::folder;

/// The folder of the open run that goes with a closed one, inside that of the closed run.
const OPEN: &str = "open";

/// A run with what is computed from its log.
pub(crate) struct JudgedRun {
    pub(crate) log: RunLog,
    pub(crate) summary: Summary,
    pub(crate) diagnosis: Diagnosis,
}

impl JudgedRun {
    /// The run of `log`, judged by `objectives`.
    pub(crate) fn of(log: RunLog, objectives: &[Objective]) -> Self {
        let summary = summarise(&log, objectives);
        let diagnosis = Diagnosis::of_run(&log, &summary);
        Self { log, summary, diagnosis }
    }

    /// The run stored at `path`, judged by `objectives`, or by those that it was started with where there are none.
    pub(crate) fn read(path: &Path, objectives: &[Objective]) -> Result<Self, Stop> {
        let log = RunLog::read(path).map_err(Stop::usage)?;
        if objectives.is_empty() {
            let own = save::objectives_of(&log.header)?;
            return Ok(Self::of(log, &own));
        }
        Objective::check_all(objectives, &log.header.workload).map_err(Stop::usage)?;
        Ok(Self::of(log, objectives))
    }

    /// What is reported of it, with the open run that is paired with it.
    pub(crate) fn report<'a>(&'a self, paired_open: Option<&'a PairedOpen>) -> RunReport<'a> {
        let extras = Extras { paired_open, diagnosis: Some(&self.diagnosis) };
        RunReport { log: &self.log, summary: &self.summary, extras }
    }

    /// The comparison of this closed run, which is stored at `path`, with the open run beside it, if there is one.
    pub(crate) fn paired_open(&self, path: &Path) -> Result<Option<PairedOpen>, Stop> {
        let open = folder::of(path).join(OPEN);
        if !open.is_dir() {
            return Ok(None);
        }
        let log = RunLog::read(&open).map_err(Stop::usage)?;
        Ok(PairedOpen::of(&self.summary, &summarise(&log, &[])))
    }
}

/// Creates the folder of the open run inside that of the closed one.
pub(crate) fn open_folder(closed: &Path) -> Result<PathBuf, Stop> {
    folder::inside(closed, OPEN)
}

/// The log in `folder`, if there is one and its run came to its end.
pub(crate) fn completed(folder: &Path) -> Result<Option<RunLog>, Stop> {
    if !folder.join(RunLog::FILE_NAME).exists() {
        return Ok(None);
    }
    let log = RunLog::read(folder).map_err(Stop::usage)?;
    Ok(ran_to_its_end(&log).then_some(log))
}

/// Whether the run came to its end.
pub(crate) fn ran_to_its_end(log: &RunLog) -> bool {
    let ending = log.footer.as_ref().map(|footer| footer.ending);
    matches!(ending, Some(RunEnding::Finished | RunEnding::DrainLimit))
}

/// Name of a run's folder before its number.
const PREFIX: &str = "run-";

/// The folders of runs that repeat one another inside `folder`, in the order of their numbers; none if `folder` is that of
/// one run.
pub(crate) fn repeats_in(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    if folder.join(RunLog::FILE_NAME).exists() {
        return Vec::new();
    }
    let mut numbered: Vec<(u64, PathBuf)> = entries
        .flatten()
        .filter_map(|entry| {
            let number = entry.file_name().to_str()?.strip_prefix(PREFIX)?.parse().ok()?;
            Some((number, entry.path())).filter(|(_, path)| path.join(RunLog::FILE_NAME).exists())
        })
        .collect();
    numbered.sort();
    numbered.into_iter().map(|(_, path)| path).collect()
}

/// Computes from their logs again what the runs in `folders` say together, and hands each to `report` meanwhile. Without
/// `objectives` they are held against those of the first.
pub(crate) fn repeats_again(
    folders: &[PathBuf],
    objectives: &[Objective],
    mut report: impl FnMut(&Path, &JudgedRun) -> Result<(), Stop>,
) -> Result<Repeats, Stop> {
    let (mut runs, mut diagnoses) = (Vec::new(), Vec::new());
    let mut demanded = objectives.to_vec();
    for folder in folders {
        let log = RunLog::read(folder).map_err(Stop::usage)?;
        if demanded.is_empty() {
            demanded = save::objectives_of(&log.header)?;
        }
        Objective::check_all(objectives, &log.header.workload).map_err(Stop::usage)?;
        let run = JudgedRun::of(log, &demanded);
        report(folder, &run)?;
        diagnoses.push(run.diagnosis);
        runs.push(run.summary);
    }
    let repeats = Repeats::of(&runs, &demanded).map_err(|error| {
        let folder = folders.first().and_then(|run| run.parent()).unwrap_or(Path::new("."));
        Stop::usage(format!(
            "{} does not hold runs that repeat one another: {error}\nhint: show one of them: skyline report {0}/{PREFIX}1",
            folder.display()
        ))
    })?;
    Ok(repeats.diagnosed(&runs, &diagnoses))
}
