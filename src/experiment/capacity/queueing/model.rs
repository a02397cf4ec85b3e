//! A model of instances behind a router, run in virtual time.

use std::time::Duration;

use crate::analysis::wording::counted;
use crate::analysis::{Judgement, Metric, Objective, Quantile, Rule, summarise};
use crate::experiment::capacity::instance::tokens_per_request;
use crate::experiment::engine_fit::EngineFit;
use crate::experiment::sweep::{Sweep, SweepPoint};
use crate::experiment::virtual_time::run_virtually;
use crate::generator::Schedule;
use crate::record::{ClientLimits, HostFacts, PromptFacts, PromptMethod, RunHeader, StampSource};
use crate::simulator::{Admission, Delay, EngineModel, Fleet, FleetLayout, RoutingRule};
use crate::units::{count, three_digits};
use crate::workload::{Overrides, WorkloadSpec};

/// Requests in the window of a run of the model, at least.
const SAMPLES: f64 = 10_000.0;
/// How many times as long as a request is served the window is, at least: a fleet that does not keep up takes requests
/// into empty slots for one of these times, and only then shows it (a choice).
const SERVICES: f64 = 20.0;
/// How many times as long the warm-up is, at least: the slots fill in one (a choice).
const WARMUP_SERVICES: f64 = 3.0;
/// More answer tokens than a run of the model may have: their stamps alone take half a gigabyte.
const MOST_TOKENS: f64 = 1e8;
/// More slots at once than any instance has.
const MOST_SLOTS: u64 = 1 << 16;

/// A sweep whose queues cannot be modelled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoQueue {
    /// Its prompts or arrivals come from a file.
    #[error(
        "the queues cannot be modelled: the requests of `{0}` come from a dataset or a trace\nhint: leave --replicas out"
    )]
    Taken(String),
    /// The pace of tokens decides, and no engine could be fitted that has it.
    #[error(
        "the queues are not modelled, for `{objective}` decides, which takes an engine fitted to the runs of the sweep: \
         {why}; instances are by rate alone"
    )]
    Unfitted {
        /// The objective.
        objective: String,
        /// Why not.
        why: String,
    },
    /// There is no time to serve by.
    #[error(
        "the queues cannot be modelled: no load was measured that was neither saturated nor invalid\nhint: leave --replicas out"
    )]
    NoPoint,
    /// No number of slots does what was measured.
    #[error(
        "the queues cannot be modelled: no number of slots of the pace that was measured meets the objectives at {0}/s\n\
         hint: leave --replicas out"
    )]
    Unlike(String),
    /// Many more of them do not meet the objectives either.
    #[error(
        "by queueing model {0} instances do not meet the objectives, twice as many as by rate\nhint: ask for a lower rate"
    )]
    TooMany(u64),
    /// One run of the model would take too long.
    #[error(
        "the queues cannot be modelled: a run to test whether {instances} keep up at {rate}/s has {tokens} answer \
         tokens\nhint: ask about a share of the target, such as a tenth of it with a tenth of the replicas, or leave \
         --replicas out"
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

/// The fewest that will do, between `too_few` and `enough`.
pub(super) fn bisect(
    mut too_few: u64,
    mut enough: u64,
    will_do: impl Fn(u64) -> Result<bool, NoQueue>,
) -> Result<u64, NoQueue> {
    while enough - too_few > 1 {
        let middle = u64::midpoint(too_few, enough);
        if will_do(middle)? {
            enough = middle;
        } else {
            too_few = middle;
        }
    }
    Ok(enough)
}

/// How long a run of the model is.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Length {
    warmup_s: f64,
    window_s: f64,
}

impl Length {
    /// With so many requests a second, each of which takes so long; the warm-up is no shorter than that of the sweep.
    fn of(requests_per_s: f64, service_s: f64, warmup_s: f64) -> Self {
        Self {
            warmup_s: warmup_s.max(WARMUP_SERVICES * service_s),
            window_s: (SAMPLES / requests_per_s).max(SERVICES * service_s),
        }
    }
}

/// How fast a place serves, seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ServicePace {
    pub(super) ttft_s: f64,
    pub(super) tpot_s: f64,
}

impl ServicePace {
    fn of(sweep: &Sweep, per_s: f64) -> Option<Self> {
        let settled = || sweep.points.iter().filter(|point| !point.class.fails());
        let median = |point: &SweepPoint, metric| point.figures.percentile(Quantile::P50, metric)?.mean;
        let ttft_ms = settled().find_map(|point| median(point, Metric::Ttft))?;
        let away = |point: &&SweepPoint| (point.load.amount() / per_s).ln().abs();
        let nearest = settled().min_by(|a, b| away(a).total_cmp(&away(b)))?;
        // Of answers of one token there is none, and none is needed.
        let tpot_ms = median(nearest, Metric::Tpot).unwrap_or(0.0);
        Some(Self { ttft_s: ttft_ms / 1e3, tpot_s: tpot_ms / 1e3 })
    }
}

/// What an instance is taken for.
#[derive(Clone, Copy, Debug)]
pub(super) enum InstanceModel<'a> {
    /// So many slots that serve at the pace that was measured.
    Slots(u64),
    /// An engine that was fitted to the runs.
    Fitted(&'a EngineFit),
}

impl InstanceModel<'_> {
    /// Why fewer instances suffice behind one router than by rate.
    pub(super) const fn why_fewer(self) -> &'static str {
        match self {
            Self::Slots(_) => "behind one router a burst at one finds a slot at another",
            Self::Fitted(_) => {
                "behind one router a burst at one finds room at another, and the engine may sustain more than the highest \
                 rate that passed"
            }
        }
    }
}

