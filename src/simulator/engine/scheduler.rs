//! vLLM's V1 scheduler, which decides what goes into each step.

use std::collections::BTreeMap;
use std::fmt::Debug;

use super::kv::PrefixCache;
use super::sequence::Sequence;
use super::step_scheduler::{PlannedStep, StepScheduler};
use crate::clock::Timestamp;
use crate::simulator::job::{Job, JobId, PrefixHashes};
use crate::simulator::limits::{SchedulerLimits, SchedulingPolicy};
use crate::simulator::server::ServerGauges;
use crate::simulator::step_time::roofline::StepWork;
use crate::simulator::work_totals::Shortage;

/// The waiting queue, the running set and their blocks.
///
/// Each step has a token budget. Running sequences come first, in the order of admission: one token each, or the next
/// chunk of a prompt. Then waiting ones, in order, while budget, slots and blocks last; one that does not fit blocks
/// those behind it. A sequence is admitted only when all its known tokens fit the free blocks (vLLM's
/// `scheduler_reserve_full_isl`). When a running sequence finds no block, the one admitted last (under `Priority`:
/// the least urgent, then the latest) is preempted: it loses its blocks, returns to its position in the queue and is
/// recomputed later; nothing new is admitted in that step.
///
/// With [`SchedulerLimits::async_scheduling`] a step is planned while the one before it runs, whose tokens it takes for
/// granted, as vLLM's `AsyncScheduler` does: a sequence that the running step completes is not in the planned one, but
/// keeps its slot and its blocks until the running step ends.
///
/// Traces of vLLM 0.32's own schedulers verify this step by step (`tests/library/simulator/against_vllm.rs`).
#[derive(Clone, Debug)]
pub struct VllmScheduler<C> {
    limits: SchedulerLimits,
    block_size: u32,
    /// Draft tokens for each sequence that decodes.
    drafts: u32,
    pool: C,
    running: Vec<Sequence>,
    waiting: BTreeMap<(i32, u64), Sequence>,
    arrivals: u64,
    /// Prompt tokens looked up in the prefix cache, those found there, and preemptions.
    counts: ServerGauges,
    /// Number, 0 or 1, of the step to be planned next. Two steps can be planned at a time.
    next: usize,
    /// Preempted sequences that the running step may bring tokens to.
    preempted: Vec<(i32, u64)>,
}

impl<C: PrefixCache + Debug + Send> StepScheduler for VllmScheduler<C> {
    fn enqueue(&mut self, mut job: Job, emitted: u32, computed: u32) {
        let urgency = match self.limits.policy {
            SchedulingPolicy::Fcfs => 0,
            SchedulingPolicy::Priority => job.priority,
        };
        if !self.limits.prefix_caching {
            job.prefix = PrefixHashes::default();
        }
        let turn = (urgency, self.arrivals);
        self.arrivals += 1;
        self.waiting.insert(turn, Sequence { job, turn, computed, emitted, ..Sequence::default() });
    }

    fn remove(&mut self, id: JobId) -> bool {
        if let Some(place) = self.running.iter().position(|sequence| sequence.job.id == id) {
            let sequence = self.running.remove(place);
            release(&sequence, self.block_size, &mut self.pool);
            return true;
        }
        let turn = self.waiting.values().find(|sequence| sequence.job.id == id).map(|sequence| sequence.turn);
        turn.is_some_and(|turn| self.waiting.remove(&turn).is_some())
    }

    fn plan(&mut self, now: Timestamp) -> Option<PlannedStep> {
        let mut budget = self.limits.budget();
        let shortage =
            if self.continue_running(&mut budget) { self.admit_waiting(&mut budget, now) } else { Shortage::Blocks };
        let shortage = (!self.waiting.is_empty()).then_some(shortage);
        let mut work = StepWork::default();
        for sequence in self.running.iter_mut().filter(|sequence| sequence.new > 0) {
            work.add(sequence.computed, sequence.new);
            if !sequence.decodes() {
                work.prefill_tokens += u64::from(sequence.new);
            }
            work.draft_tokens = work.draft_tokens.max(sequence.drafts);
            // An incomplete prompt produces no token.
            let yields = sequence.new >= sequence.pending();
            sequence.computed += sequence.new;
            if yields {
                sequence.due[self.next] = 1 + sequence.drafts;
            }
            sequence.new = 0;
            sequence.drafts = 0;
        }
        let (place, kv_usage) = (self.next, self.kv_usage());
        let has_work = work.sequences > 0;
        self.next = if has_work { 1 - place } else { place };
        has_work.then_some(PlannedStep { work, place, kv_usage, shortage })
    }

