//! Carries out the runs of an experiment against servers: each is drawn once, read where it is stored, and stored.

use std::collections::BTreeMap;
use std::time::Duration;

use super::dir::ExperimentDir;
use crate::analysis::{Objective, summarise};
use crate::experiment::{
    CompletedRun, Executor, Experiment, InvalidRuns, RepeatRun, Repeats, RepeatsExperiment, RunOutcome,
    RunRequest, RunsLeft,
};
use crate::record::RunEnding;
use crate::session::console::{Interrupts, Printer, Stop};
use crate::session::planned::PlannedRun;
use crate::session::run::{RunContext, StoredRun};
use crate::session::save;
use crate::session::settings::MachineCheck;
use crate::session::stored_run::JudgedRun;
use crate::units;
use crate::units::counted;

/// A run that an experiment asked for, before or after it was carried out.
pub(crate) struct CampaignStep<'a, E: Experiment> {
    pub(crate) request: &'a RunRequest<E::Part>,
    pub(crate) experiment: &'a E,
    pub(crate) dir: &'a ExperimentDir,
    /// Time between two runs.
    pub(crate) pause: Duration,
}

/// How one kind of experiment differs from another where its runs are carried out.
pub(crate) trait Campaign<E: Experiment> {
    /// Draws the plan of the requested run.
    fn plan(&mut self, request: &RunRequest<E::Part>) -> Result<PlannedRun, Stop>;

    /// What a stored run is judged by.
    fn objectives(&self, request: &RunRequest<E::Part>) -> &[Objective];

    /// Why this machine cannot be trusted with the run, if it cannot.
    fn refuses(&self, request: &RunRequest<E::Part>, run: &PlannedRun) -> Option<String> {
        let _ = (request, run);
        None
    }

    /// Time that so many runs take, of which `next` is the first, with the plan `run`.
    fn time_of(&self, next: &CampaignStep<'_, E>, run: &PlannedRun, runs: u64) -> Duration {
        (run.length() + next.pause).mul_f64(runs as f64)
    }

    /// How many runs are left, this one included, and how long they take, in words; nothing before the last.
    fn runs_left(&self, next: &CampaignStep<'_, E>, run: &PlannedRun) -> String {
        runs_left(self, next, run)
    }

    /// The server that the run of `after` was against, if it is still there and is to come to rest.
    fn resting(&self, after: &RunRequest<E::Part>) -> Option<&RunContext> {
        let _ = after;
        None
    }

    /// The server, made ready for the requested run.
    fn ready(&mut self, request: &RunRequest<E::Part>) -> Result<&RunContext, Stop>;

    /// The requested run and its place in the experiment, in words; absent: it is not announced.
    fn title(&self, next: &CampaignStep<'_, E>, run: &PlannedRun) -> Option<String>;

    /// Takes a run that has just ended, before it is recorded.
    fn finished(&mut self, request: &RunRequest<E::Part>, run: &StoredRun) -> Result<(), Stop> {
        let _ = (request, run);
        Ok(())
    }

    /// What a run that could not be carried out means: by default the end of the experiment.
    fn failed(&mut self, request: &RunRequest<E::Part>, stop: Stop) -> Result<RunOutcome, Stop> {
        let _ = request;
        Err(stop)
    }

    /// Stores and shows what is known after a run.
    fn recorded(&mut self, done: &CampaignStep<'_, E>) -> Result<(), Stop>;
}

/// How many runs are left, this one included, and how long they take if each takes as long as this, in words.
pub(super) fn runs_left<E: Experiment>(
    campaign: &(impl Campaign<E> + ?Sized),
    next: &CampaignStep<'_, E>,
    run: &PlannedRun,
) -> String {
    let spoken = |runs| units::spoken(campaign.time_of(next, run, runs));
    match next.experiment.remaining() {
        RunsLeft::Exactly(0 | 1) | RunsLeft::AtMost(0 | 1) => String::new(),
        // Nothing but the server says how long they take.
        RunsLeft::Exactly(runs) | RunsLeft::AtMost(runs) if run.plan.is_open_ended() => {
            format!("; {runs} runs left")
        }
        RunsLeft::Exactly(runs) => format!("; {runs} runs left, about {}", spoken(runs)),
        RunsLeft::AtMost(runs) => format!("; at most {runs} runs left, up to {}", spoken(runs)),
    }
}

/// Carries out the runs of a [`Campaign`] in an [`ExperimentDir`].
pub(crate) struct CampaignExecutor<'a, C> {
    pub(crate) campaign: C,
    dir: &'a ExperimentDir,
    interrupts: &'a Interrupts,
    /// Where runs are announced; absent: nowhere.
    announce: Option<Printer>,
    /// Runs that were drawn and not yet carried out, by their folders.
    drawn: BTreeMap<String, PlannedRun>,
    /// Stored runs that count.
    read: u64,
    /// Whether runs go on however many are spoiled.
    forced: bool,
    /// Time between two runs.
    pause: Duration,
}

impl<'a, C> CampaignExecutor<'a, C> {
    pub(crate) fn new(
        campaign: C,
        dir: &'a ExperimentDir,
        interrupts: &'a Interrupts,
        announce: Option<Printer>,
    ) -> Self {
        let (drawn, pause) = (BTreeMap::new(), Duration::ZERO);
        Self { campaign, dir, interrupts, announce, drawn, read: 0, forced: false, pause }
    }

