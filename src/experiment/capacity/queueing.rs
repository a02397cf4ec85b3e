//! Instances that a rate needs by a queueing model behind a router, beside the number by rate.

mod model;

use std::cmp::Ordering;

use serde::Serialize;

pub use self::model::NoQueue;
use super::instance::{Basis, CapacityTarget};
use crate::analysis::wording::{counted, percent};
use crate::analysis::{Metric, Objective, Quantile};
use crate::experiment::engine_fit::{EngineFit, Grade};
use crate::experiment::sweep::Sweep;
use crate::units::{count, three_digits};
use model::{InstanceModel, Model, bisect};

/// What the queues of several instances do behind a router that sends each request to the one with the fewest.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Queueing {
    /// What an instance was taken for.
    #[serde(flatten)]
    pub instance: ModelledInstance,
    /// Instances by division.
    pub by_division: u64,
    /// The fewest instances that meet the objectives at the target and its headroom, or the requested number.
    pub instances: u64,
    /// Whether they meet the objectives.
    pub meets: bool,
    /// The difference in words.
    pub sentence: String,
}

/// What one instance is taken for.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "instance", rename_all = "snake_case")]
pub enum ModelledInstance {
    /// So many slots that serve at the pace that was measured: the first token after the median TTFT of the lowest
    /// load, then one each median TPOT of the load nearest to the answer. There are as many slots as just let one
    /// instance meet the objectives at its highest rate, so that one modelled instance does what the measured one did.
    /// Several then share what no division shows: a burst at one finds a slot at another.
    Slots {
        /// How many.
        slots: u64,
        /// The time to first token without a queue, milliseconds.
        ttft_ms: f64,
        /// The time per token, milliseconds.
        tpot_ms: f64,
    },
    /// An engine fitted to runs of the sweep, where an objective on the pace of tokens decides: that pace is what more
    /// requests at a time change, and slots do not have it.
    Engine {
        /// The engine, and how well it reproduces the runs.
        engine_fit: Box<EngineFit>,
        /// Whether one such engine meets the objectives at the highest rate of the measured instance, as that did.
        alone_meets: bool,
    },
}

/// Of how many instances the queues are modelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replicas {
    /// Of as few as meet the objectives.
    Fewest,
    /// Of so many.
    Exactly(u64),
}

impl Queueing {
    /// For `contract`, of `sweep`, one instance of which carries `basis` within `objectives`, those of the sweep; of
    /// `asked` instances where that is given, else of the fewest that will do. Where the pace of tokens decides, `fit`
    /// is to bring an engine fitted to the runs of the sweep, or the reason why there is none.
    ///
    /// # Errors
    ///
    /// When such a queue does not do what was measured, or there is no engine to be believed.
    pub fn of(
        sweep: &Sweep,
        basis: Basis,
        contract: &CapacityTarget,
        asked: Replicas,
        fit: impl FnOnce() -> Result<EngineFit, String>,
    ) -> Result<Self, NoQueue> {
        let spec = &sweep.workload;
        if spec.arrival.trace().is_some() || spec.classes.iter().any(|class| class.prompt.is_verbatim()) {
            return Err(NoQueue::Taken(spec.name.clone()));
        }
        // The model is asked at rates of the sweep, which are those of arrivals.
        let turns = sweep.workload.mean_turns();
        let highest = basis.per_s() / turns;
        let model = Model::of(sweep, highest).ok_or(NoQueue::NoPoint)?;
        let fitted = match decided_by_pace(sweep, &sweep.plan.objectives) {
            None => None,
            Some(objective) => Some(fit().and_then(believed).map_err(|why| {
                let objective = objective.text.clone();
                NoQueue::Unfitted { objective, why }
            })?),
        };
        let instance = match &fitted {
            None => InstanceModel::Slots(model.slots_for(highest)?),
            Some(fit) => InstanceModel::Fitted(fit),
        };
        let (rate, by_division) = (contract.with_headroom() / turns, contract.instances(basis.per_s()));
        let meets = |instances: u64| model.meets(instance, instances, rate);
        let instances = match asked {
            Replicas::Exactly(instances) => instances,
            Replicas::Fewest => fewest(by_division, meets)?,
        };
        let met = asked == Replicas::Fewest || meets(instances)?;
        let sentence = sentence(contract, by_division, instances, asked, met, instance.why_fewer());
        let modelled = match instance {
            InstanceModel::Slots(slots) => ModelledInstance::Slots {
                slots,
                ttft_ms: model.pace.ttft_s * 1e3,
                tpot_ms: model.pace.tpot_s * 1e3,
            },
            InstanceModel::Fitted(fit) => ModelledInstance::Engine {
                engine_fit: Box::new(fit.clone()),
                alone_meets: model.meets(instance, 1, highest)?,
            },
        };
        Ok(Self { instance: modelled, by_division, instances, meets: met, sentence })
    }
}

