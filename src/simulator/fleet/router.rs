//! Chooses the server of each job.

use crate::simulator::job::Job;
use crate::simulator::server::SimulatedServer;

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
