//! The repeats of a run against a server.

use super::conduct::{Campaign, CampaignStep, place};
use crate::analysis::Objective;
use crate::experiment::{RepeatRun, RepeatsExperiment, RunRequest};
use crate::session::console::Stop;
use crate::session::planned::PlannedRun;
use crate::session::run::{RunContext, StoredRun};

/// The repeats of a run. `export` writes each in the formats that were asked for.
pub(crate) struct RepeatsCampaign<'a, F> {
    pub(crate) context: &'a RunContext,
    pub(crate) runs: Vec<PlannedRun>,
    pub(crate) objectives: &'a [Objective],
    pub(crate) export: F,
    /// The failure of the export, until the run is recorded.
    pub(crate) failure: Option<Stop>,
}

impl<F> Campaign<RepeatsExperiment> for RepeatsCampaign<'_, F>
where
    F: FnMut(&StoredRun) -> Result<(), Stop>,
{
    fn plan(&mut self, request: &RunRequest<RepeatRun>) -> Result<PlannedRun, Stop> {
        PlannedRun::numbered(&self.runs, request.part.number)
    }

    fn objectives(&self, _request: &RunRequest<RepeatRun>) -> &[Objective] {
        self.objectives
    }

    fn ready(&mut self, _request: &RunRequest<RepeatRun>) -> Result<&RunContext, Stop> {
        Ok(self.context)
    }

    fn title(&self, next: &CampaignStep<'_, RepeatsExperiment>, run: &PlannedRun) -> Option<String> {
        let RepeatRun { number, of } = next.request.part;
        Some(format!("{}, seed {}", place("run", number, of), run.workload.seed))
    }

    fn finished(&mut self, _request: &RunRequest<RepeatRun>, run: &StoredRun) -> Result<(), Stop> {
        self.failure = (self.export)(run).err();
        Ok(())
    }

    fn recorded(&mut self, _done: &CampaignStep<'_, RepeatsExperiment>) -> Result<(), Stop> {
        self.failure.take().map_or(Ok(()), Err)
    }
}
