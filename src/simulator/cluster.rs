//! Several servers behind one router, driven as if they were one.

use std::ops::Add as _;

use super::effort::Effort;
use super::job::{Job, JobId};
use super::router::{Router, Routing};
use super::server::{Gauges, Reject, Server, TokenEvent};
use crate::clock::Timestamp;

/// Replicas behind a router. Each goes at its own pace; the cluster's next event is that of the soonest.
#[derive(Clone, Debug)]
pub struct Cluster<S> {
    replicas: Vec<S>,
    router: Router,
}

impl<S: Server> Cluster<S> {
    /// These replicas (at least one) behind a router with this rule.
    ///
    /// # Errors
    ///
    /// Gives the rule back when there are no replicas to route to.
    pub fn new(replicas: Vec<S>, routing: Routing) -> Result<Self, NoReplicas> {
        if replicas.is_empty() {
            return Err(NoReplicas);
        }
        Ok(Self { replicas, router: Router::new(routing) })
    }

    /// The replicas, in the order in which the router counts them.
    #[must_use]
    pub fn replicas(&self) -> &[S] {
        &self.replicas
    }
}

/// A cluster of nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a cluster needs at least one replica; give it one or more")]
pub struct NoReplicas;

impl<S: Server> Server for Cluster<S> {
    fn submit(&mut self, now: Timestamp, job: Job) -> Result<(), Reject> {
        let place = self.router.choose(&self.replicas, &job);
        self.replicas[place].submit(now, job)
    }

    fn cancel(&mut self, now: Timestamp, id: JobId) -> bool {
        self.replicas.iter_mut().any(|replica| replica.cancel(now, id))
    }

    fn next_event(&self) -> Option<Timestamp> {
        self.replicas.iter().filter_map(Server::next_event).min()
    }

    fn advance(&mut self, now: Timestamp, events: &mut Vec<TokenEvent>) {
        for replica in &mut self.replicas {
            if replica.next_event().is_some_and(|due| due <= now) {
                replica.advance(now, events);
            }
        }
    }

    fn gauges(&self) -> Gauges {
        Gauges::of_all(self.replicas.iter().map(Server::gauges))
    }

    fn effort(&self) -> Effort {
        self.replicas.iter().map(Server::effort).fold(Effort::default(), Effort::add)
    }

    fn jobs(&self) -> u64 {
        self.replicas.iter().map(Server::jobs).sum()
    }

    fn reset_prefix_cache(&mut self) {
        self.replicas.iter_mut().for_each(Server::reset_prefix_cache);
    }

    fn cached_tokens(&self, job: &Job) -> u32 {
        self.replicas.iter().map(|replica| replica.cached_tokens(job)).max().unwrap_or(0)
    }
}
