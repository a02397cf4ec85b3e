//! Several servers behind one router, driven as one.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::{Add as _, Range};
use std::str::FromStr;

use strum::{Display, IntoStaticStr, VariantArray};

use crate::clock::Timestamp;
use crate::simulator::deployment::preset::{UnknownName, find};
use crate::simulator::job::{Job, JobId, urgency};
use crate::simulator::server::{Reject, ServerGauges, SimulatedServer, TokenEvent};
use crate::simulator::work_totals::WorkTotals;
use crate::workload::Priority;

/// Replicas behind a router. Each has its own pace; the cluster's next event is the earliest of theirs.
#[derive(Clone, Debug)]
pub struct Cluster<S> {
    replicas: Vec<S>,
    rule: RoutingRule,
    /// Jobs that were routed so far.
    turn: usize,
    /// Moments when each replica must be advanced next. A large cluster must not be searched at every step of one.
    due: BTreeSet<(Timestamp, usize)>,
}

impl<S: SimulatedServer> Cluster<S> {
    /// Cluster of replicas, at least one, behind a router with this rule.
    ///
    /// # Errors
    ///
    /// When there are no replicas.
    pub fn new(replicas: Vec<S>, rule: RoutingRule) -> Result<Self, BadFleet> {
        if replicas.is_empty() {
            return Err(BadFleet::Empty);
        }
        let due = replicas.iter().zip(0..).filter_map(|(replica, place)| Some((replica.next_event()?, place)));
        Ok(Self { due: due.collect(), replicas, rule, turn: 0 })
    }

    /// Acts on the replica at `place`, and updates when it is due.
    fn with<T>(&mut self, place: usize, act: impl FnOnce(&mut S) -> T) -> T {
        let replica = &mut self.replicas[place];
        if let Some(due) = replica.next_event() {
            self.due.remove(&(due, place));
        }
        let done = act(replica);
        if let Some(due) = replica.next_event() {
            self.due.insert((due, place));
        }
        done
    }

    /// Gives `job` to the replica that the rule chooses.
    pub(super) fn route<T>(&mut self, job: Job, act: impl FnOnce(&mut S, Job) -> T) -> T {
        let place = self.rule.choose(&self.replicas, &job, self.turn);
        self.turn += 1;
        self.with(place, |replica| act(replica, job))
    }

    /// The replicas, in the router's order.
    pub fn replicas(&self) -> &[S] {
        &self.replicas
    }
}

/// An impossible fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadFleet {
    /// A number of servers is zero.
    #[error("a cluster needs at least one replica; give it one or more")]
    Empty,
    /// Pools of plain servers.
    #[error("a plain server has no prefill and decode to put into pools; leave the pools out, or the plain delays")]
    PlainPools,
}

impl<S: SimulatedServer> SimulatedServer for Cluster<S> {
    fn submit(&mut self, now: Timestamp, job: Job) -> Result<(), Reject> {
        self.route(job, |replica, job| replica.submit(now, job))
    }

    fn cancel(&mut self, now: Timestamp, id: JobId) -> bool {
        (0..self.replicas.len()).any(|place| self.with(place, |replica| replica.cancel(now, id)))
    }

    fn next_event(&self) -> Option<Timestamp> {
        self.due.first().map(|first| first.0)
    }

    fn advance(&mut self, now: Timestamp, events: &mut Vec<TokenEvent>) {
        while let Some(&(due, place)) = self.due.first()
            && due <= now
        {
            self.with(place, |replica| replica.advance(now, events));
        }
    }

    fn gauges(&self) -> ServerGauges {
        ServerGauges::of_all(self.replicas.iter().map(SimulatedServer::gauges))
    }

    fn effort(&self) -> WorkTotals {
        self.replicas.iter().map(SimulatedServer::effort).fold(WorkTotals::default(), WorkTotals::add)
    }

    fn jobs(&self) -> u64 {
        self.replicas.iter().map(SimulatedServer::jobs).sum()
    }

    fn reset_prefix_cache(&mut self) {
        self.replicas.iter_mut().for_each(SimulatedServer::reset_prefix_cache);
    }

    fn cached_tokens(&self, job: &Job) -> u32 {
        self.replicas.iter().map(|replica| replica.cached_tokens(job)).max().unwrap_or(0)
    }
}

/// A routing rule by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum RoutingRule {
    /// Each in turn.
    RoundRobin,
    /// The one with the fewest jobs, waiting and running; the first among equals.
    LeastLoaded,
    /// The server whose cache holds the longest prefix of the prompt. If it has over [`Self::IMBALANCE`] jobs more than
    /// the least loaded, that one serves; the least loaded among equals.
    PrefixAware,
    /// The least loaded server of the prompt's lane. Prompts of up to [`Self::SHORT`] tokens that are not of low
    /// priority have a third of the servers, at least one; the rest have the others.
    ByPriority,
}

impl FromStr for RoutingRule {
    type Err = UnknownName;

    /// `round-robin`, `least-loaded`, `prefix-aware` or `by-priority`.
    fn from_str(name: &str) -> Result<Self, UnknownName> {
        find("routing rule", Self::VARIANTS, |rule| rule.into(), name)
    }
}

impl RoutingRule {
    /// Requests more than the least loaded that a warm server may have. It is a server with a warm cache. The number is
    /// a choice; routers make it a setting.
    pub const IMBALANCE: u64 = 32;
    /// Longest prompt of the priority lane, tokens.
    pub const SHORT: u32 = 1024;

    /// Returns the index of the server for `job`, the `turn`-th one. It is 0 when there is no server.
    fn choose<S: SimulatedServer>(self, servers: &[S], job: &Job, turn: usize) -> usize {
        let all = 0..servers.len();
        let least_loaded = |places: Range<usize>| places.min_by_key(|&place| servers[place].jobs()).unwrap_or(0);
        match self {
            Self::RoundRobin => turn % servers.len().max(1),
            Self::PrefixAware => {
                let bound = servers.iter().map(SimulatedServer::jobs).min().unwrap_or(0) + Self::IMBALANCE;
                let warmest = |place: &usize| (Reverse(servers[*place].cached_tokens(job)), servers[*place].jobs());
                all.filter(|&place| servers[place].jobs() <= bound).min_by_key(warmest).unwrap_or(0)
            }
            // A single server needs no lanes.
            Self::ByPriority if servers.len() > 1 => {
                let urgent = (servers.len() / 3).max(1);
                let is_urgent = job.priority <= urgency(Priority::Medium) && job.input_tokens <= Self::SHORT;
                least_loaded(if is_urgent { 0..urgent } else { urgent..servers.len() })
            }
            Self::LeastLoaded | Self::ByPriority => least_loaded(all),
        }
    }
}