    fn end_step(&mut self, place: usize, emit: &mut dyn FnMut(&mut Sequence, u32) -> u32) {
        let mut any_finished = false;
        for sequence in self.running.iter_mut().filter(|sequence| sequence.due[place] > 0) {
            let drafts = std::mem::take(&mut sequence.due[place]) - 1;
            sequence.computed -= drafts - emit(sequence, drafts);
            if self.limits.async_scheduling {
                name_full_blocks(sequence, self.block_size, &mut self.pool);
            }
            any_finished |= sequence.is_finished();
        }
        if any_finished {
            self.retire_finished();
        }
        for turn in std::mem::take(&mut self.preempted) {
            let Some(sequence) = self.waiting.get_mut(&turn).filter(|sequence| sequence.due[place] > 0) else {
                continue;
            };
            let drafts = std::mem::take(&mut sequence.due[place]) - 1;
            emit(sequence, drafts);
            if sequence.is_finished() {
                self.waiting.remove(&turn);
            }
        }
    }

    fn capacity_tokens(&self) -> u64 {
        self.pool.total() * u64::from(self.block_size)
    }

    fn jobs(&self) -> u64 {
        (self.running.len() + self.waiting.len()) as u64
    }

    fn gauges(&self) -> ServerGauges {
        ServerGauges {
            num_requests_running: self.running.len() as u64,
            num_requests_waiting: self.waiting.len() as u64,
            kv_cache_usage_perc: self.kv_usage(),
            ..self.counts
        }
    }

    /// Counts tokens of cached blocks. At least one token is always computed: the first step needs the last one's
    /// logits.
    fn cached_tokens(&self, job: &Job) -> u32 {
        self.found(job, job.input_tokens) * self.block_size
    }

    fn forget_prefixes(&mut self) {
        self.pool.forget();
    }
}

impl<C: PrefixCache> VllmScheduler<C> {
    /// A scheduler without jobs, over these blocks of `block_size` tokens each.
    pub fn new(limits: SchedulerLimits, pool: C, block_size: u32, drafts: u32) -> Self {
        // Without a slot or a token nothing would ever move.
        let limits = SchedulerLimits {
            max_num_seqs: limits.max_num_seqs.max(1),
            max_num_batched_tokens: limits.max_num_batched_tokens.max(1),
            ..limits
        };
        Self {
            limits,
            block_size: block_size.max(1),
            drafts,
            pool,
            running: Vec::new(),
            waiting: BTreeMap::new(),
            arrivals: 0,
            counts: ServerGauges::default(),
            next: 0,
            preempted: Vec::new(),
        }
    }

    /// Cached leading blocks of a job's `known` tokens.
    fn found(&self, job: &Job, known: u32) -> u32 {
        let hashes = job.prefix.hashes();
        let findable = hashes.len().min((known.saturating_sub(1) / self.block_size) as usize);
        self.pool.found(&hashes[..findable])
    }

    /// Blocks that hold `tokens` tokens.
    fn blocks(&self, tokens: u32) -> u64 {
        u64::from(tokens.div_ceil(self.block_size))
    }

    /// Share of the blocks held by a sequence.
    fn kv_usage(&self) -> f64 {
        1.0 - self.pool.free() as f64 / self.pool.total().max(1) as f64
    }

    /// Gives the running sequences their tokens; returns whether none was preempted.
    fn continue_running(&mut self, budget: &mut u32) -> bool {
        let mut undisturbed = true;
        let mut place = 0;
        while place < self.running.len() && *budget > 0 {
            let sequence = &self.running[place];
            if sequence.will_finish() {
                place += 1;
                continue;
            }
            let pending = sequence.pending();
            let drafts = if sequence.decodes() {
                // A draft past the end of the answer would be discarded.
                let left = sequence.job.output_tokens - sequence.emitted;
                self.drafts.min(left.saturating_sub(sequence.expected() + 1)).min(*budget - 1)
            } else {
                0
            };
            let new = (pending + drafts).min(*budget);
            let wanted = self.blocks(sequence.computed + new).saturating_sub(u64::from(sequence.shared + sequence.own));
            if self.pool.take(wanted) {
                let sequence = &mut self.running[place];
                sequence.own += wanted as u32;
                sequence.new = new;
                sequence.drafts = drafts;
                name_full_blocks(sequence, self.block_size, &mut self.pool);
                *budget -= new;
                place += 1;
                continue;
            }
            undisturbed = false;
            let victim = self.victim();
            *budget += self.preempt(victim);
            if victim == place {
                break;
            }
            place -= usize::from(victim < place);
        }
        undisturbed
    }

    /// Returns the victim when blocks run out. It is the last admitted, or the least urgent, then the latest.
    fn victim(&self) -> usize {
        let last = self.running.len() - 1;
        match self.limits.policy {
            SchedulingPolicy::Fcfs => last,
            SchedulingPolicy::Priority => (0..=last).max_by_key(|&place| self.running[place].turn).unwrap_or(last),
        }
    }

