//! The same experiments as against servers, in virtual time.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::PathBuf;

use super::model::Described;
use super::simulation::Simulation;
use crate::experiment::tune::{Forecaster, Tune, TuneExperiment, TuneRun, TuneRuns, TuneSpec};
use crate::experiment::{
    AbDesign, AbExperiment, AbRun, AbSide, AbTest, EngineFit, InvalidRuns, Load, LoadAxis, PredictedRates, Prediction,
    RepeatRun, Repeats, RepeatsExperiment, RunRequest, Search, Sweep, SweepExperiment, SweepPlan, SweepRun, Swept,
    TrialRequest, predict, seed_of_run,
};
use crate::live::StepLine;
use crate::record::RunLog;
use crate::report::RunReport;
use crate::session::campaign::ab::AbQuestion;
use crate::session::campaign::dir::MANIFEST;
use crate::session::campaign::sweep::at_load;
use crate::session::campaign::tune::MORE as MORE_TO_TUNE;
use crate::session::console::Stop;
use crate::session::planned::PlannedRun;
use crate::session::save;
use crate::units::{seconds, three_digits};
use crate::workload::Overrides;

/// Advice on how to give a run of a simulated sweep more to measure.
const MORE: &str = "give its runs more requests (--samples), or begin at a higher load (--rates, --sweep-users, \
    --sweep-agents)";

/// Length of the first look at how fast users are answered, seconds. Each further look is [`LONGER`] times as long.
const FIRST_LOOK_S: f64 = 10.0;
const LONGER: f64 = 4.0;
/// Requests that tell it.
const ENOUGH: u64 = 100;

/// The runs that are simulated.
pub(crate) enum SimulatedWork {
    /// A number of repeats, or one run.
    Runs(Vec<PlannedRun>),
    /// A run at each of these rates, predicted from a fit.
    Rates(Box<EngineFit>, LoadAxis),
    /// A search over loads.
    Sweep(SweepPlan),
    /// The model against another one, in rounds.
    Ab {
        /// B.
        other: Box<Described>,
        design: AbDesign,
        rounds: Vec<PlannedRun>,
    },
    /// The variants of a file against one another.
    Tune {
        spec: Box<TuneSpec>,
        runs: TuneRuns,
        /// The model of each variant.
        models: Vec<Described>,
    },
}

impl Simulation {
    /// One run with its prediction, and the folder in which it is stored.
    pub(crate) fn once(&self, run: PlannedRun) -> Result<(Prediction, Result<Option<PathBuf>, Stop>), Stop> {
        let schedule = run.schedule.clone();
        let header = self.header(run, &self.model);
        let line = StepLine::start(self.screen, "simulating");
        let predicted = predict(header, schedule, &self.model.fleet, &self.objectives);
        drop(line);
        let (log, mut prediction) = predicted.map_err(Stop::usage)?;
        prediction.engine_fit.clone_from(&self.engine_fit);
        let stored = self.create_folder(&log.header.workload.name, log.header.started_at).and_then(|folder| {
            let report = RunReport { log: &log, summary: &prediction.summary, diagnosis: Some(&prediction.diagnosis) };
            folder.iter().try_for_each(|folder| save::run_with_log(report, folder))?;
            Ok(folder)
        });
        Ok((prediction, stored))
    }

    /// Predictions of a fitted engine at each of the rates.
    pub(crate) fn rates(&self, fit: EngineFit, axis: &LoadAxis) -> Result<PredictedRates, Stop> {
        let mut predicted = Vec::new();
        let loads = axis.loads();
        let line = StepLine::counting(self.screen, "simulating", loads.len() as u64);
        for rate in line.count(loads.into_iter()).map(Load::amount) {
            line.at(format!("simulating {}/s", three_digits(rate)));
            let overrides = Overrides { rate_per_s: Some(rate), ..Overrides::default() };
            let spec = self.spec.clone().with(&overrides).map_err(Stop::usage)?;
            for run in PlannedRun::all(&spec, &self.datasets, 1)? {
                let run = self.run(run, &self.model)?;
                predicted.push((run.log, run.summary));
            }
        }
        Ok(PredictedRates::new(fit, &predicted))
    }

    /// Several runs, each with seeds of its own.
    pub(crate) fn repeats(&self, runs: &[PlannedRun]) -> Result<(Repeats, Option<PathBuf>), Stop> {
        let folder = self.create_folder(&self.spec.name, jiff::Timestamp::now())?;
        // No machine can spoil a run in virtual time.
        let mut experiment = RepeatsExperiment::new(runs.len() as u64, self.objectives.clone(), InvalidRuns::Counted);
        let line = StepLine::counting(self.screen, "simulating", runs.len() as u64);
        let case = |request: &RunRequest<RepeatRun>| {
            let number = request.part.number;
            let run = PlannedRun::numbered(runs, number)?;
            let words = format!("simulating, seed {}", run.workload.seed);
            Ok((run, self.model.with_seed(seed_of_run(self.model.fleet.seed, number)), words))
        };
        self.conduct(&mut experiment, folder, line, case, |_, _| ())
    }

