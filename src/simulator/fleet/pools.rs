//! Disaggregated serving: prompts are computed in one pool, answers in another.
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::ops::Add as _;
use std::time::Duration;

use super::cluster::{BadFleet, Cluster, RoutingRule};
use crate::clock::Timestamp;
use crate::simulator::deployment::placement::Deployment;
use crate::simulator::engine::batching::BatchingEngine;
use crate::simulator::job::{Job, JobId};
use crate::simulator::server::{Reject, ServerGauges, SimulatedServer, TokenEvent};
use crate::simulator::work_totals::WorkTotals;

/// Transfer of a prompt's KV from a prefill to a decode engine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KvTransfer {
    /// KV bytes of one token, over all ranks and layers.
    pub bytes_per_token: f64,
    /// Bytes per second, shared by all transfers one after the other.
    pub bandwidth: f64,
    /// Time before the first byte.
    pub latency: Duration,
}

impl KvTransfer {
    /// The transfer of `deployment`'s KV over `bandwidth` bytes per second, without latency.
    pub fn new(deployment: &Deployment, bandwidth: f64) -> Self {
        let bytes_per_token = deployment.model.kv_elements_per_token(1) * deployment.kv_cache.bytes();
        Self { bytes_per_token, bandwidth, latency: Duration::ZERO }
    }

    /// Time for `tokens` tokens, without waiting for other transfers.
    pub fn time(&self, tokens: u32) -> Duration {
        let seconds = f64::from(tokens) * self.bytes_per_token / self.bandwidth;
        self.latency.saturating_add(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
    }
}

/// A prefill pool and a decode pool, each behind its own router.
///
/// A prefill engine computes a prompt and gives out the first token (as Splitwise, `DistServe` and Mooncake
/// do); then the keys and values travel, and a decode engine makes the rest. The transfer and the wait for a
/// place in the decode pool so show as the gap to the second token, not in TTFT. The prefill engine's blocks
/// are freed when the prompt is computed: real engines hold them until the transfer is over, which matters
/// only when prefill is short of memory.
#[derive(Debug)]
pub struct Pools {
    prefill: Cluster<BatchingEngine>,
    decode: Cluster<BatchingEngine>,
    transfer: KvTransfer,
    /// Jobs in the prefill pool that continue in the other.
    in_prefill: HashMap<JobId, Job>,
    moving: BinaryHeap<Reverse<(Timestamp, JobId)>>,
    moved: HashMap<JobId, Job>,
    link_free: Timestamp,
    /// Jobs that continued after the prefill pool, which had counted them as finished.
    sent: u64,
    fresh: Vec<TokenEvent>,
}

impl Pools {
    /// Makes two pools, with the rule for new jobs and the link between. Each has at least one engine. Decode engines
    /// are chosen by load.
    ///
    /// # Errors
    ///
    /// When a pool is empty.
    pub fn new(
        prefill: Vec<BatchingEngine>,
        decode: Vec<BatchingEngine>,
        rule: RoutingRule,
        transfer: KvTransfer,
    ) -> Result<Self, BadFleet> {
        Ok(Self {
            prefill: Cluster::new(prefill, rule)?,
            decode: Cluster::new(decode, RoutingRule::LeastLoaded)?,
            transfer,
            in_prefill: HashMap::new(),
            moving: BinaryHeap::new(),
            moved: HashMap::new(),
            link_free: Timestamp::ZERO,
            sent: 0,
            fresh: Vec::new(),
        })
    }

    /// Transfers the rest of the job after the first token.
    fn send(&mut self, now: Timestamp, job: Job) {
        self.sent += 1;
        self.link_free = self.link_free.max(now).after(self.transfer.time(job.input_tokens));
        self.moving.push(Reverse((self.link_free, job.id)));
        self.moved.insert(job.id, job);
    }

    fn receive(&mut self, now: Timestamp) {
        while let Some(&Reverse((at, id))) = self.moving.peek()
            && at <= now
        {
            self.moving.pop();
            // A cancelled job has no entry.
            let Some(job) = self.moved.remove(&id) else { continue };
            let taken = self.decode.route(job, |engine, job| engine.submit_prefilled(at, job));
            debug_assert!(taken.is_ok(), "submit checked the job against every decode engine");
        }
    }

    /// Processes what is due at `now`.
    fn pass(&mut self, now: Timestamp, events: &mut Vec<TokenEvent>) {
        let mut fresh = std::mem::take(&mut self.fresh);
        self.prefill.advance(now, &mut fresh);
        for mut event in fresh.drain(..) {
            if let Some(job) = self.in_prefill.remove(&event.job) {
                event.finished = false;
                self.send(event.at, job);
            }
            events.push(event);
        }
        self.fresh = fresh;
        self.receive(now);
        self.decode.advance(now, events);
    }
}

impl SimulatedServer for Pools {
    fn submit(&mut self, now: Timestamp, job: Job) -> Result<(), Reject> {
        for engine in self.decode.replicas() {
            engine.check(&job)?;
        }
        // The prefill engine makes one token only.
        self.prefill.submit(now, Job { output_tokens: job.output_tokens.min(1), ..job.clone() })?;
        if job.output_tokens > 1 {
            self.in_prefill.insert(job.id, job);
        }
        Ok(())
    }

    fn cancel(&mut self, now: Timestamp, id: JobId) -> bool {
        let prefilling = self.prefill.cancel(now, id);
        self.in_prefill.remove(&id);
        let moving = self.moved.remove(&id).is_some();
        prefilling || moving || self.decode.cancel(now, id)
    }

    fn next_event(&self) -> Option<Timestamp> {
        let arriving = self.moving.peek().map(|moving| moving.0.0);
        [self.prefill.next_event(), arriving, self.decode.next_event()].into_iter().flatten().min()
    }

    fn advance(&mut self, now: Timestamp, events: &mut Vec<TokenEvent>) {
        // One moment at a time, so that each pool sees the other's events in order even when the driver is late.
        while let Some(due) = self.next_event()
            && due <= now
        {
            self.pass(due, events);
        }
    }

    /// Both pools as one; a job counts as one success and one prompt.
    fn gauges(&self) -> ServerGauges {
        let engines = self.prefill.replicas().iter().chain(self.decode.replicas());
        let all = ServerGauges::of_all(engines.map(SimulatedServer::gauges));
        ServerGauges {
            request_success: all.request_success - self.sent,
            num_requests_waiting: all.num_requests_waiting + self.moved.len() as u64,
            ..all
        }
    }

    fn effort(&self) -> WorkTotals {
        let decoding = self.decode.replicas().iter().map(SimulatedServer::effort);
        decoding.fold(self.prefill.effort(), WorkTotals::add)
    }

    fn decode_effort(&self) -> WorkTotals {
        self.decode.effort()
    }

    fn reset_prefix_cache(&mut self) {
        self.prefill.reset_prefix_cache();
        self.decode.reset_prefix_cache();
    }

    fn jobs(&self) -> u64 {
        self.prefill.jobs() + self.moved.len() as u64 + self.decode.jobs()
    }
}