/// Instances like the one of a sweep.
pub(super) struct Model<'a> {
    sweep: &'a Sweep,
    pub(super) pace: ServicePace,
    /// Answer tokens of a request, on average.
    tokens: f64,
}

impl<'a> Model<'a> {
    /// Of what was measured near `per_s`; `None` where there is no time to serve by.
    pub(super) fn of(sweep: &'a Sweep, per_s: f64) -> Option<Self> {
        let tokens = tokens_per_request(sweep)?;
        Some(Self { sweep, pace: ServicePace::of(sweep, per_s)?, tokens })
    }
}

impl Model<'_> {
    /// How long a request holds its place, on average, seconds.
    fn service_s(&self) -> f64 {
        self.pace.ttft_s + (self.tokens - 1.0).max(0.0) * self.pace.tpot_s
    }

    /// The fewest slots with which one instance meets the objectives at `per_s`.
    pub(super) fn slots_for(&self, per_s: f64) -> Result<u64, NoQueue> {
        let mut plenty = 1;
        while !self.meets(InstanceModel::Slots(plenty), 1, per_s)? {
            plenty *= 2;
            if plenty > MOST_SLOTS {
                return Err(NoQueue::Unlike(three_digits(per_s)));
            }
        }
        bisect(plenty / 2, plenty, |slots| self.meets(InstanceModel::Slots(slots), 1, per_s))
    }

    /// Whether so many instances meet the objectives at `per_s` of all of them together, and keep up.
    pub(super) fn meets(
        &self,
        instance: InstanceModel<'_>,
        instances: u64,
        per_s: f64,
    ) -> Result<bool, NoQueue> {
        let requests_per_s = per_s * self.sweep.workload.mean_turns();
        // As many requests are in service on average as arrive while one is served (Little): with fewer slots than
        // that the queue grows without end, however long a run has to be to show it.
        if let InstanceModel::Slots(slots) = instance
            && requests_per_s * self.service_s() > slots as f64 * instances as f64
        {
            return Ok(false);
        }
        let length = Length::of(requests_per_s, self.service_s(), self.sweep.workload.warmup_s);
        let tokens = requests_per_s * (length.warmup_s + length.window_s) * self.tokens.max(1.0);
        if tokens > MOST_TOKENS {
            let instances = counted(instances, "instance");
            return Err(NoQueue::TooLong {
                instances,
                rate: three_digits(per_s),
                tokens: count(tokens as u64),
            });
        }
        let workload = self.at(per_s, length)?;
        let schedule = Schedule::draw(&workload);
        let fleet = self.fleet(instance, instances, workload.seed);
        let header = self.header(workload, &schedule);
        let log =
            run_virtually(header, schedule, &fleet).map_err(|bad| NoQueue::Workload(bad.to_string()))?;
        let run = summarise(&log, &self.sweep.plan.objectives);
        // A run of the model is as long as its figures need: they decide, however long requests remember.
        let holds = |judged: &Judgement| {
            let Objective { comparison, bound, .. } = judged.objective;
            judged.value.map_or(judged.passed(), |value| comparison.holds(value, bound))
        };
        Ok(run.objectives.iter().all(holds) && !run.verdict.breaks(Rule::SteadyState))
    }

    /// So many instances behind one router.
    fn fleet(&self, instance: InstanceModel<'_>, instances: u64, seed: u64) -> Fleet {
        let ServicePace { ttft_s, tpot_s } = self.pace;
        let count = u32::try_from(instances).unwrap_or(u32::MAX);
        let slots = match instance {
            InstanceModel::Slots(slots) => slots as usize,
            InstanceModel::Fitted(_) => 1,
        };
        let fleet = Fleet {
            engine: EngineModel::Plain { slots, ttft: Delay::Constant(ttft_s), itl: Delay::Constant(tpot_s) },
            layout: FleetLayout::Replicas { count, rule: RoutingRule::LeastLoaded },
            seed,
            front_end: Duration::ZERO,
            admission: Admission::default(),
        };
        match instance {
            InstanceModel::Slots(_) => fleet,
            InstanceModel::Fitted(fit) => fit.applied_to(&fleet),
        }
    }

    fn at(&self, per_s: f64, Length { warmup_s, window_s }: Length) -> Result<WorkloadSpec, NoQueue> {
        let spec = WorkloadSpec { requests: None, ..self.sweep.workload.clone() };
        let changes = Overrides {
            rate_per_s: Some(per_s),
            horizon_s: Some(warmup_s + window_s),
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
            warming_requests: None,
            engine: self.sweep.engine.clone(),
            deployment: self.sweep.deployment.clone(),
            limits: ClientLimits::default(),
            objectives: self.sweep.plan.objectives.iter().map(ToString::to_string).collect(),
            percentiles: Vec::new(),
            host: HostFacts::default(),
            stamps: StampSource::default(),
            shard: None,
            shard_delays_ns: Vec::new(),
            calibration: None,
            telemetry: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_long_beside_a_request() {
        let length = |rate, service_s| Length::of(rate, service_s, 30.0);
        assert_eq!(length(100.0, 1.0), Length { warmup_s: 30.0, window_s: 100.0 });
        assert_eq!(length(2_000.0, 15.0), Length { warmup_s: 45.0, window_s: 300.0 });
    }
}