    /// Executor with so much time between two runs.
    pub(crate) fn pausing(self, pause: Duration) -> Self {
        Self { pause, ..self }
    }

    /// The same, in which runs go on however many are spoiled if that is said: this machine is overridden, or
    /// spoiled runs count.
    pub(crate) fn forced(self, machine: MachineCheck, invalid: InvalidRuns) -> Self {
        Self { forced: machine == MachineCheck::Overridden || invalid == InvalidRuns::Counted, ..self }
    }

    /// Says how many runs were read where they were stored.
    pub(crate) fn say_what_was_read(&self, progress: Option<Printer>) {
        if let (Some(printer), 1..) = (progress, self.read) {
            printer.words(&format!("{} had been stored before and were read", counted(self.read, "run")));
        }
    }

    fn draw<E: Experiment>(&mut self, request: &RunRequest<E::Part>) -> Result<PlannedRun, Stop>
    where
        C: Campaign<E>,
    {
        match self.drawn.remove(&request.name) {
            Some(run) => Ok(run),
            None => self.campaign.plan(request),
        }
    }

    fn carry_out<E: Experiment>(
        &mut self,
        request: &RunRequest<E::Part>,
        experiment: &E,
    ) -> Result<RunOutcome, Stop>
    where
        C: Campaign<E>,
    {
        let run = self.draw::<E>(request)?;
        let next = CampaignStep { request, experiment, dir: self.dir, pause: self.pause };
        let title = self.campaign.title(&next, &run);
        let title = title.map(|title| title + &self.campaign.runs_left(&next, &run));
        let context = self.campaign.ready(request)?;
        if self.interrupts.stop_is_wished() {
            return Ok(RunOutcome::Interrupted(None));
        }
        // A group's runs follow one another: what is stored of it counts no more.
        if request.group.first() == Some(&request.name) {
            request.group.iter().try_for_each(|name| self.dir.set_aside(name))?;
        }
        if let (Some(printer), Some(title)) = (self.announce, &title) {
            printer.words(title);
        }
        let (dir, run) = (self.dir, PlannedRun { part: title, ..run });
        let run = context.execute(run, request.number, |_| dir.place(&request.name))?;
        self.campaign.finished(request, &run)?;
        let interrupted = run.ending() == RunEnding::Interrupted;
        run.stored?;
        let JudgedRun { summary, diagnosis, .. } = run.run;
        if let (Some(printer), Some(aborted)) = (self.announce, summary.aborted()) {
            printer.words(&format!("{}: {aborted}", request.name));
        }
        let run = CompletedRun { summary: Box::new(summary), diagnosis: Some(Box::new(diagnosis)) };
        Ok(if interrupted { RunOutcome::Interrupted(Some(run)) } else { RunOutcome::Completed(run) })
    }
}

impl<E: Experiment, C: Campaign<E>> Executor<E> for CampaignExecutor<'_, C> {
    type Error = Stop;

