//! Conducts an experiment against servers: draws, reads, announces, carries out and stores its runs and their result.

use std::collections::BTreeMap;
use std::time::Duration;

use super::dir::ExperimentDir;
use super::reported::{Conducted, Reported as _, store};
use crate::analysis::{Objective, summarise};
use crate::experiment::{CompletedRun, Executor, Experiment, InvalidRuns, RunOutcome, RunRequest, RunsLeft, drive};
use crate::record::RunEnding;
use crate::session::console::{Exit, Interrupts, Printer, Stop};
use crate::session::exits::ExitRules;
use crate::session::planned::PlannedRun;
use crate::session::run::{RunContext, StoredRun};
use crate::session::settings::MachineCheck;
use crate::session::stored_run::JudgedRun;
use crate::units;

/// Folder, announcements and pace of the runs of an experiment.
pub(crate) struct Conduct<'a> {
    dir: &'a ExperimentDir,
    interrupts: &'a Interrupts,
    /// Printer that announces runs. Absent where none is announced.
    announce: Option<Printer>,
    /// Time between two runs.
    pub(crate) pause: Duration,
    /// Whether runs go on however many are spoiled. This machine is overridden then, or spoiled runs count.
    forced: bool,
    printer: Printer,
}

impl<'a> Conduct<'a> {
    /// Pace without pauses, in `dir`.
    pub(crate) fn new(
        dir: &'a ExperimentDir,
        interrupts: &'a Interrupts,
        (machine, invalid): (MachineCheck, InvalidRuns),
        (announce, printer): (Option<Printer>, Printer),
    ) -> Self {
        let forced = machine == MachineCheck::Overridden || invalid == InvalidRuns::Counted;
        Self { dir, interrupts, announce, pause: Duration::ZERO, forced, printer }
    }
}

/// Carries out the runs of `experiment`, and shows by `show` what they mean. It says where that is stored and how to go
/// on, and returns the exit code under `rules`.
pub(crate) fn conduct<E: Conducted, C: Campaign<E>>(
    experiment: &mut E,
    campaign: C,
    conduct: Conduct<'_>,
    rules: ExitRules,
    show: impl FnOnce(&E::Found) -> Result<(), Stop>,
) -> Result<Exit, Stop> {
    let Conduct { dir, printer, .. } = conduct;
    let again = || dir.command_to_resume(&[]);
    conduct.interrupts.series_begins();
    let mut executor = CampaignExecutor { campaign, conduct, drawn: BTreeMap::new(), read: 0 };
    let driven = drive(experiment, &mut executor);
    executor.campaign.over(driven.is_ok().then_some(executor.read));
    let found = driven.and_then(|()| executor.campaign.found(experiment)).inspect_err(|_| {
        if experiment.is_resumable() {
            printer.words(&format!("what was measured is stored; resume with: {}", again()));
        }
    })?;
    // Its connections and servers end here: a pager may show the result for long.
    drop(executor);
    let exit = if let Some(found) = found {
        show(&found)?;
        found.say_stored(dir, printer);
        experiment.ended_early().unwrap_or_else(|| found.exit(rules, printer))
    } else {
        if let Some(nothing) = E::NOTHING {
            printer.words(&format!("{nothing}; saved to {}; resume with: {}", dir.folder().display(), again()));
        }
        experiment.ended_early().unwrap_or(Exit::Interrupted)
    };
    Ok(exit)
}

/// A run that an experiment asked for, before or after it was carried out.
pub(crate) struct CampaignStep<'a, E: Experiment> {
    pub(crate) request: &'a RunRequest<E::Part>,
    pub(crate) experiment: &'a E,
    /// Time between two runs.
    pub(crate) pause: Duration,
}

/// How one kind of experiment differs from another where its runs are carried out.
pub(crate) trait Campaign<E: Conducted> {
    /// Draws the plan of the requested run.
    fn plan(&mut self, request: &RunRequest<E::Part>) -> Result<PlannedRun, Stop>;

