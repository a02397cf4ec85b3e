//! A workload and the model that answers it: what all ways to simulate have in common.

use std::path::PathBuf;
use std::sync::Arc;

use super::model::{Described, ENGINE};
use crate::analysis::Objective;
use crate::experiment::{CompletedRun, EngineFit, RunRequest, VirtualExecutor, drive, run_virtually};
use crate::generator::Datasets;
use crate::live::{Screen, StepLine};
use crate::record::{ClientLimits, PromptFacts, PromptMethod, RunHeader, RunLog, StampSource};
use crate::session::campaign::reported::{Conducted, store};
use crate::session::console::Stop;
use crate::session::exits::ExitRules;
use crate::session::planned::PlannedRun;
use crate::session::run::host_facts;
use crate::session::stored_run::JudgedRun;
use crate::session::{command_line, folder, save};
use crate::simulator::RoutingRule;
use crate::workload::{RequestClass, TraceFindings, WorkloadSpec};

/// A simulation that can begin.
pub(crate) struct Simulation {
    pub(crate) spec: WorkloadSpec,
    pub(crate) datasets: Arc<Datasets>,
    pub(crate) model: Described,
    /// Limits that the client enforces.
    pub(crate) limits: ClientLimits,
    /// The fit that the model comes from, where it comes from one.
    pub(crate) engine_fit: Option<EngineFit>,
    pub(crate) objectives: Vec<Objective>,
    pub(crate) rules: ExitRules,
    pub(crate) out: Option<PathBuf>,
    /// Screen that shows progress.
    pub(crate) screen: Screen,
}

impl Simulation {
    /// Simulates `run`, as `model` answers it.
    pub(super) fn run(&self, run: PlannedRun, model: &Described) -> Result<JudgedRun, Stop> {
        let schedule = run.schedule.clone();
        let log = run_virtually(self.header(run, model), schedule, &model.fleet).map_err(Stop::usage)?;
        Ok(JudgedRun::new(log, &self.objectives))
    }

    /// The header of a run that no server answers.
    pub(super) fn header(&self, run: PlannedRun, model: &Described) -> RunHeader {
        RunHeader {
            schema: RunHeader::SCHEMA,
            skyline_version: env!("CARGO_PKG_VERSION").to_owned(),
            started_at: jiff::Timestamp::now(),
            command: command_line::masked(command_line::arguments()),
            repeat: run.repeat,
            plan: run.plan,
            prompts: PromptFacts { method: PromptMethod::LengthsOnly, salt: 0, template_tokens: None },
            cache: None,
            warming_requests: None,
            cold_start: None,
            engines: vec![model.engine()],
            routing: None,
            limits: self.limits.clone(),
            objectives: self.objectives.iter().map(ToString::to_string).collect(),
            percentiles: Vec::new(),
            host: host_facts(None),
            stamps: StampSource::default(),
            shard: None,
            shard_delays_ns: Vec::new(),
            clock_offsets: Vec::new(),
            shard_skew_ns: None,
            calibration: None,
            telemetry: Vec::new(),
            deployment: model.deployment(),
            workload: run.workload.without_texts(),
        }
    }

    /// Creates the folder of a run, or of several, where they are to be stored.
    pub(super) fn create_folder(&self, name: &str, at: jiff::Timestamp) -> Result<Option<PathBuf>, Stop> {
        self.out.as_deref().map(|base| folder::create(base, name, ENGINE, at)).transpose()
    }

    /// Notes on what it cannot show of the workload.
    pub(crate) fn notes(&self) -> Vec<&'static str> {
        let Self { spec, model, .. } = self;
        let mut shared = spec.classes.iter().filter_map(|class| class.shared_prefix.as_ref()).peekable();
        let alike = spec.classes.iter().any(RequestClass::continues)
            || spec.arrival.found().is_some_and(TraceFindings::names_blocks);
        let mut notes = Vec::new();
        if model.fleet.layout.rule() == RoutingRule::PrefixAware && shared.peek().is_none() && !alike {
            notes.push("note: all prompts of a workload differ, so prefix-aware routes by load here");
        }
        if shared.any(|prefixes| prefixes.warmed() > 0) {
            notes.push("note: a simulated server begins with an empty cache; no prefix is warm here");
        }
        if !spec.checks.is_empty() || spec.classes.iter().any(RequestClass::ends_by_itself) {
            notes.push(
                "note: the simulator produces no text: checks are not sent, and answers that end by themselves are as \
                 long as their limit",
            );
        }
        notes
    }

    /// Conducts an experiment in virtual time, with the run that `case` makes of each request.
    ///
    /// Logs go to `keep`; all is stored in `folder`, where there is one.
    pub(super) fn conduct<E: Conducted>(
        &self,
        experiment: &mut E,
        folder: Option<PathBuf>,
        line: StepLine,
        mut case: impl FnMut(&RunRequest<E::Part>) -> Result<(PlannedRun, Described, String), Stop>,
        mut keep: impl FnMut(&str, RunLog),
    ) -> Result<(E::Found, Option<PathBuf>), Stop> {
        let mut done = 0;
        let run = |request: &RunRequest<E::Part>| {
            let (run, model, words) = case(request)?;
            line.at(words);
            let run = self.run(run, &model)?;
            if let Some(folder) = &folder {
                save::run_with_log(run.report(), &folder::inside(folder, &request.name)?)?;
            }
            done += 1;
            line.done(done);
            keep(&request.name, run.log);
            let (summary, diagnosis) = (Box::new(run.summary), Some(Box::new(run.diagnosis)));
            Ok(CompletedRun { summary, diagnosis })
        };
        let recorded = |experiment: &E| folder.as_deref().map_or(Ok(()), |folder| store(experiment.found()?, folder));
        drive(experiment, &mut VirtualExecutor { run, recorded })?;
        drop(line);
        let found = experiment.found()?.ok_or_else(|| Stop::impossible("no run was simulated"))?;
        Ok((found, folder))
    }
}