    /// An A/B test.
    pub(crate) fn ab(
        &self,
        other: &Described,
        design: AbDesign,
        rounds: &[PlannedRun],
    ) -> Result<(AbTest, Option<PathBuf>), Stop> {
        let question = AbQuestion::new(self.spec.without_texts(), &design, self.rules.require, 0);
        let folder = self.create_folder(&format!("{}-ab", self.spec.name), jiff::Timestamp::now())?;
        if let Some(folder) = &folder {
            let manifest = serde_json::to_string_pretty(&question).map_err(Stop::impossible)?;
            save::text(&folder.join(MANIFEST), &manifest)?;
        }
        let line = StepLine::counting(self.screen, "simulating", 2 * design.rounds);
        let case = |request: &RunRequest<AbRun>| {
            let AbRun { side, round, .. } = request.part;
            let mut model = if side == AbSide::A { &self.model } else { other }.clone();
            model.fleet.seed = seed_of_run(model.fleet.seed, round);
            let words = format!("simulating round {round}, {side}");
            Ok((PlannedRun::numbered(rounds, round)?, model, words))
        };
        let mut experiment = AbExperiment::new(design, self.rules.invalid);
        self.conduct(&mut experiment, folder, line, case, |_, _| ())
    }

    /// The runs that a search over loads wants.
    pub(crate) fn sweep(&self, mut plan: SweepPlan) -> Result<(Sweep, Option<PathBuf>), Stop> {
        let started_at = jiff::Timestamp::now();
        let folder = self.create_folder(&format!("{}-sweep", self.spec.name), started_at)?;
        if let Some(fewest) = plan.axis.fewest() {
            plan.fewest_users_per_s = self.rate_of(fewest, plan.longest_s)?;
        }
        let search = Search::new(plan).map_err(Stop::usage)?;
        let (engine, deployment) = (self.model.engine(), self.model.deployment());
        let swept = Swept { started_at, workload: self.spec.clone(), engine, deployment };
        let mut experiment = SweepExperiment::new(search, swept);
        let case = |request: &RunRequest<SweepRun>| {
            let (SweepRun::Load(wanted) | SweepRun::Sustained(wanted)) = &request.part;
            self.at_load(wanted)
        };
        let line = StepLine::start(self.screen, "simulating");
        let found = self.conduct(&mut experiment, folder, line, case, |_, _| ())?;
        if experiment.search().trials().is_empty() {
            return Err(Stop::usage("there is no load to simulate\nhint: name one with --rates"));
        }
        Ok(found)
    }

    /// Returns the requests per second that so many users send. The runs become longer until one has enough requests.
    /// `None` where none shorter than `longest_s` has.
    fn rate_of(&self, load: Load, longest_s: f64) -> Result<Option<f64>, Stop> {
        let mut window_s = FIRST_LOOK_S;
        while window_s < longest_s {
            let (seed, run) = (self.spec.seed, String::new());
            let look = TrialRequest { number: 0, load, repeat: 1, seed, window_s, run };
            let (run, model, _) = self.at_load(&look)?;
            let found = self.run(run, &model)?.summary;
            if found.requests.planned >= ENOUGH {
                return Ok(found.rates.achieved_requests_per_s);
            }
            window_s *= LONGER;
        }
        Ok(None)
    }

    /// One run of a sweep.
    fn at_load(&self, wanted: &TrialRequest) -> Result<(PlannedRun, Described, String), Stop> {
        let TrialRequest { number, load, window_s, .. } = wanted;
        let run = PlannedRun::alone(at_load(&self.spec, wanted)?, &self.datasets, MORE)?;
        let words = format!("run {number}: {load} for {} of virtual time", seconds(*window_s));
        Ok((run, self.model.with_seed(wanted.seed), words))
    }

    /// A tuning, of which `forecaster` reads the logs.
    pub(crate) fn tune<'f>(
        &self,
        (spec, runs, models): (TuneSpec, TuneRuns, &[Described]),
        forecaster: Box<dyn Forecaster + 'f>,
        logs: &RefCell<HashMap<String, RunLog>>,
    ) -> Result<(Tune, Option<PathBuf>), Stop> {
        let folder = self.create_folder(&format!("{}-tune", spec.name), jiff::Timestamp::now())?;
        let candidates = spec.candidates();
        let mut experiment = TuneExperiment::new(spec, runs, self.rules.invalid, forecaster);
        let case = |request: &RunRequest<TuneRun>| {
            let TuneRun { candidate, per_gpu, wanted, .. } = &request.part;
            let (name, per_gpu) = (&candidates[*candidate].name, three_digits(*per_gpu));
            let words = format!("run {}: {name} at {per_gpu}/s per GPU", wanted.number);
            let run = PlannedRun::alone(at_load(&self.spec, wanted)?, &self.datasets, MORE_TO_TUNE)?;
            Ok((run, models[*candidate].with_seed(wanted.seed), words))
        };
        let keep = |name: &str, log| _ = logs.borrow_mut().insert(name.to_owned(), log);
        let line = StepLine::start(self.screen, "simulating");
        self.conduct(&mut experiment, folder, line, case, keep)
    }
}
