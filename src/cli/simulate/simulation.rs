//! A workload and the model that answers it: what all ways to simulate have in common.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;

use crate::analysis::Objective;
use crate::cli::args::Described;
use crate::cli::output::ShowArgs;
use crate::experiment::{CompletedRun, EngineFit, RunRequest, VirtualExecutor, drive, run_virtually};
use crate::generator::Datasets;
use crate::live::{Screen, StepLine};
use crate::record::{ClientLimits, EngineFacts, PromptFacts, PromptMethod, RunHeader, RunLog, StampSource};
use crate::report::{self, Document};
use crate::session::campaign::reported::{Conducted, Reported, store};
use crate::session::exits::ExitRules;
use crate::session::run::host_facts;
use crate::session::stored_run::JudgedRun;
use crate::session::{Exit, PlannedRun, Printer, Stop, command_line, folder, save};
use crate::simulator::BLOCK_SIZE;
use crate::workload::WorkloadSpec;

/// The engine's name in the header of a simulated run.
const ENGINE: &str = "simulator";

/// A simulation that can begin.
pub(in crate::cli) struct Simulation {
    pub(in crate::cli) spec: WorkloadSpec,
    pub(in crate::cli) datasets: Arc<Datasets>,
    pub(in crate::cli) model: Described,
    /// Limits that the client enforces.
    pub(in crate::cli) limits: ClientLimits,
    /// The fit that the model comes from, where it comes from one.
    pub(in crate::cli) engine_fit: Option<EngineFit>,
    pub(in crate::cli) objectives: Vec<Objective>,
    /// Runs of each load.
    pub(in crate::cli) repeats: u64,
    pub(in crate::cli) rules: ExitRules,
    pub(in crate::cli) out: Option<PathBuf>,
    pub(in crate::cli) show: ShowArgs,
    /// Where progress is shown.
    pub(in crate::cli) screen: Screen,
}

impl Simulation {
    /// Simulates `run`, as `model` answers it.
    pub(in crate::cli) fn run(&self, run: PlannedRun, model: &Described) -> Result<JudgedRun, Stop> {
        let schedule = run.schedule.clone();
        let log = run_virtually(self.header(run, model), schedule, &model.fleet).map_err(Stop::usage)?;
        Ok(JudgedRun::new(log, &self.objectives))
    }

    /// The header of a run that no server answers.
    pub(in crate::cli) fn header(&self, run: PlannedRun, model: &Described) -> RunHeader {
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
            engines: vec![engine(model)],
            limits: self.limits.clone(),
            objectives: self.objectives.iter().map(ToString::to_string).collect(),
            percentiles: Vec::new(),
            host: host_facts(None),
            stamps: StampSource::default(),
            shard: None,
            shard_delays_ns: Vec::new(),
            calibration: None,
            telemetry: Vec::new(),
            deployment: model.deployment(),
            workload: run.workload.without_texts(),
        }
    }

    /// Creates the folder of a run, or of several, where they are to be stored.
    pub(in crate::cli) fn create_folder(&self, name: &str, at: jiff::Timestamp) -> Result<Option<PathBuf>, Stop> {
        self.out.as_deref().map(|base| folder::create(base, name, ENGINE, at)).transpose()
    }

    /// Conducts an experiment in virtual time, with the run that `case` makes of each request.
    ///
    /// Logs go to `keep`; all is stored in `folder`, where there is one.
    pub(super) fn conduct<E: Conducted>(
        &self,
        experiment: &mut E,
        folder: Option<&Path>,
        line: StepLine,
        mut case: impl FnMut(&RunRequest<E::Part>) -> Result<(PlannedRun, Described, String), Stop>,
        mut keep: impl FnMut(&str, RunLog),
    ) -> Result<E::Found, Stop> {
        let mut done = 0;
        let run = |request: &RunRequest<E::Part>| {
            let (run, model, words) = case(request)?;
            line.at(words);
            let run = self.run(run, &model)?;
            if let Some(folder) = folder {
                save::run_with_log(run.report(), &folder::inside(folder, &request.name)?)?;
            }
            done += 1;
            line.done(done);
            keep(&request.name, run.log);
            let (summary, diagnosis) = (Box::new(run.summary), Some(Box::new(run.diagnosis)));
            Ok(CompletedRun { summary, diagnosis })
        };
        let recorded = |experiment: &E| folder.map_or(Ok(()), |folder| store(experiment.found()?, folder));
        drive(experiment, &mut VirtualExecutor { run, recorded })?;
        drop(line);
        experiment.found()?.ok_or_else(|| Stop::impossible("no run was simulated"))
    }

    /// Shows what an experiment found, and says where it is stored.
    pub(super) fn finish<R: Reported>(&self, found: &R, folder: Option<&Path>, printer: Printer) -> Result<Exit, Stop> {
        self.show(printer, found, || found.document())?;
        if let Some(folder) = folder {
            save::say_saved(folder, R::FORM.look, true, printer);
        }
        Ok(found.exit(self.rules, printer))
    }

    /// Prints what was predicted, as JSON with how well the engine fits.
    pub(in crate::cli) fn show(
        &self,
        printer: Printer,
        predicted: &impl Serialize,
        document: impl Fn() -> Document,
    ) -> Result<(), Stop> {
        self.show.with_json(printer, document, || match &self.engine_fit {
            Some(fit) => report::fitted_json(predicted, fit),
            None => report::json(predicted),
        })
    }
}

/// The simulated server, in place of one that answers.
pub(super) fn engine(model: &Described) -> EngineFacts {
    EngineFacts {
        engine: ENGINE.to_owned(),
        url: "virtual time".to_owned(),
        endpoint: "no wire".to_owned(),
        streamed: true,
        model: model.model.clone(),
        max_model_len: model.max_model_len,
        cache_block_tokens: Some(BLOCK_SIZE),
        modelled: model.facts.clone(),
        ..EngineFacts::default()
    }
}
