//! The interface of schedulers: what an engine asks of one between two steps.

use super::sequence::Sequence;
use crate::clock::Timestamp;
use crate::simulator::job::{Job, JobId};
use crate::simulator::server::ServerGauges;
use crate::simulator::step_time::roofline::StepWork;
use crate::simulator::work_totals::Shortage;

/// A scheduler, which holds an engine's jobs and decides what each step computes of them.
///
/// The engine knows how long a step takes and how many drafts are accepted; the scheduler knows the queue, the
/// running set and the memory of keys and values.
pub trait StepScheduler {
    /// Adds a job that can fit to the queue. `emitted` tokens of its answer are out already, and the KV of `computed`
    /// tokens comes with it.
    fn enqueue(&mut self, job: Job, emitted: u32, computed: u32);

    /// Removes a job and frees its memory; returns whether it was there.
    fn remove(&mut self, id: JobId) -> bool;

    /// Plans the next step; `None` where it would have no work. At most one step runs while another is planned.
    fn plan(&mut self, now: Timestamp) -> Option<PlannedStep>;

    /// Ends the step at `place` for every sequence that it brings a token to. `emit` gets the sequence and the number
    /// of drafts, and returns how many of these are accepted. Then removes every sequence whose answer is complete.
    fn end_step(&mut self, place: usize, emit: impl FnMut(&mut Sequence, u32) -> u32);

    /// Tokens whose keys and values fit the memory.
    fn capacity_tokens(&self) -> u64;

    /// Jobs in it, waiting and running.
    fn jobs(&self) -> u64;

    /// Counters of queue, memory, prefix cache and preemptions; the engine counts tokens and answers itself.
    fn gauges(&self) -> ServerGauges;

    /// Prompt tokens of the job in the prefix cache.
    fn cached_tokens(&self, job: &Job) -> u32;

    /// Forgets all cached prefixes that no job uses.
    fn forget_prefixes(&mut self);
}

/// A step that is planned and not yet begun.
#[derive(Clone, Copy, Debug)]
pub struct PlannedStep {
    /// Its work.
    pub work: StepWork,
    /// Place among the two steps that can be planned at a time. It is as in [`Sequence::due`].
    pub place: usize,
    /// Share of the KV blocks held by a sequence.
    pub kv_usage: f64,
    /// The shortage that keeps the first waiting request out of it.
    pub shortage: Option<Shortage>,
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::simulator::engine::batching::BatchingEngine;
    use crate::simulator::engine::kv::PrefixCache;
    use crate::simulator::engine::scheduler::VllmScheduler;
    use crate::simulator::job::PrefixHashes;
    use crate::simulator::server::SimulatedServer;
    use crate::simulator::{BatchingConfig, SchedulerLimits, StepTable, StepTime};

    /// A scheduler that serves one job at a time. It computes a prompt in one step.
    #[derive(Default)]
    struct OneAtATime(VecDeque<Sequence>);

    impl StepScheduler for OneAtATime {
        fn enqueue(&mut self, job: Job, emitted: u32, computed: u32) {
            self.0.push_back(Sequence { computed, emitted, ..Sequence::new(job, (0, 0)) });
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

        fn end_step(&mut self, _place: usize, mut emit: impl FnMut(&mut Sequence, u32) -> u32) {
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

    /// A cache that finds every prefix, and has no end.
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

    /// Steps of 10 ms.
    fn config() -> BatchingConfig {
        let deployment = crate::simulator::Deployment::new("h100".parse().unwrap(), "llama-3.1-8b".parse().unwrap());
        let limits = SchedulerLimits::vllm(&deployment.hardware, 4_096);
        let table = StepTable::new(&[(1, std::time::Duration::from_millis(10))], None).unwrap();
        BatchingConfig {
            step_time: StepTime::Table(table),
            limits: SchedulerLimits { async_scheduling: false, ..limits },
            ..BatchingConfig::vllm(&deployment, crate::simulator::Efficiency::default()).unwrap()
        }
    }

    /// Returns when each of two jobs of two tokens is answered, milliseconds. Both come at once.
    fn ends<S: StepScheduler>(mut engine: BatchingEngine<S>) -> Vec<u64> {
        for id in [1, 2] {
            engine.submit(Timestamp::ZERO, Job::new(JobId(id), 40, 2)).unwrap();
        }
        let mut events = Vec::new();
        while let Some(at) = engine.next_event() {
            engine.advance(at, &mut events);
        }
        events.iter().filter(|event| event.finished).map(|event| event.at.as_nanos() / 1_000_000).collect()
    }

    #[test]
    fn an_engine_takes_any_scheduler() {
        assert_eq!(ends(BatchingEngine::new(config())), [20, 20]);
        assert_eq!(ends(BatchingEngine::with_scheduler(OneAtATime::default(), config())), [20, 40]);
    }

    #[test]
    fn a_scheduler_takes_any_cache() {
        let scheduler = VllmScheduler::new(config().limits, Boundless, 16, 0);
        let mut engine = BatchingEngine::with_scheduler(scheduler, config());
        let prefix = PrefixHashes::of_group(1, 3);
        engine.submit(Timestamp::ZERO, Job { prefix, ..Job::new(JobId(1), 50, 1) }).unwrap();
        let step = engine.begin_step(Timestamp::ZERO).unwrap();
        assert_eq!(step.work.prefill_tokens, 2, "48 of 50 tokens are found");
        assert_eq!(engine.gauges().prefix_cache_hits, 48);
    }
}
