//! A deployment: an engine, how many of it, and how requests are routed.
use std::fmt;
use std::time::Duration;

use super::admission::{Admission, AdmissionControl};
use super::cluster::{BadFleet, Cluster, RoutingRule};
use super::front_end::FrontEnd;
use super::pools::{KvTransfer, Pools};
use crate::simulator::engine::batching::{BatchingConfig, BatchingEngine};
use crate::simulator::engine::fixed_queue::{Delay, FixedQueue};
use crate::simulator::server::SimulatedServer;

/// The description of a whole deployment, from which servers are made on demand.
#[derive(Clone, Debug, PartialEq)]
pub struct Fleet {
    /// The engine.
    pub engine: EngineModel,
    /// Number of servers, and which requests each gets.
    pub layout: FleetLayout,
    /// Seed; each server draws from its own streams.
    pub seed: u64,
    /// Delay from making a token to the client's view of it: whatever stands in between.
    pub front_end: Duration,
    /// Admission, of all its servers together.
    pub admission: Admission,
}

/// The kind of engine.
#[derive(Clone, Debug, PartialEq)]
pub enum EngineModel {
    /// A continuous-batching engine; its own seed is ignored.
    Batching(Box<BatchingConfig>),
    /// A plain server without physics.
    Plain {
        /// Requests served at a time; others wait.
        slots: usize,
        /// Delay from the start of service to the first token.
        ttft: Delay,
        /// Delay from each token to the next.
        itl: Delay,
    },
}

/// Number of servers, and which requests each gets.
#[derive(Clone, Debug, PartialEq)]
pub enum FleetLayout {
    /// Identical servers.
    Replicas {
        /// Number of them.
        count: u32,
        /// Routing rule.
        rule: RoutingRule,
    },
    /// Prompts in one pool, answers in another; continuous batching only.
    Pools {
        /// Servers that compute prompts.
        prefill: u32,
        /// Servers that decode answers.
        decode: u32,
        /// Routing rule of the prefill servers.
        rule: RoutingRule,
        /// Transfer of the KV from one pool to the other.
        transfer: KvTransfer,
    },
}

impl Fleet {
    /// One server of this kind.
    pub fn of_one(engine: EngineModel, seed: u64) -> Self {
        Self {
            engine,
            layout: FleetLayout::Replicas { count: 1, rule: RoutingRule::RoundRobin },
            seed,
            front_end: Duration::ZERO,
            admission: Admission::default(),
        }
    }

    /// Total number of servers.
    pub const fn servers(&self) -> u32 {
        match self.layout {
            FleetLayout::Replicas { count, .. } => count,
            FleetLayout::Pools { prefill, decode, .. } => prefill + decode,
        }
    }

    /// A fresh, idle server.
    ///
    /// # Errors
    ///
    /// When there would be no server, or pools of plain ones.
    pub fn server(&self) -> Result<Box<dyn SimulatedServer + Send>, BadFleet> {
        let engines: Box<dyn SimulatedServer + Send> = match (&self.engine, &self.layout) {
            (EngineModel::Batching(config), FleetLayout::Replicas { count, rule }) => {
                Box::new(Cluster::new(self.instances(config, 0..*count), *rule)?)
            }
            (EngineModel::Batching(config), FleetLayout::Pools { prefill, decode, rule, transfer }) => {
                let (prompts, answers) = (0..*prefill, *prefill..prefill + decode);
                Box::new(Pools::new(
                    self.instances(config, prompts),
                    self.instances(config, answers),
                    *rule,
                    *transfer,
                )?)
            }
            (EngineModel::Plain { slots, ttft, itl }, FleetLayout::Replicas { count, rule }) => {
                let seeds = (0..u64::from(*count)).map(|place| self.seed.wrapping_add(place));
                let servers = seeds.map(|seed| FixedQueue::new(*slots, *ttft, *itl, seed)).collect();
                Box::new(Cluster::new(servers, *rule)?)
            }
            (EngineModel::Plain { .. }, FleetLayout::Pools { .. }) => return Err(BadFleet::PlainPools),
        };
        let engines = if self.admission == Admission::default() {
            engines
        } else {
            Box::new(AdmissionControl::new(engines, self.admission.clone()))
        };
        Ok(if self.front_end.is_zero() { engines } else { Box::new(FrontEnd::new(engines, self.front_end)) })
    }

    fn instances(&self, config: &BatchingConfig, range: std::ops::Range<u32>) -> Vec<BatchingEngine> {
        let seeds = range.map(|index| self.seed.wrapping_add(u64::from(index)));
        seeds.map(|seed| BatchingEngine::new(BatchingConfig { seed, ..config.clone() })).collect()
    }

    /// The baseline for a comparison: as many identical servers behind round robin. Absent when it is that already.
    pub fn baseline(&self) -> Option<Self> {
        let layout = FleetLayout::Replicas { count: self.servers(), rule: RoutingRule::RoundRobin };
        (self.servers() > 1 && self.layout != layout).then(|| Self { layout, ..self.clone() })
    }
}

impl FleetLayout {
    /// The routing rule; for pools, that of the prefill servers.
    pub const fn rule(&self) -> RoutingRule {
        match self {
            Self::Replicas { rule, .. } | Self::Pools { rule, .. } => *rule,
        }
    }
}

impl fmt::Display for FleetLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Replicas { count: 1, .. } => f.write_str("one server"),
            Self::Replicas { count, rule } => write!(f, "{count} alike, {rule}"),
            Self::Pools { prefill, decode, rule, .. } => {
                write!(f, "{prefill} prefill ({rule}) and {decode} decode")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;
    use crate::simulator::job::{Job, JobId};

    fn plain(layout: FleetLayout) -> Fleet {
        let engine = EngineModel::Plain { slots: 1, ttft: Delay::Constant(0.1), itl: Delay::Constant(0.01) };
        Fleet { layout, ..Fleet::of_one(engine, 0) }
    }

    #[test]
    fn replicas_serve_side_by_side() {
        for (count, done_at) in [(1, 200), (2, 100)] {
            let rule = RoutingRule::LeastLoaded;
            let mut server = plain(FleetLayout::Replicas { count, rule }).server().unwrap();
            let mut events = Vec::new();
            for id in 0..2 {
                server.submit(Timestamp::ZERO, Job::new(JobId(id), 5, 1)).unwrap();
            }
            while let Some(at) = server.next_event() {
                server.advance(at, &mut events);
            }
            assert_eq!(events.last().unwrap().at, Timestamp::from_nanos(done_at * 1_000_000));
        }
    }

    #[test]
    fn impossible_fleets_are_refused() {
        let nobody = FleetLayout::Replicas { count: 0, rule: RoutingRule::RoundRobin };
        assert!(matches!(plain(nobody).server().map(|_| ()), Err(BadFleet::Empty)));
        let transfer = KvTransfer { bytes_per_token: 1.0, bandwidth: 1.0, latency: Duration::ZERO };
        let pools = FleetLayout::Pools { prefill: 1, decode: 1, rule: RoutingRule::RoundRobin, transfer };
        assert!(matches!(plain(pools).server().map(|_| ()), Err(BadFleet::PlainPools)));
    }

    #[test]
    fn the_baseline_is_as_many_alike_in_turn() {
        let of = |count, rule| plain(FleetLayout::Replicas { count, rule });
        assert_eq!(of(1, RoutingRule::LeastLoaded).baseline(), None);
        assert_eq!(of(4, RoutingRule::RoundRobin).baseline(), None);
        assert_eq!(of(4, RoutingRule::ByPriority).baseline(), Some(of(4, RoutingRule::RoundRobin)));
    }
}