    /// Preempts a running sequence back to its position in the queue. Returns its tokens of this step.
    fn preempt(&mut self, victim: usize) -> u32 {
        let mut sequence = self.running.remove(victim);
        if self.limits.prefix_caching {
            // In vLLM every full block has a hash, so a preempted sequence finds again the blocks that were not
            // reused. Here its private blocks get hashes now, made from its turn, which no other sequence has.
            let full = full_blocks(&sequence, self.block_size);
            sequence.job.prefix = sequence.job.prefix.lengthened(full, sequence.turn.1);
            name_full_blocks(&mut sequence, self.block_size, &mut self.pool);
        }
        release(&sequence, self.block_size, &mut self.pool);
        let new = sequence.new;
        (sequence.shared, sequence.own) = (0, 0);
        sequence.computed = 0;
        sequence.new = 0;
        sequence.drafts = 0;
        if sequence.expected() > 0 {
            self.preempted.push(sequence.turn);
        }
        self.counts.num_preemptions += 1;
        self.waiting.insert(sequence.turn, sequence);
        new
    }

    /// Admits waiting sequences in order until one does not fit. Returns what is short for the next.
    fn admit_waiting(&mut self, budget: &mut u32, now: Timestamp) -> Shortage {
        while *budget > 0 && self.running.len() < self.limits.max_num_seqs as usize {
            let Some(sequence) = self.waiting.values().next() else { break };
            let known = sequence.known();
            let found = if sequence.computed == 0 { self.found(&sequence.job, known) } else { 0 };
            let computed = sequence.computed.max(found * self.block_size);
            let pending = known - computed;
            if pending > *budget && !self.limits.chunked_prefill {
                return Shortage::Tokens;
            }
            let hashes = &sequence.job.prefix.hashes()[..found as usize];
            let for_all = self.blocks(known) - u64::from(found) + self.pool.idle(hashes);
            if for_all > self.pool.free() {
                return Shortage::Blocks;
            }
            let new = pending.min(*budget);
            let own = self.blocks(computed + new) - u64::from(found);
            self.pool.refer(hashes);
            let Some((_, mut sequence)) = self.waiting.pop_first() else { break };
            let taken = self.pool.take(own);
            debug_assert!(taken, "`for_all` is at least `own`, and it was free");
            if sequence.scheduled.is_none() {
                sequence.scheduled = Some(now);
                sequence.cached_tokens = found * self.block_size;
                // A job whose prompt was computed elsewhere looks nothing up.
                if self.limits.prefix_caching && sequence.emitted == 0 {
                    self.counts.prefix_cache_queries += u64::from(known);
                    self.counts.prefix_cache_hits += u64::from(sequence.cached_tokens);
                }
            }
            sequence.computed = computed;
            (sequence.shared, sequence.own) = (found, own as u32);
            sequence.new = new;
            name_full_blocks(&mut sequence, self.block_size, &mut self.pool);
            *budget -= new;
            self.running.push(sequence);
        }
        if *budget == 0 { Shortage::Tokens } else { Shortage::Slots }
    }

    /// Removes every running sequence whose answer is complete.
    fn retire_finished(&mut self) {
        self.running.retain(|sequence| {
            if sequence.is_finished() {
                release(sequence, self.block_size, &mut self.pool);
            }
            !sequence.is_finished()
        });
    }
}

/// Blocks that known tokens fill by the end of the step that is planned. Between plans, by the end of those
/// planned.
fn full_blocks(sequence: &Sequence, block_size: u32) -> u32 {
    let filled = match sequence.new {
        0 => sequence.computed.saturating_sub(sequence.expected()),
        new => sequence.computed + new,
    };
    filled.min(sequence.known()) / block_size
}

/// Returns all of a sequence's blocks.
fn release(sequence: &Sequence, block_size: u32, pool: &mut impl PrefixCache) {
    let full = full_blocks(sequence, block_size).saturating_sub(sequence.shared).min(sequence.own);
    pool.release(sequence.shared_hashes(), full, sequence.own - full);
}

/// Makes the hashed blocks that this step fills findable. The next in line finds them at once, as in vLLM: within a
/// pass each layer writes all KV before any is read.
fn name_full_blocks(sequence: &mut Sequence, block_size: u32, pool: &mut impl PrefixCache) {
    let full = full_blocks(sequence, block_size) as usize;
    let hashes = sequence.job.prefix.hashes();
    for &hash in hashes.iter().take(full).skip(sequence.shared as usize) {
        if !pool.name(hash) {
            break;
        }
        sequence.shared += 1;
        sequence.own -= 1;
    }
}
