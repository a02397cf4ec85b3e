//! Fits an engine to runs, with an interval for each cost.

use std::time::Duration;

use serde::Serialize;

use super::check::{Grade, MeasuredRun, RunCheck, worst};
use super::family::{CostKind, CostModel, front_end};
use super::rows::{StepStretch, rows};
use crate::analysis::Quantile;
use crate::analysis::statistics::{CONFIDENCE, mean, student_t_quantile};
use crate::simulator::{BadFleet, BatchingConfig, EngineModel, Fleet, StepTime};

/// Sections of the equations, each left out once for the intervals.
const SECTIONS: usize = 10;
/// Fewer equations cannot be fitted.
const LEAST: usize = 40;

/// An engine fitted to runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EngineFit {
    /// Version of this format: [`EngineFit::SCHEMA`].
    pub schema: u32,
    /// Form that the step times are taken for.
    pub form: String,
    /// Stretches of time that were explained.
    pub equations: u64,
    /// The costs.
    pub costs: Vec<FittedCost>,
    /// Median of the relative errors of the times of answers, between 0 and 1. These are the times from first token to
    /// last.
    pub answer_error: Option<f64>,
    /// Median of the relative errors of times to first token, between 0 and 1. It is that of requests that met an empty
    /// queue; a step under way makes half of one uncertain.
    pub first_token_error: Option<f64>,
    /// Every run, sent again at the same moments to the fitted engine. The engine was fitted to all of them.
    pub runs: Vec<RunCheck>,
    /// Every run, sent again to the engine that was fitted to the others. Empty for one run.
    pub held_out: Vec<RunCheck>,
    /// Grade of how well it reproduces what was measured: held-out runs where there are any.
    pub grade: Grade,
    /// The engine.
    #[serde(skip)]
    engine: FittedEngine,
}

/// A cost with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FittedCost {
    /// Kind of the cost.
    pub kind: CostKind,
    /// A share between 0 and 1, or seconds. Absent where the runs do not determine it.
    pub value: Option<f64>,
    /// Lower end of its 95 % interval. It is by the jackknife: ten sections of the equations, each left out once.
    pub low: Option<f64>,
    /// Upper end of it.
    pub high: Option<f64>,
}

#[derive(Clone, Debug, PartialEq)]
struct FittedEngine {
    config: BatchingConfig,
    front_end: Duration,
}

/// Runs that no engine can be fitted to.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CannotFit {
    /// Runs with too few stretches of answers to fit.
    #[error(
        "the runs have {0} stretches of answers and first tokens to fit step times to, and {LEAST} are needed\nhint: \
         give runs of streamed answers of eight tokens or more, or longer ones"
    )]
    TooLittle(usize),
    /// The engine cannot be simulated.
    #[error(transparent)]
    Fleet(#[from] BadFleet),
}

impl EngineFit {
    /// The format that this program writes.
    pub const SCHEMA: u32 = 1;

    /// Fits step times of `family` to `runs`. All else is as `base` says: limits, KV cache.
    ///
    /// # Errors
    ///
    /// When the runs have too few stretches to fit.
    pub fn new(runs: &[MeasuredRun], base: &BatchingConfig, family: &CostModel) -> Result<Self, CannotFit> {
        let rows: Vec<Vec<StepStretch>> = runs.iter().map(|run| rows(&run.log, &base.limits)).collect();
        let all: Vec<StepStretch> = rows.iter().flatten().cloned().collect();
        if all.len() < LEAST {
            return Err(CannotFit::TooLittle(all.len()));
        }
        let costs = family.fit(&all);
        let engine = FittedEngine::new(base, family, &costs);
        let mut held_out = Vec::new();
        for (place, run) in runs.iter().enumerate().filter(|_| runs.len() > 1) {
            let others: Vec<StepStretch> =
                rows.iter().enumerate().filter(|(other, _)| *other != place).flat_map(|(_, r)| r).cloned().collect();
            if others.len() >= LEAST {
                let engine = FittedEngine::new(base, family, &family.fit(&others));
                held_out.push(RunCheck::new(run, &engine.fleet())?);
            }
        }
        let checked: Vec<RunCheck> =
            runs.iter().map(|run| RunCheck::new(run, &engine.fleet())).collect::<Result<_, _>>()?;
        let error = |first: bool| {
            let mut errors: Vec<f64> = all
                .iter()
                .filter(|row| row.is_first == first)
                .map(|row| engine.seconds(row) / row.seconds - 1.0)
                .map(f64::abs)
                .collect();
            errors.sort_unstable_by(f64::total_cmp);
            errors.get(errors.len() / 2).copied()
        };
        Ok(Self {
            schema: Self::SCHEMA,
            form: match family {
                CostModel::Roofline(deployment) => format!("roofline of {deployment}"),
                CostModel::Linear => "a sum of costs, without the physics of hardware and model".to_owned(),
            },
            equations: all.len() as u64,
            costs: with_intervals(family, &all, &costs),
            answer_error: error(false),
            first_token_error: error(true),
            grade: Grade::from_checks(if held_out.is_empty() { &checked } else { &held_out }),
            runs: checked,
            held_out,
            engine,
        })
    }

