//! Several servers behind one router, driven as one.

use std::collections::BTreeSet;
use std::ops::Add as _;

use crate::clock::Timestamp;
use crate::simulator::job::{Job, JobId};
use crate::simulator::server::{Reject, ServerGauges, SimulatedServer, TokenEvent};
use crate::simulator::work_totals::WorkTotals;

/// Replicas behind a router. Each has its own pace; the cluster's next event is the earliest of theirs.
#[derive(Clone, Debug)]
pub struct Cluster<S> {
    replicas: Vec<S>,
    router: Router,
    /// When each replica must be advanced next: a large cluster must not be searched at every step of one.
    due: BTreeSet<(Timestamp, usize)>,
}

impl<S: SimulatedServer> Cluster<S> {
    /// These replicas (at least one) behind a router with this rule.
    ///
    /// # Errors
    ///
    /// When there are no replicas.
    pub fn new(replicas: Vec<S>, routing: Routing) -> Result<Self, NoReplicas> {
        if replicas.is_empty() {
            return Err(NoReplicas);
        }
        let due =
            replicas.iter().zip(0..).filter_map(|(replica, place)| Some((replica.next_event()?, place)));
        Ok(Self { due: due.collect(), replicas, router: Router::new(routing) })
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

    /// Gives `job` to the replica that the router chooses.
    pub(super) fn route<T>(&mut self, job: Job, act: impl FnOnce(&mut S, Job) -> T) -> T {
        let place = self.router.choose(&self.replicas, &job);
        self.with(place, |replica| act(replica, job))
    }

    /// The replicas, in the router's order.
    pub fn replicas(&self) -> &[S] {
        &self.replicas
    }
}

/// A cluster without replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a cluster needs at least one replica; give it one or more")]
pub struct NoReplicas;

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

/// How a router distributes jobs.
#[derive(Clone, Debug, PartialEq)]
pub enum Routing {
    /// Each in turn.
    RoundRobin,
    /// The one with the fewest jobs, waiting and running; the first among equals.
    LeastLoaded,
    /// The one whose cache holds the longest prefix of the prompt, unless it has over `imbalance` jobs more than the
    /// least loaded; the least loaded among equals.
    PrefixAware {
        /// How many jobs more than the least loaded a server with a warm cache may have.
        imbalance: u64,
    },
    /// The first lane that takes the job, and the least loaded of its servers; the last lane takes all jobs.
    Lanes(Vec<PriorityLane>),
}

/// Servers reserved for some of the jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PriorityLane {
    /// Indices of its servers.
    pub servers: Vec<usize>,
    /// Takes jobs at least this urgent: a [`Job::priority`] no higher than this. `None` takes any.
    pub priority_up_to: Option<i32>,
    /// Takes prompts no longer than this, tokens. `None` takes any.
    pub input_up_to: Option<u32>,
}

impl PriorityLane {
    fn takes(&self, job: &Job) -> bool {
        self.priority_up_to.is_none_or(|bound| job.priority <= bound)
            && self.input_up_to.is_none_or(|bound| job.input_tokens <= bound)
    }
}

/// A routing rule with its state.
#[derive(Clone, Debug)]
pub(crate) struct Router {
    routing: Routing,
    next: usize,
}

impl Router {
    pub(crate) const fn new(routing: Routing) -> Self {
        Self { routing, next: 0 }
    }

    /// The index of the server for `job`; 0 when there is no server.
    pub(crate) fn choose<S: SimulatedServer>(&mut self, servers: &[S], job: &Job) -> usize {
        match &self.routing {
            Routing::RoundRobin => {
                let place = self.next % servers.len().max(1);
                self.next = place + 1;
                place
            }
            Routing::LeastLoaded => least_loaded(servers, 0..servers.len()),
            Routing::PrefixAware { imbalance } => {
                let bound = servers.iter().map(SimulatedServer::jobs).min().unwrap_or(0) + imbalance;
                (0..servers.len())
                    .filter(|&place| servers[place].jobs() <= bound)
                    .min_by_key(|&place| {
                        (std::cmp::Reverse(servers[place].cached_tokens(job)), servers[place].jobs())
                    })
                    .unwrap_or(0)
            }
            Routing::Lanes(lanes) => {
                let lane = lanes.iter().find(|lane| lane.takes(job)).or(lanes.last());
                let places = lane.map_or(&[][..], |lane| &lane.servers);
                least_loaded(servers, places.iter().copied().filter(|&place| place < servers.len()))
            }
        }
    }
}

fn least_loaded<S: SimulatedServer>(servers: &[S], places: impl Iterator<Item = usize>) -> usize {
    places.min_by_key(|&place| servers[place].jobs()).unwrap_or(0)
}
