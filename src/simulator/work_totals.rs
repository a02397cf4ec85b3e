//! Work of a server, summed over its steps.

use std::ops::{Add, Sub};
use std::time::Duration;

use crate::simulator::step_time::model::StepTime;
use crate::simulator::step_time::roofline::StepWork;

/// Work of a server so far, summed over its steps and its engines.
///
/// The difference of two such sums is what it did in between.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WorkTotals {
    /// Engines with steps of their own; 0 for a server without steps.
    pub engines: u32,
    /// Forward passes.
    pub steps: u64,
    /// Forward passes bound by compute.
    pub compute_bound_steps: u64,
    /// Sequences in the passes, summed.
    pub sequences: u64,
    /// Time in passes, seconds.
    pub busy_s: f64,
    /// Part of it bound by compute, seconds.
    pub compute_s: f64,
    /// Part of it bound by memory reads, seconds.
    pub memory_s: f64,
    /// Part of it in all-reduces, seconds.
    pub communication_s: f64,
    /// Share of the KV blocks held, times seconds.
    pub kv_held_s: f64,
    /// Time in passes while a request waited for free KV blocks, seconds.
    pub short_of_blocks_s: f64,
    /// Time while one waited for a slot in the batch (`max_num_seqs`), seconds.
    pub short_of_slots_s: f64,
    /// Time while one waited for room in the step (`max_num_batched_tokens`), seconds.
    pub short_of_tokens_s: f64,
}

/// Reason why the first waiting request did not enter a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shortage {
    /// Too few KV blocks were free.
    Blocks,
    /// Every slot was taken.
    Slots,
    /// The step's token budget was used up.
    Tokens,
}

impl WorkTotals {
    /// Adds a step of `time`.
    pub(super) fn add_step(
        &mut self,
        model: &StepTime,
        work: &StepWork,
        time: Duration,
        kv_usage: f64,
        shortage: Option<Shortage>,
    ) {
        let seconds = time.as_secs_f64();
        self.steps += 1;
        self.sequences += u64::from(work.sequences);
        self.busy_s += seconds;
        self.kv_held_s += kv_usage * seconds;
        // A measured table does not say what its time went into.
        if let StepTime::Roofline(roofline) = model {
            let parts = roofline.parts(work);
            self.communication_s += parts.communication;
            if parts.compute > parts.memory {
                self.compute_bound_steps += 1;
                self.compute_s += parts.compute;
            } else {
                self.memory_s += parts.memory;
            }
        }
        match shortage {
            Some(Shortage::Blocks) => self.short_of_blocks_s += seconds,
            Some(Shortage::Slots) => self.short_of_slots_s += seconds,
            Some(Shortage::Tokens) => self.short_of_tokens_s += seconds,
            None => {}
        }
    }

    /// Combines every figure with that of `other`; takes the larger number of engines.
    fn with(self, other: Self, counts: fn(u64, u64) -> u64, seconds: fn(f64, f64) -> f64) -> Self {
        Self {
            engines: self.engines.max(other.engines),
            steps: counts(self.steps, other.steps),
            compute_bound_steps: counts(self.compute_bound_steps, other.compute_bound_steps),
            sequences: counts(self.sequences, other.sequences),
            busy_s: seconds(self.busy_s, other.busy_s),
            compute_s: seconds(self.compute_s, other.compute_s),
            memory_s: seconds(self.memory_s, other.memory_s),
            communication_s: seconds(self.communication_s, other.communication_s),
            kv_held_s: seconds(self.kv_held_s, other.kv_held_s),
            short_of_blocks_s: seconds(self.short_of_blocks_s, other.short_of_blocks_s),
            short_of_slots_s: seconds(self.short_of_slots_s, other.short_of_slots_s),
            short_of_tokens_s: seconds(self.short_of_tokens_s, other.short_of_tokens_s),
        }
    }
}

/// Two servers together.
impl Add for WorkTotals {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let engines = self.engines + other.engines;
        Self { engines, ..self.with(other, u64::wrapping_add, f64::add) }
    }
}

/// Work since `earlier`.
impl Sub for WorkTotals {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        self.with(earlier, u64::saturating_sub, f64::sub)
    }
}