    /// Returns how far the worst of its latencies at `quantile` is off. It is by the runs that the grade is by. It is
    /// infinite where one could be measured and not be reproduced. It is `None` where none could be measured.
    pub fn worst(&self, quantile: Quantile) -> Option<f64> {
        worst(if self.held_out.is_empty() { &self.runs } else { &self.held_out }, quantile)
    }

    /// Returns a fitted share significantly above 1 of the datasheet. The hardware or the model is another then, or
    /// their physics is not what takes the time.
    pub fn beyond_datasheet(&self) -> Option<&FittedCost> {
        self.costs.iter().find(|cost| cost.kind.is_share() && cost.low.or(cost.value).is_some_and(|low| low > 1.0))
    }

    /// `fleet` with this engine in place of its own.
    pub fn applied_to(&self, fleet: &Fleet) -> Fleet {
        let FittedEngine { config, front_end } = &self.engine;
        let engine = EngineModel::Batching(Box::new(config.clone()));
        Fleet { engine, front_end: *front_end, ..fleet.clone() }
    }
}

impl EngineFit {
    /// `fleet` with the costs of this engine and limits of its own. `None` of a plain server, and where the
    /// costs say nothing of it: a sum of costs holds for the deployment `like` alone, which is that of the
    /// runs.
    pub fn transferred_to(&self, fleet: &Fleet, like: &Fleet) -> Option<Fleet> {
        let FittedEngine { config, front_end } = &self.engine;
        let EngineModel::Batching(own) = &fleet.engine else { return None };
        let (step_time, kv_blocks) = match (&config.step_time, &own.step_time) {
            (StepTime::Roofline(fitted), StepTime::Roofline(of)) => {
                (StepTime::Roofline(fitted.on(of.deployment().clone())), own.kv_blocks)
            }
            (fitted, step_time) => {
                let EngineModel::Batching(measured) = &like.engine else { return None };
                let same = (step_time, own.speculation) == (&measured.step_time, measured.speculation);
                same.then(|| (fitted.clone(), config.kv_blocks))?
            }
        };
        let engine = EngineModel::Batching(Box::new(BatchingConfig { step_time, kv_blocks, ..*own.clone() }));
        Some(Fleet { engine, front_end: *front_end, ..fleet.clone() })
    }
}

impl FittedEngine {
    fn new(base: &BatchingConfig, family: &CostModel, costs: &[Option<f64>]) -> Self {
        let config = BatchingConfig { step_time: family.step_time(costs), ..base.clone() };
        let front_end = Duration::try_from_secs_f64(front_end(costs)).unwrap_or(Duration::ZERO);
        Self { config, front_end }
    }

    fn fleet(&self) -> Fleet {
        let fleet = Fleet::of_one(EngineModel::Batching(Box::new(self.config.clone())), self.config.seed);
        Fleet { front_end: self.front_end, ..fleet }
    }

    /// The predicted time of a stretch.
    fn seconds(&self, row: &StepStretch) -> f64 {
        let steps = row.steps.iter().map(|(number, work)| number * self.config.step_time.of(work, 0.0).as_secs_f64());
        let way = if row.is_first { self.front_end.as_secs_f64() } else { 0.0 };
        steps.sum::<f64>() + way
    }
}

/// Returns the costs with their intervals by the delete-a-group jackknife. The intervals are ± t · √((k − 1)/k · Σ
/// (without one − their mean)²), t that of k − 1 degrees of freedom (Efron and Tibshirani, *An Introduction to the
/// Bootstrap*, chapter 11). Sections are stretches of time, for neighbours depend on one another.
fn with_intervals(family: &CostModel, rows: &[StepStretch], costs: &[Option<f64>]) -> Vec<FittedCost> {
    let size = rows.len().div_ceil(SECTIONS);
    let mut in_order = rows.to_vec();
    in_order.sort_by(|one, other| one.at.total_cmp(&other.at));
    let without: Vec<Vec<Option<f64>>> = (0..SECTIONS)
        .map(|section| {
            let rest: Vec<StepStretch> = in_order
                .iter()
                .enumerate()
                .filter(|(place, _)| place / size != section)
                .map(|(_, row)| row.clone())
                .collect();
            family.fit(&rest)
        })
        .collect();
    let t = student_t_quantile(f64::midpoint(1.0, CONFIDENCE), SECTIONS as f64 - 1.0);
    let cost = |(place, &kind): (usize, &CostKind)| {
        let value = family.reported(costs, place);
        let values: Vec<f64> = without.iter().filter_map(|costs| family.reported(costs, place)).collect();
        let middle = mean(&values).filter(|_| values.len() == SECTIONS);
        let half = middle.map(|middle| {
            let squares: f64 = values.iter().map(|value| (value - middle).powi(2)).sum();
            t * libm::sqrt(squares * (SECTIONS as f64 - 1.0) / SECTIONS as f64)
        });
        let end = |sign: f64| Some((value? + sign * half?).max(0.0));
        FittedCost { kind, value, low: end(-1.0), high: end(1.0) }
    };
    family.kinds().iter().enumerate().map(cost).collect()
}
