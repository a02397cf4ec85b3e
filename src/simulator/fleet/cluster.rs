//! Several servers behind one router, driven as one.

use std::collections::BTreeSet;
use std::ops::Add as _;

use super::router::{Router, Routing};
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
        let place = self.router.choose(&self.replicas, &job);
        self.with(place, |replica| replica.submit(now, job))
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
