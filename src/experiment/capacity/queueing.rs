//! How many instances a rate needs by a model of their queues behind a router, beside how many by division.

mod model;

use std::cmp::Ordering;

use serde::Serialize;

use self::model::Model;
use super::{Basis, Contract};
use crate::analysis::wording::counted;
use crate::analysis::{Metric, Objective, Subject};
use crate::experiment::Sweep;
use crate::units::{count, three_digits};

/// What the queues of several instances do behind a router that sends each request to the one with the fewest.
///
/// An instance is modelled as so many places that serve at the pace that was measured: the first token after the
/// median TTFT of the lowest load, then one each median TPOT of the load nearest to the answer. There are as many places
/// as just let one instance meet the objectives at its highest rate, so that one modelled instance does what the
/// measured one did. Several then share what no division shows: a burst at one finds a place at another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Queueing {
    /// Places of an instance.
    pub places: u64,
    /// Its time to first token without a queue, milliseconds.
    pub ttft_ms: f64,
    /// Its time per token, milliseconds.
    pub tpot_ms: f64,
    /// Instances by division.
    pub by_division: u64,
    /// The fewest instances that meet the objectives at the target and its headroom, or those that were asked about.
    pub instances: u64,
    /// Whether they meet the objectives.
    pub meets: bool,
    /// The difference, for a person.
    pub sentence: String,
}

/// Of how many instances the queues are modelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replicas {
    /// Of as few as meet the objectives.
    Fewest,
    /// Of so many.
    Exactly(u64),
}

/// A sweep whose queues cannot be modelled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoQueue {
    /// Its prompts or arrivals come from a file.
    #[error(
        "the queues cannot be modelled: the requests of `{0}` come from a dataset or a trace\nhint: leave --replicas out"
    )]
    Taken(String),
    /// A pace decides, not a queue.
    #[error(
        "the queues cannot be modelled: `{objective}` decides, which tells how fast answers are made and not how long they \
         wait\n\
         hint: fit the engine to the runs of the sweep and simulate N of it: `skyline simulate WORKLOAD --fit SWEEP --replicas \
         N --rate {rate} --objective \"{objective}\"`; or leave --replicas out"
    )]
    Pace {
        /// The objective.
        objective: String,
        /// The rate that has to fit, requests per second.
        rate: String,
    },
    /// There is no time to serve by.
    #[error(
        "the queues cannot be modelled: no load was measured that was neither saturated nor invalid\nhint: leave --replicas out"
    )]
    NoPoint,
    /// No number of places does what was measured.
    #[error(
        "the queues cannot be modelled: no number of places of the pace that was measured meets the objectives at {0}/s\n\
         hint: leave --replicas out"
    )]
    Unlike(String),
    /// Many more of them do not meet the objectives either.
    #[error(
        "by their queues {0} instances do not meet the objectives, twice as many as division says\nhint: ask for a lower rate"
    )]
    TooMany(u64),
    /// One run of the model would take too long.
    #[error(
        "the queues cannot be modelled: a run that tells whether {instances} keep up at {rate}/s has {tokens} answer tokens\n\
         hint: ask about a share of the target, such as a tenth of it with a tenth of the replicas, or leave --replicas out"
    )]
    TooLong {
        /// How many instances, in words.
        instances: String,
        /// Requests per second.
        rate: String,
        /// Answer tokens of a run.
        tokens: String,
    },
    /// The workload cannot be had at a rate.
    #[error("the queues cannot be modelled: {0}")]
    Workload(String),
}

