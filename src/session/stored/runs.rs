//! Reads the runs of experiments from their folders.

use std::path::Path;

use crate::analysis::summarise;
use crate::experiment::{CompletedRun, Executor, Experiment, RunOutcome, RunRequest};
use crate::record::{RunEnding, RunLog};
use crate::session::exit::Stop;

/// Reads the runs of an experiment in this folder, and carries none out.
pub(crate) struct StoredRuns<'a>(pub(crate) &'a Path);

impl<E: Experiment> Executor<E> for StoredRuns<'_> {
    type Error = Stop;

    fn stored(&mut self, request: &RunRequest<E::Part>) -> Result<Option<CompletedRun>, Stop> {
        let log = completed(&self.0.join(&request.name))?;
        Ok(log.map(|log| CompletedRun::from(summarise(&log, &[]))))
    }

    fn run(&mut self, _request: &RunRequest<E::Part>, _experiment: &E) -> Result<RunOutcome, Stop> {
        Ok(RunOutcome::Absent)
    }
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