    /// Returns the objectives that a stored run is judged by.
    fn objectives(&self, request: &RunRequest<E::Part>) -> &[Objective];

    /// Why this machine cannot be trusted with the run, if it cannot.
    fn refuses(&self, _request: &RunRequest<E::Part>, _run: &PlannedRun) -> Option<String> {
        None
    }

    /// Returns the time that so many runs with the plan `run` take. The first of them is `next`.
    fn time_of(&self, next: &CampaignStep<'_, E>, run: &PlannedRun, runs: u64) -> Duration {
        (run.length() + next.pause).mul_f64(runs as f64)
    }

    /// Says how many runs are left, this one included, and how long they take. It says nothing before the last.
    fn runs_left(&self, next: &CampaignStep<'_, E>, run: &PlannedRun) -> String {
        runs_left(self, next, run)
    }

    /// Returns the server that the run of `after` was against. It does so if the server is still there and is to come
    /// to rest.
    fn resting(&self, _after: &RunRequest<E::Part>) -> Option<&RunContext> {
        None
    }

    /// The server, made ready for the requested run.
    fn ready(&mut self, request: &RunRequest<E::Part>) -> Result<&RunContext, Stop>;

    /// Returns the requested run and its place in the experiment, in words. Absent: it is not announced.
    fn title(&self, next: &CampaignStep<'_, E>, run: &PlannedRun) -> Option<String>;

    /// Takes a run that has just ended, before it is recorded.
    fn finished(&mut self, _request: &RunRequest<E::Part>, _run: &StoredRun) -> Result<(), Stop> {
        Ok(())
    }

    /// Decides what a run that could not be carried out means. By default it is the end of the experiment.
    fn failed(&mut self, _request: &RunRequest<E::Part>, stop: Stop) -> Result<RunOutcome, Stop> {
        Err(stop)
    }

    /// Shows what is known after a run. An error ends the experiment once its result is stored.
    fn recorded(&mut self, _done: &CampaignStep<'_, E>) -> Result<(), Stop> {
        Ok(())
    }

    /// Result of the runs so far. `None`: nothing yet.
    fn found(&self, experiment: &E) -> Result<Option<E::Found>, Stop> {
        experiment.found()
    }

    /// Ends what served the runs. So many were `read` where they were stored, if the experiment came to its end.
    fn over(&mut self, _read: Option<u64>) {}
}

/// Says how many runs are left, this one included, and how long they take. Each is taken to last as long as this one.
/// It says so in words.
pub(super) fn runs_left<E: Conducted>(
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

/// Carries out the runs of a [`Campaign`].
struct CampaignExecutor<'a, C> {
    campaign: C,
    conduct: Conduct<'a>,
    /// Runs that were drawn and not yet carried out, by their folders.
    drawn: BTreeMap<String, PlannedRun>,
    /// Stored runs that count.
    read: u64,
}

impl<C> CampaignExecutor<'_, C> {
    fn draw<E: Conducted>(&mut self, request: &RunRequest<E::Part>) -> Result<PlannedRun, Stop>
    where
        C: Campaign<E>,
    {
        match self.drawn.remove(&request.name) {
            Some(run) => Ok(run),
            None => self.campaign.plan(request),
        }
    }

