//! How many instances a rate needs by a model of their queues behind a router, beside how many by division.

use std::cmp::Ordering;
use std::time::Duration;

use serde::Serialize;

use super::{Basis, Contract};
use crate::analysis::{Judgement, Metric, Objective, Rule, Subject, summarise};
use crate::experiment::{AcrossRuns, Sweep, SweepPoint, fly_virtually};
use crate::generator::Schedule;
use crate::record::{HostFacts, Limits, PromptFacts, PromptMethod, RunHeader, StampSource};
use crate::simulator::{Delay, Engine, Fleet, Layout, RoutingRule};
use crate::units::three_digits;
use crate::workload::{Overrides, WorkloadSpec};

/// Requests in the window of a run of the model.
const SAMPLES: f64 = 10_000.0;
/// More places at once than any instance has.
const MOST_PLACES: usize = 1 << 16;

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
        "the queues cannot be modelled: `{0}` decides, which tells how fast answers are made and not how long they wait\n\
         hint: leave --replicas out"
    )]
    Pace(String),
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
        check(sweep, objectives)?;
        let pace = Pace::of(sweep, basis.per_s()).ok_or(NoQueue::NoPoint)?;
        let model = Model { sweep, objectives, pace };
        let places = model.places_for(basis.per_s())?;
        let (rate, by_division) = (contract.with_headroom(), contract.instances(basis.per_s()));
        let meets = |instances: u64| model.meets(places, instances, rate);
        let instances = match asked {
            Replicas::Exactly(instances) => instances,
            Replicas::Fewest => fewest(by_division, meets)?,
        };
        let met = asked == Replicas::Fewest || meets(instances)?;
        let sentence = sentence(contract, by_division, instances, asked, met);
        let (ttft_ms, tpot_ms) = (pace.ttft_s * 1e3, pace.tpot_s * 1e3);
        Ok(Self { places: places as u64, ttft_ms, tpot_ms, by_division, instances, meets: met, sentence })
    }
}

/// The fewest instances that meet the objectives, looked for from as many as division says.
fn fewest(by_division: u64, meets: impl Fn(u64) -> Result<bool, NoQueue>) -> Result<u64, NoQueue> {
    let mut instances = by_division;
    while !meets(instances)? {
        if instances > 2 * by_division {
            return Err(NoQueue::TooMany(instances));
        }
        instances += 1;
    }
    while instances > 1 && meets(instances - 1)? {
        instances -= 1;
    }
    Ok(instances)
}

fn sentence(contract: &Contract, by_division: u64, instances: u64, asked: Replicas, met: bool) -> String {
    let rate = three_digits(contract.with_headroom());
    let division = format!("division says {by_division}");
    match (asked, met, instances.cmp(&by_division)) {
        (Replicas::Exactly(_), true, _) => {
            format!("{instances} instances meet the objectives at {rate}/s by their queues; {division}")
        }
        (Replicas::Exactly(_), false, _) => {
            format!(
                "{instances} instances do not meet the objectives at {rate}/s by their queues; {division}"
            )
        }
        (Replicas::Fewest, _, Ordering::Equal) => {
            format!("by their queues {instances} instances meet the objectives at {rate}/s, as division says")
        }
        (Replicas::Fewest, _, Ordering::Less) => format!(
            "by their queues {instances} instances meet the objectives at {rate}/s and {division}: behind one router a \
             burst at one finds a place at another"
        ),
        (Replicas::Fewest, _, Ordering::Greater) => format!(
            "by their queues it takes {instances} instances to meet the objectives at {rate}/s and {division}"
        ),
    }
}

fn check(sweep: &Sweep, objectives: &[Objective]) -> Result<(), NoQueue> {
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
    decides.filter(of_pace).map_or(Ok(()), |objective| Err(NoQueue::Pace(objective.text.clone())))
}

/// How fast a place serves, seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Pace {
    ttft_s: f64,
    tpot_s: f64,
}