impl Queueing {
    /// For `contract`, of `sweep`, one instance of which carries `basis` within `objectives`, those of the sweep; of `asked`
    /// instances where that is given, else of the fewest that will do.
    ///
    /// # Errors
    ///
    /// When such a queue does not do what was measured.
    pub fn of(
        sweep: &Sweep,
        basis: Basis,
        contract: &Contract,
        objectives: &[Objective],
        asked: Replicas,
    ) -> Result<Self, NoQueue> {
        check(sweep, objectives, contract)?;
        let model = Model::of(sweep, objectives, basis.per_s()).ok_or(NoQueue::NoPoint)?;
        let places = model.places_for(basis.per_s())?;
        let (rate, by_division) = (contract.with_headroom(), contract.instances(basis.per_s()));
        let meets = |instances: u64| model.meets(places, instances, rate);
        let instances = match asked {
            Replicas::Exactly(instances) => instances,
            Replicas::Fewest => fewest(by_division, meets)?,
        };
        let met = asked == Replicas::Fewest || meets(instances)?;
        let sentence = sentence(contract, by_division, instances, asked, met);
        let (ttft_ms, tpot_ms) = (model.pace.ttft_s * 1e3, model.pace.tpot_s * 1e3);
        Ok(Self { places: places as u64, ttft_ms, tpot_ms, by_division, instances, meets: met, sentence })
    }
}

/// The fewest instances that meet the objectives, by halves below as many as division says, or from there up to twice as
/// many: each question is a whole run of the model.
fn fewest(by_division: u64, meets: impl Fn(u64) -> Result<bool, NoQueue>) -> Result<u64, NoQueue> {
    let (mut too_few, mut enough) = if meets(by_division)? {
        (0, by_division)
    } else if meets(2 * by_division)? {
        (by_division, 2 * by_division)
    } else {
        return Err(NoQueue::TooMany(2 * by_division));
    };
    while enough - too_few > 1 {
        let middle = u64::midpoint(too_few, enough);
        if meets(middle)? {
            enough = middle;
        } else {
            too_few = middle;
        }
    }
    Ok(enough)
}

fn sentence(contract: &Contract, by_division: u64, instances: u64, asked: Replicas, met: bool) -> String {
    let rate = three_digits(contract.with_headroom());
    let division = format!("division says {}", count(by_division));
    let those = counted(instances, "instance");
    let (verb, negated) = if instances == 1 { ("meets", "does not") } else { ("meet", "do not") };
    match (asked, met, instances.cmp(&by_division)) {
        (Replicas::Exactly(_), true, _) => {
            format!("{those} {verb} the objectives at {rate}/s by their queues; {division}")
        }
        (Replicas::Exactly(_), false, _) => {
            format!("{those} {negated} meet the objectives at {rate}/s by their queues; {division}")
        }
        (Replicas::Fewest, _, Ordering::Equal) => {
            format!("by their queues {those} {verb} the objectives at {rate}/s, as division says")
        }
        (Replicas::Fewest, _, Ordering::Less) => format!(
            "by their queues {those} {verb} the objectives at {rate}/s and {division}: behind one router a burst at one \
             finds a place at another"
        ),
        (Replicas::Fewest, _, Ordering::Greater) => {
            format!("by their queues it takes {those} to meet the objectives at {rate}/s and {division}")
        }
    }
}

fn check(sweep: &Sweep, objectives: &[Objective], contract: &Contract) -> Result<(), NoQueue> {
    let spec = &sweep.workload;
    if spec.arrival.trace().is_some() || spec.classes.iter().any(|class| class.prompt.is_taken()) {
        return Err(NoQueue::Taken(spec.name.clone()));
    }
    let tightest = sweep.answer.as_ref().and_then(|answer| answer.tightest.as_ref());
    let decides = objectives.iter().find(|objective| Some(&objective.text) == tightest);
    let of_pace = |objective: &&Objective| {
        matches!(
            objective.subject,
            Subject::Latency(_, Metric::Tpot | Metric::TpotAdjusted | Metric::Itl | Metric::ChunkGap)
        )
    };
    decides.filter(of_pace).map_or(Ok(()), |objective| {
        let rate = three_digits(contract.with_headroom());
        Err(NoQueue::Pace { objective: objective.text.clone(), rate })
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
