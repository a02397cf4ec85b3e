//! Runs that repeat one another against one server.

use super::dir::ExperimentDir;
use super::executor::Campaign;
use crate::analysis::Objective;
use crate::experiment::{Experiment, RepeatRun, RepeatsExperiment, RunRequest};
use crate::session::exit::Stop;
use crate::session::planned::PlannedRun;
use crate::session::run::{RunContext, StoredRun};
use crate::session::stored::save;

/// The repeats of a run. `export` writes each in the formats that were asked for.
pub(crate) struct RepeatsCampaign<'a, F> {
    pub(crate) context: &'a RunContext,
    pub(crate) runs: Vec<PlannedRun>,
    pub(crate) objectives: &'a [Objective],
    pub(crate) export: F,
    /// What went wrong with that, until the run is recorded.
    pub(crate) failure: Option<Stop>,
}

impl<F> Campaign<RepeatsExperiment> for RepeatsCampaign<'_, F>
where
    F: FnMut(&StoredRun) -> Result<(), Stop>,
{
    fn plan(&mut self, request: &RunRequest<RepeatRun>) -> Result<PlannedRun, Stop> {
        let run = self.runs.get(request.part.number as usize - 1).cloned();
        run.ok_or_else(|| Stop::impossible(format!("{} is not planned", request.name)))
    }

    fn objectives(&self, _request: &RunRequest<RepeatRun>) -> &[Objective] {
        self.objectives
    }

    fn ready(&mut self, _request: &RunRequest<RepeatRun>) -> Result<&RunContext, Stop> {
        Ok(self.context)
    }

    fn title(
        &self,
        request: &RunRequest<RepeatRun>,
        run: &PlannedRun,
        _experiment: &RepeatsExperiment,
    ) -> Option<String> {
        let RepeatRun { number, of } = request.part;
        Some(format!("run {number} of {of}, seed {}", run.workload.seed))
    }

    fn finished(&mut self, _request: &RunRequest<RepeatRun>, run: &StoredRun) -> Result<(), Stop> {
        self.failure = (self.export)(run).err();
        Ok(())
    }

    fn recorded(
        &mut self,
        _request: &RunRequest<RepeatRun>,
        experiment: &RepeatsExperiment,
        dir: &ExperimentDir,
    ) -> Result<(), Stop> {
        match experiment.result() {
            Ok(repeats) => save::repeats(&repeats, dir.folder()).and(self.failure.take().map_or(Ok(()), Err)),
            // An interrupt came before the first run.
            Err(_) if experiment.is_interrupted() => Ok(()),
            Err(error) => Err(Stop::impossible(error)),
        }
    }
}
