//! The interface of schedulers: what an engine asks of one between two steps.

use std::fmt::Debug;

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
pub trait StepScheduler: Debug + Send {
    /// Adds a job that can fit to the queue. `emitted` tokens of its answer are out already, and the KV of `computed`
    /// tokens comes with it.
    fn enqueue(&mut self, job: Job, emitted: u32, computed: u32);

    /// Removes a job and frees its memory; returns whether it was there.
    fn remove(&mut self, id: JobId) -> bool;

    /// Plans the next step; `None` where it would have no work. At most one step runs while another is planned.
    fn plan(&mut self, now: Timestamp) -> Option<PlannedStep>;

    /// Ends the step at `place` for every sequence that it brings a token to. `emit` gets the sequence and the number
    /// of drafts, and returns how many of these are accepted. Then removes every sequence whose answer is complete.
    fn end_step(&mut self, place: usize, emit: &mut dyn FnMut(&mut Sequence, u32) -> u32);

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