    fn carry_out<E: Conducted>(&mut self, request: &RunRequest<E::Part>, experiment: &E) -> Result<RunOutcome, Stop>
    where
        C: Campaign<E>,
    {
        let run = self.draw::<E>(request)?;
        let next = CampaignStep { request, experiment, pause: self.conduct.pause };
        let title = self.campaign.title(&next, &run);
        let title = title.map(|title| title + &self.campaign.runs_left(&next, &run));
        let context = self.campaign.ready(request)?;
        if self.conduct.interrupts.stop_is_wished() {
            return Ok(RunOutcome::Interrupted(None));
        }
        // A group's runs follow one another: what is stored of it counts no more.
        if request.group.first() == Some(&request.name) {
            request.group.iter().try_for_each(|name| self.conduct.dir.set_aside(name))?;
        }
        if let (Some(printer), Some(title)) = (self.conduct.announce, &title) {
            printer.words(title);
        }
        let (dir, run) = (self.conduct.dir, PlannedRun { part: title, ..run });
        let run = context.execute(run, request.number, |_| dir.place(&request.name))?;
        self.campaign.finished(request, &run)?;
        let interrupted = run.ending() == RunEnding::Interrupted;
        run.stored?;
        let JudgedRun { summary, diagnosis, .. } = run.run;
        if let (Some(printer), Some(aborted)) = (self.conduct.announce, summary.aborted()) {
            printer.words(&format!("{}: {aborted}", request.name));
        }
        let run = CompletedRun { summary: Box::new(summary), diagnosis: Some(Box::new(diagnosis)) };
        Ok(if interrupted { RunOutcome::Interrupted(Some(run)) } else { RunOutcome::Completed(run) })
    }
}

impl<E: Conducted, C: Campaign<E>> Executor<E> for CampaignExecutor<'_, C> {
    type Error = Stop;

    fn stored(&mut self, request: &RunRequest<E::Part>) -> Result<Option<CompletedRun>, Stop> {
        let run = self.draw::<E>(request)?;
        let hash = run.plan.hash.clone();
        self.drawn.insert(request.name.clone(), run);
        // A run of a group counts only with all the others.
        for name in request.group.iter().filter(|name| **name != request.name) {
            if self.conduct.dir.stored(name, &hash)?.is_none() {
                return Ok(None);
            }
        }
        let Some(log) = self.conduct.dir.stored(&request.name, &hash)? else { return Ok(None) };
        self.drawn.remove(&request.name);
        Ok(Some(CompletedRun::from(summarise(&log, self.campaign.objectives(request)))))
    }

    fn counts_stored(&mut self) {
        self.read += 1;
    }

    fn is_interrupted(&self) -> bool {
        self.conduct.interrupts.stop_is_wished()
    }

    fn is_forced(&self) -> bool {
        self.conduct.forced
    }

    fn ends(&mut self, why: &str) {
        if let Some(printer) = self.conduct.announce.take() {
            printer.words(&format!("no more runs start: {why}"));
        }
    }

    fn refuses(&mut self, request: &RunRequest<E::Part>) -> Result<Option<String>, Stop> {
        let run = self.draw::<E>(request)?;
        let refusal = self.campaign.refuses(request, &run);
        self.drawn.insert(request.name.clone(), run);
        Ok(refusal)
    }

    fn rest(&mut self, after: &RunRequest<E::Part>) {
        if let Some(context) = self.campaign.resting(after) {
            context.let_rest(self.conduct.pause);
        }
    }

    fn run(&mut self, request: &RunRequest<E::Part>, experiment: &E) -> Result<RunOutcome, Stop> {
        match self.carry_out(request, experiment) {
            Ok(outcome) => Ok(outcome),
            Err(stop) => self.campaign.failed(request, stop),
        }
    }

    fn recorded(&mut self, request: &RunRequest<E::Part>, experiment: &E) -> Result<(), Stop> {
        if let (Some(printer), Some(replacement)) = (self.conduct.announce, experiment.replacement(request)) {
            printer.words(&replacement);
        }
        let shown = self.campaign.recorded(&CampaignStep { request, experiment, pause: self.conduct.pause });
        if request.group.last().is_none_or(|last| *last == request.name) {
            store(self.campaign.found(experiment)?, self.conduct.dir.folder())?;
        }
        shown
    }
}

/// The place of a run or round among the planned ones, in words.
pub(super) fn place(noun: &str, number: u64, of: u64) -> String {
    if number > of { format!("{noun} {number}, a spare one") } else { format!("{noun} {number} of {of}") }
}
