//! An A/B test against two servers that are there all the time, or one machine that serves them in turn.

use std::sync::Arc;
use std::time::Duration;

use super::dir::ExperimentDir;
use super::executor::Campaign;
use crate::analysis::Objective;
use crate::experiment::{AbDesign, AbExperiment, AbRun, AbSide, Experiment, NotRounds, RunRequest};
use crate::generator::Datasets;
use crate::record::RunEnding;
use crate::report::{self, documents, render};
use crate::session::exit::Stop;
use crate::session::hooks::{Hook, Line, Output, Variable, Variables};
use crate::session::interrupts::Interrupts;
use crate::session::planned::PlannedRun;
use crate::session::printer::Printer;
use crate::session::run::{Conditions, RunContext, StoredRun};
use crate::session::settings::RunSettings;
use crate::workload::WorkloadSpec;

/// The file that commands write to, in the experiment's folder.
const OUTPUT: &str = "commands.log";
/// What the test found, in the experiment's folder.
const RESULT: &str = "ab.json";

/// How both sides are reached, and what their runs are.
pub(crate) struct AbPlan {
    /// Settings of A and of B.
    pub(crate) sides: [RunSettings; 2],
    pub(crate) workload: WorkloadSpec,
    pub(crate) datasets: Arc<Datasets>,
    /// A plan for each round.
    pub(crate) rounds: Vec<PlannedRun>,
    /// Time between two runs.
    pub(crate) pause: Duration,
    /// Requests that are sent to a server before its first run.
    pub(crate) warmup_requests: u64,
    /// Makes one machine serve the side that comes next.
    pub(crate) switch: Option<String>,
    /// Is run before each run.
    pub(crate) reset: Option<String>,
}

impl AbPlan {
    pub(crate) const fn settings(&self, side: AbSide) -> &RunSettings {
        match side {
            AbSide::A => &self.sides[0],
            AbSide::B => &self.sides[1],
        }
    }
}

/// The two servers, made ready when they are needed.
pub(crate) struct AbTargets<'a> {
    plan: &'a AbPlan,
    interrupts: &'a Interrupts,
    printer: Printer,
    output: Option<Output>,
    ready: Vec<(AbSide, RunContext)>,
    /// What both sides have in common, once one is connected.
    conditions: Option<Conditions>,
    /// Whether a run is recorded: the first alone is taken for a guess of the difference that can be found.
    guessed: bool,
    quiet: bool,
    design: AbDesign,
}

impl<'a> AbTargets<'a> {
    pub(crate) fn new(
        plan: &'a AbPlan,
        design: AbDesign,
        interrupts: &'a Interrupts,
        printer: Printer,
        quiet: bool,
    ) -> Self {
        let (output, ready, conditions, guessed) = (None, Vec::new(), None, false);
        Self { plan, interrupts, printer, output, ready, conditions, guessed, quiet, design }
    }

    /// Commands write into this folder.
    pub(crate) fn logging_to(&mut self, dir: &ExperimentDir) {
        self.output = Some(Output::to(dir.folder().join(OUTPUT)));
    }

    /// Connects to both sides where both are there all the time, so that one that is missing is found before any load.
    pub(crate) fn connect_both(&mut self) -> Result<(), Stop> {
        if self.plan.switch.is_some() {
            return Ok(());
        }
        AbSide::BOTH.into_iter().try_for_each(|side| self.connect(side))
    }

    fn context(&self, side: AbSide) -> Option<&RunContext> {
        self.ready.iter().find(|(known, _)| *known == side).map(|(_, context)| context)
    }

    fn command(&mut self, name: &str, command: &str, side: AbSide) -> Result<(), Stop> {
        let variables = Variables::default().with(Variable::Side, side.name());
        let Some(output) = &mut self.output else { return Ok(()) };
        let hook = Hook { name, line: Line::Typed(command), limit: Hook::USUAL_LIMIT };
        hook.run(&variables, output, self.interrupts)
    }

