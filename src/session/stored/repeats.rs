//! Stored runs that repeat one another.

use std::path::{Path, PathBuf};

use super::save;
use crate::analysis::{Objective, Summary, summarise};
use crate::experiment::{Diagnosis, Repeats};
use crate::record::RunLog;
use crate::session::exit::Stop;

/// Name of a run's folder before its number.
pub(crate) const PREFIX: &str = "run-";

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

/// Computes from their logs again what the runs in `folders` say together, and hands each to `tell` meanwhile. Without
/// `objectives` they are held against those of the first.
pub(crate) fn again(
    folders: &[PathBuf],
    objectives: &[Objective],
    mut tell: impl FnMut(&Path, &RunLog, &Summary, &Diagnosis) -> Result<(), Stop>,
) -> Result<Repeats, Stop> {
    let (mut runs, mut diagnoses) = (Vec::new(), Vec::new());
    let mut demanded = objectives.to_vec();
    for folder in folders {
        let log = RunLog::read(folder).map_err(Stop::usage)?;
        if demanded.is_empty() {
            demanded = save::objectives_of(&log.header)?;
        }
        save::check_objectives(objectives, &log.header.workload)?;
        let summary = summarise(&log, &demanded);
        let found = Diagnosis::of_run(&log, &summary);
        tell(folder, &log, &summary, &found)?;
        diagnoses.push(found);
        runs.push(summary);
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