    fn stored(&mut self, request: &RunRequest<E::Part>) -> Result<Option<CompletedRun>, Stop> {
        let run = self.draw::<E>(request)?;
        let hash = run.plan.hash.clone();
        self.drawn.insert(request.name.clone(), run);
        // A run of a group counts only with all the others.
        for name in request.group.iter().filter(|name| **name != request.name) {
            if self.dir.stored(name, &hash)?.is_none() {
                return Ok(None);
            }
        }
        let Some(log) = self.dir.stored(&request.name, &hash)? else { return Ok(None) };
        self.drawn.remove(&request.name);
        Ok(Some(CompletedRun::from(summarise(&log, self.campaign.objectives(request)))))
    }

    fn counts_stored(&mut self) {
        self.read += 1;
    }

    fn is_interrupted(&self) -> bool {
        self.interrupts.stop_is_wished()
    }

    fn is_forced(&self) -> bool {
        self.forced
    }

    fn ends(&mut self, why: &str) {
        if let Some(printer) = self.announce.take() {
            printer.words(&format!("no more runs start: {why}"));
        }
    }

    fn refuses(&mut self, request: &RunRequest<E::Part>) -> Result<Option<String>, Stop> {
        let run = self.draw::<E>(request)?;
        let refusal = self.campaign.refuses(request, &run);
        self.drawn.insert(request.name.clone(), run);
        Ok(refusal)
    }

    fn rest(&mut self, after: &RunRequest<E::Part>, _before: &RunRequest<E::Part>) {
        if let Some(context) = self.campaign.resting(after) {
            context.let_rest(self.pause);
        }
    }

    fn run(&mut self, request: &RunRequest<E::Part>, experiment: &E) -> Result<RunOutcome, Stop> {
        match self.carry_out(request, experiment) {
            Ok(outcome) => Ok(outcome),
            Err(stop) => self.campaign.failed(request, stop),
        }
    }

    fn recorded(&mut self, request: &RunRequest<E::Part>, experiment: &E) -> Result<(), Stop> {
        if let (Some(printer), Some(replacement)) = (self.announce, experiment.replacement(request)) {
            printer.words(&replacement);
        }
        self.campaign.recorded(&CampaignStep { request, experiment, dir: self.dir, pause: self.pause })
    }
}

/// The place of a run or round among the planned ones, in words.
pub(super) fn place(noun: &str, number: u64, of: u64) -> String {
    if number > of { format!("{noun} {number}, a spare one") } else { format!("{noun} {number} of {of}") }
}

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

    fn recorded(&mut self, done: &CampaignStep<'_, RepeatsExperiment>) -> Result<(), Stop> {
        let Some(repeats) = repeats_so_far(done.experiment)? else { return Ok(()) };
        save::repeats(&repeats, done.dir.folder()).and(self.failure.take().map_or(Ok(()), Err))
    }
}

/// What the runs so far say together; `None` where an interrupt came before the first of them.
pub(crate) fn repeats_so_far(experiment: &RepeatsExperiment) -> Result<Option<Repeats>, Stop> {
    match experiment.result() {
        Ok(repeats) => Ok(Some(repeats)),
        Err(_) if experiment.is_interrupted() => Ok(None),
        Err(error) => Err(Stop::impossible(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupt_before_the_first_repeat_is_no_error() {
        let mut experiment = RepeatsExperiment::new(3, Vec::new(), InvalidRuns::LeftOut);
        assert!(repeats_so_far(&experiment).is_err(), "without an interrupt there is a run");
        let request = experiment.next().unwrap();
        experiment.record(&request, RunOutcome::Interrupted(None));
        assert!(matches!(repeats_so_far(&experiment), Ok(None)));
    }
}
