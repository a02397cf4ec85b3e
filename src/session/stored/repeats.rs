//! Stored runs that repeat one another.

use std::path::{Path, PathBuf};

use super::run::JudgedRun;
use super::save;
use crate::analysis::Objective;
use crate::experiment::Repeats;
use crate::record::RunLog;
use crate::session::exit::Stop;

/// Name of a run's folder before its number.
const PREFIX: &str = "run-";

/// The folders of runs that repeat one another inside `folder`, in the order of their numbers; none if `folder` is that of
/// one run.
pub(crate) fn runs_in(folder: &Path) -> Vec<PathBuf> {
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
pub(crate) fn again(
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
        save::check_objectives(objectives, &log.header.workload)?;
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