/// Refuses an engine that does not do again what was measured.
fn believed(fit: EngineFit) -> Result<EngineFit, String> {
    match (fit.grade, fit.worst(Quantile::P50)) {
        (Grade::Good | Grade::Rough, _) => Ok(fit),
        (Grade::Poor, Some(off)) if off.is_finite() => {
            Err(format!("the fitted one is off by {} in a median", percent(off)))
        }
        (Grade::Poor, Some(_)) => Err("the fitted one does not keep up with what was sent".to_owned()),
        (Grade::Poor, None) => Err("no median was measured to compare the fitted one with".to_owned()),
    }
}

/// The fewest instances that meet the objectives, by bisection below the number by rate, or from there up to twice as
/// many: each question is a whole run of the model.
fn fewest(by_division: u64, meets: impl Fn(u64) -> Result<bool, NoQueue>) -> Result<u64, NoQueue> {
    let twice = by_division.saturating_mul(2);
    let (too_few, enough) = if meets(by_division)? {
        (0, by_division)
    } else if meets(twice)? {
        (by_division, twice)
    } else {
        return Err(NoQueue::TooMany(twice));
    };
    bisect(too_few, enough, meets)
}

fn sentence(
    contract: &CapacityTarget,
    by_division: u64,
    instances: u64,
    asked: Replicas,
    met: bool,
    why_fewer: &str,
) -> String {
    let rate = three_digits(contract.with_headroom());
    let division = format!("by rate: {}", count(by_division));
    let those = counted(instances, "instance");
    let (verb, negated) = if instances == 1 { ("meets", "does not") } else { ("meet", "do not") };
    match (asked, met, instances.cmp(&by_division)) {
        (Replicas::Exactly(_), true, _) => {
            format!("{those} {verb} the objectives at {rate}/s ({division})")
        }
        (Replicas::Exactly(_), false, _) => {
            format!("{those} {negated} meet the objectives at {rate}/s ({division})")
        }
        (Replicas::Fewest, _, Ordering::Equal) => {
            format!("{those} {verb} the objectives at {rate}/s, as many as by rate")
        }
        (Replicas::Fewest, _, Ordering::Less) => {
            format!("{those} {verb} the objectives at {rate}/s ({division}): {why_fewer}")
        }
        (Replicas::Fewest, _, Ordering::Greater) => {
            format!("it takes {those} to meet the objectives at {rate}/s ({division})")
        }
    }
}

/// The objective that decides, where it is on how fast answers are made and not on how long they wait.
fn decided_by_pace<'o>(sweep: &Sweep, objectives: &'o [Objective]) -> Option<&'o Objective> {
    let tightest = sweep.answer.as_ref().and_then(|answer| answer.tightest.as_ref());
    let decides = objectives.iter().find(|objective| Some(&objective.text) == tightest);
    decides.filter(|objective| {
        matches!(objective.key.metric, Metric::Tpot | Metric::TpotAdjusted | Metric::Itl | Metric::ChunkGap)
    })
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Of so many that just do, with how many questions.
    fn asked(by_division: u64, needed: u64) -> (Option<u64>, u64) {
        let questions = Cell::new(0);
        let meets = |instances| {
            questions.set(questions.get() + 1);
            Ok(instances >= needed)
        };
        (fewest(by_division, meets).ok(), questions.get())
    }

    #[test]
    fn the_fewest_are_found_by_halves() {
        for (by_division, needed) in [(1, 1), (2, 1), (1, 2), (5_000, 3_100), (5_000, 5_000), (5_000, 9_999)]
        {
            let (found, questions) = asked(by_division, needed);
            assert_eq!(found, Some(needed));
            assert!(questions <= 16, "{questions} runs of the model");
        }
        assert_eq!(asked(5_000, 10_001), (None, 2));
    }
}