impl Pace {
    fn of(sweep: &Sweep, per_s: f64) -> Option<Self> {
        let settled = || sweep.points.iter().filter(|point| !point.class.fails());
        let mean = |figure: &Option<AcrossRuns>| figure.as_ref().and_then(|figure| figure.mean);
        let ttft_ms = settled().find_map(|point| mean(&point.figures.ttft_p50_ms))?;
        let away = |point: &&SweepPoint| (point.load.amount() / per_s).ln().abs();
        let nearest = settled().min_by(|a, b| away(a).total_cmp(&away(b)))?;
        // Of answers of one token there is none, and none is needed.
        let tpot_ms = mean(&nearest.figures.tpot_p50_ms).unwrap_or(0.0);
        Some(Self { ttft_s: ttft_ms / 1e3, tpot_s: tpot_ms / 1e3 })
    }
}

struct Model<'a> {
    sweep: &'a Sweep,
    objectives: &'a [Objective],
    pace: Pace,
}

impl Model<'_> {
    /// The fewest places with which one instance meets the objectives at `per_s`.
    fn places_for(&self, per_s: f64) -> Result<usize, NoQueue> {
        let mut plenty = 1;
        while !self.meets(plenty, 1, per_s)? {
            plenty *= 2;
            if plenty > MOST_PLACES {
                return Err(NoQueue::Unlike(three_digits(per_s)));
            }
        }
        let mut too_few = plenty / 2;
        while plenty - too_few > 1 {
            let middle = usize::midpoint(too_few, plenty);
            if self.meets(middle, 1, per_s)? {
                plenty = middle;
            } else {
                too_few = middle;
            }
        }
        Ok(plenty)
    }

    /// Whether so many instances meet the objectives at `per_s` of all of them together, and keep up.
    fn meets(&self, places: usize, instances: u64, per_s: f64) -> Result<bool, NoQueue> {
        let workload = self.at(per_s)?;
        let schedule = Schedule::draw(&workload);
        let Pace { ttft_s, tpot_s } = self.pace;
        let count = u32::try_from(instances).unwrap_or(u32::MAX);
        let fleet = Fleet {
            engine: Engine::Plain { places, ttft: Delay::Constant(ttft_s), itl: Delay::Constant(tpot_s) },
            layout: Layout::Replicas { count, rule: RoutingRule::LeastLoaded },
            seed: workload.seed,
            front_end: Duration::ZERO,
        };
        let header = self.header(workload, &schedule);
        let log =
            fly_virtually(header, schedule, &fleet).map_err(|bad| NoQueue::Workload(bad.to_string()))?;
        let run = summarise(&log, self.objectives);
        Ok(run.objectives.iter().all(Judgement::passed) && !run.verdict.breaks(Rule::SteadyState))
    }

    fn at(&self, per_s: f64) -> Result<WorkloadSpec, NoQueue> {
        let spec = WorkloadSpec { requests: None, ..self.sweep.workload.clone() };
        let warmup_s = spec.warmup_s;
        let changes = Overrides {
            rate_per_s: Some(per_s),
            horizon_s: Some(warmup_s + SAMPLES / per_s),
            warmup_s: Some(warmup_s),
            ..Overrides::default()
        };
        spec.with(&changes).map_err(|error| NoQueue::Workload(error.to_string()))
    }

    fn header(&self, workload: WorkloadSpec, schedule: &Schedule) -> RunHeader {
        RunHeader {
            schema: RunHeader::SCHEMA,
            skyline_version: self.sweep.skyline_version.clone(),
            started_at: self.sweep.started_at,
            command: Vec::new(),
            workload,
            repeat: None,
            plan: schedule.facts(),
            prompts: PromptFacts { method: PromptMethod::LengthsOnly, salt: 0, template_tokens: None },
            cache: None,
            engine: self.sweep.engine.clone(),
            deployment: self.sweep.deployment.clone(),
            limits: Limits::default(),
            objectives: self.sweep.plan.objectives.clone(),
            host: HostFacts::default(),
            stamps: StampSource::default(),
            shard: None,
            calibration: None,
        }
    }
}