    /// Connects to `side` under the conditions of the other, and warms it.
    fn connect(&mut self, side: AbSide) -> Result<(), Stop> {
        let AbPlan { workload, datasets, rounds, .. } = self.plan;
        let settings = self.plan.settings(side);
        let checked = settings.check(workload, datasets)?;
        let (datasets, interrupts, printer) = (Arc::clone(datasets), self.interrupts, self.printer);
        let context = match self.conditions.clone() {
            None => settings.connect(workload, datasets, checked, interrupts, printer),
            Some(conditions) => {
                settings.connect_under(conditions, workload, datasets, checked, interrupts, printer)
            }
        };
        let context = context.map_err(|stop| stop.about(&format!("side {side}")))?;
        // Where one machine serves in turn, a page is of whichever side it serves.
        if self.plan.switch.is_none() {
            context.check_pages("both sides")?;
        }
        self.conditions.get_or_insert_with(|| context.conditions().clone());
        if let Some(run) = rounds.first() {
            context.warm_server(&run.schedule, self.plan.warmup_requests as usize);
        }
        self.ready.push((side, context));
        Ok(())
    }
}

impl Campaign<AbExperiment> for AbTargets<'_> {
    fn plan(&mut self, request: &RunRequest<AbRun>) -> Result<PlannedRun, Stop> {
        let round = self.plan.rounds.get(request.part.round as usize - 1).cloned();
        round.ok_or_else(|| Stop::impossible(format!("round {} is not planned", request.part.round)))
    }

    fn objectives(&self, _request: &RunRequest<AbRun>) -> &[Objective] {
        &[]
    }

    fn rest(&mut self, after: &RunRequest<AbRun>, _before: &RunRequest<AbRun>) {
        if let Some(context) = self.context(after.part.side) {
            context.let_rest(self.plan.pause);
        }
    }

    fn ready(&mut self, request: &RunRequest<AbRun>) -> Result<&RunContext, Stop> {
        let side = request.part.side;
        if let Some(context) = self.context(side) {
            context.ask_who_it_is().map_err(|stop| stop.about(&format!("side {side}")))?;
        } else {
            if let Some(command) = &self.plan.switch {
                // The side that was served so far is gone.
                self.ready.clear();
                self.printer.words(&format!("switching to {side}"));
                self.command("switch", command, side)?;
            }
            self.connect(side)?;
        }
        if let Some(command) = &self.plan.reset {
            self.command("reset", command, side)?;
        }
        self.context(side).ok_or_else(|| Stop::impossible(format!("{side} is not ready")))
    }

    fn title(
        &self,
        request: &RunRequest<AbRun>,
        run: &PlannedRun,
        _experiment: &AbExperiment,
    ) -> Option<String> {
        let AbRun { side, round, of } = request.part;
        Some(format!("round {round} of {of}, {side}, seed {}", run.workload.seed))
    }

    fn finished(&mut self, _request: &RunRequest<AbRun>, run: &StoredRun) -> Result<(), Stop> {
        let silent = self.guessed || self.quiet || run.ending() == RunEnding::Interrupted;
        if let Some(guess) = self.design.first_guess(&run.summary).filter(|_| !silent) {
            self.printer.words(&guess);
        }
        Ok(())
    }

    fn recorded(
        &mut self,
        request: &RunRequest<AbRun>,
        experiment: &AbExperiment,
        dir: &ExperimentDir,
    ) -> Result<(), Stop> {
        self.guessed = true;
        if request.group.last() != Some(&request.name) {
            return Ok(());
        }
        match experiment.result() {
            Ok(test) => {
                dir.write(ExperimentDir::PAGE, &render::html(&documents::ab(&test)))?;
                dir.write(RESULT, &report::json(&test).map_err(Stop::impossible)?)
            }
            Err(NotRounds::Nothing) => Ok(()),
            Err(error) => Err(Stop::impossible(error)),
        }
    }
}
