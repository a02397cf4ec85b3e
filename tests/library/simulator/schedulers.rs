//! Schedulers and caches of others, through the doors that vLLM's go through.

use std::collections::VecDeque;

use skyline::clock::Timestamp;
use skyline::simulator::{
    BatchingConfig, BatchingEngine, EngineModel, Fleet, Job, JobEnd, JobId, PlannedStep, PrefixCache, PrefixHashes,
    SchedulerKind, Sequence, ServerGauges, SimulatedServer, StepScheduler, StepWork, VllmScheduler,
};

use super::drive::{jobs, ms, simulate, ten_ms_engine};

/// A scheduler that serves one job at a time, first come first served, and computes a prompt in one step.
#[derive(Debug, Default)]
struct OneAtATime(VecDeque<Sequence>);

impl OneAtATime {
    /// Its row.
    const KIND: SchedulerKind = SchedulerKind { name: "one at a time", make: |_| Box::new(Self::default()) };
}

impl StepScheduler for OneAtATime {
    fn enqueue(&mut self, job: Job, emitted: u32, computed: u32) {
        self.0.push_back(Sequence { job, computed, emitted, ..Sequence::default() });
    }

    fn remove(&mut self, id: JobId) -> bool {
        let before = self.0.len();
        self.0.retain(|sequence| sequence.job.id != id);
        before > self.0.len()
    }

    fn plan(&mut self, now: Timestamp) -> Option<PlannedStep> {
        let first = self.0.front_mut()?;
        let mut work = StepWork::default();
        let new = first.job.input_tokens + first.emitted - first.computed;
        work.add(first.computed, new);
        first.computed += new;
        first.scheduled.get_or_insert(now);
        Some(PlannedStep { work, place: 0, kv_usage: 0.0, shortage: None })
    }

    fn end_step(&mut self, _place: usize, emit: &mut dyn FnMut(&mut Sequence, u32) -> u32) {
        if let Some(first) = self.0.front_mut() {
            emit(first, 0);
        }
        self.0.retain(|sequence| !sequence.is_finished());
    }

    fn capacity_tokens(&self) -> u64 {
        1_000
    }

    fn jobs(&self) -> u64 {
        self.0.len() as u64
    }

    fn gauges(&self) -> ServerGauges {
        ServerGauges { num_requests_waiting: self.jobs(), ..ServerGauges::default() }
    }

    fn cached_tokens(&self, _job: &Job) -> u32 {
        0
    }

    fn forget_prefixes(&mut self) {}
}

/// Returns when each of three jobs of two tokens is answered by a fleet of one, milliseconds. Two come at once.
fn ends(scheduler: SchedulerKind) -> Vec<(u64, f64)> {
    let engine = EngineModel::Batching(Box::new(BatchingConfig { scheduler, ..ten_ms_engine(100) }));
    let mut server = Fleet::of_one(engine, 0).server().unwrap();
    let mut ends = Vec::new();
    simulate(&mut *server, jobs(&[(0, 40, 2), (0, 40, 2), (10, 40, 2)]), |history| {
        assert_eq!(history.end, JobEnd::Finished);
        ends.push((history.job.0, ms(history.chunks.last_at().unwrap())));
    });
    ends
}

#[test]
fn a_fleet_takes_any_scheduler() {
    assert_eq!(ends(SchedulerKind::VLLM), [(0, 20.0), (1, 20.0), (2, 30.0)]);
    assert_eq!(ends(OneAtATime::KIND), [(0, 20.0), (1, 40.0), (2, 60.0)]);
}

/// A cache that finds every prefix, and has no end.
#[derive(Debug)]
struct Boundless;

impl PrefixCache for Boundless {
    fn total(&self) -> u64 {
        1 << 20
    }

    fn free(&self) -> u64 {
        1 << 20
    }

    fn take(&mut self, _count: u64) -> bool {
        true
    }

    fn release(&mut self, _hashes: &[u64], _full: u32, _begun: u32) {}

    fn found(&self, hashes: &[u64]) -> u32 {
        hashes.len() as u32
    }
}

#[test]
fn a_scheduler_takes_any_cache() {
    let scheduler = SchedulerKind {
        name: "vllm, boundless",
        make: |config| Box::new(VllmScheduler::new(config.limits, Boundless, 16, 0)),
    };
    let mut engine = BatchingEngine::new(BatchingConfig { scheduler, ..ten_ms_engine(100) });
    let prefix = PrefixHashes::of_group(1, 3);
    engine.submit(Timestamp::ZERO, Job { prefix, ..Job::new(JobId(1), 50, 1) }).unwrap();
    let step = engine.begin_step(Timestamp::ZERO).unwrap();
    assert_eq!(step.work.prefill_tokens, 2, "48 of 50 tokens are found");
    assert_eq!(engine.gauges().prefix_cache_hits, 48);
}
