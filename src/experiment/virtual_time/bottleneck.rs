//! Says what holds a simulated deployment back, with the evidence.

use serde::Serialize;

use super::run::SimulatedRun;
use crate::record::{Outcome, PlanFacts};
use crate::simulator::WorkTotals;
use crate::units::{count, percent, three_digits};

/// Limit that holds a deployment back, with what would help.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bottleneck {
    /// Resource that there is too little of.
    pub limit: Limit,
    /// The reason in a sentence.
    pub sentence: String,
    /// Advice on what would help.
    pub cure: String,
    /// Evidence from which it is concluded.
    pub evidence: EngineEvidence,
}

/// Resource that there is too little of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// KV cache: requests wait, or lose their place, for want of blocks.
    KvCache,
    /// Slots in the batch (`max_num_seqs`).
    BatchSlots,
    /// Tokens in a step (`max_num_batched_tokens`): prompts come faster than they are computed.
    Prefill,
    /// Room in the decode pool: answers that have begun wait there to go on.
    DecodePool,
    /// The steps rather than the queue. Computing takes the largest part of the steps.
    Compute,
    /// The steps rather than the queue. Reading memory takes the largest part of the steps.
    Memory,
    /// The steps rather than the queue. All-reduces between accelerators take the largest part of them.
    Communication,
    /// The steps rather than the queue. Fixed costs take the largest part of them.
    Overhead,
    /// Slots of a plain server.
    Slots,
    /// Nothing that is known. It is a server of given delays or step times where queueing is the lesser part.
    Nothing,
    /// No request could be served at all: each was refused.
    Refused,
}

/// Share of TTFT from which on queueing is what a request waits for.
const QUEUEING: f64 = 0.5;
/// The cure for a shortage of KV blocks in compute-bound steps.
const COMPUTING_ALREADY: &str = "steps are compute-bound already, so that more memory alone would move the queue and \
    not the rate: add replicas, or take an accelerator with more FLOP/s";

impl Bottleneck {
    /// Finds the bottleneck of the run's server during the window.
    pub(in crate::experiment) fn new(executed: &SimulatedRun, plan: &PlanFacts) -> Self {
        let evidence = EngineEvidence::new(executed, plan);
        // Without any token, all requests are still waiting.
        let queueing = evidence.queue_share_of_ttft.unwrap_or(1.0) >= QUEUEING;
        let answers_wait = evidence.decode_waiting_share.is_some_and(|share| share >= MOSTLY);
        let steps = || if answers_wait { Limit::DecodePool } else { evidence.largest_part() };
        let limit = match (queueing, executed.effort.engines) {
            _ if executed.records.iter().all(|record| matches!(record.outcome, Outcome::Failed(_))) => Limit::Refused,
            (true, 0) => Limit::Slots,
            (true, _) => evidence.shortage().unwrap_or_else(steps),
            (false, 0) => Limit::Nothing,
            (false, _) => steps(),
        };
        let (what, cure) = limit.words();
        // More memory would let more sequences in, and each step would take as much longer.
        let computing = evidence.compute_share.is_some_and(|share| share >= MOSTLY);
        let cure = if limit == Limit::KvCache && computing { COMPUTING_ALREADY } else { cure };
        let sentence = format!("{what}: {}", evidence.sentence(limit));
        Self { limit, sentence, cure: cure.to_owned(), evidence }
    }
}

impl Limit {
    /// The bottleneck and its cure, in words.
    pub(in crate::experiment) const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::KvCache => (
                "requests wait for room in the KV cache",
                "give it room: more or larger accelerators, fewer bits for the weights, shorter prompts, or fewer \
                 slots (--max-num-seqs) so that no request is preempted",
            ),
            Self::BatchSlots => (
                "requests wait for slots in the batch (max_num_seqs)",
                "raise --max-num-seqs for as long as the KV cache holds the sequences, or add replicas",
            ),
            Self::Prefill => (
                "requests wait for prefill: prompts arrive faster than they are computed",
                "add replicas or a prefill pool, take an accelerator with more FLOP/s, or share prefixes; a larger \
                 --max-num-batched-tokens helps TTFT a little and costs TPOT",
            ),
            Self::DecodePool => (
                "answers that have begun wait for room in the decode pool, which shows in TPOT",
                "give it more of the servers (--pools), or fewer bits to the KV cache or the weights",
            ),
            Self::Compute => (
                "computing takes the largest part of the steps; requests wait little in the queue",
                "TTFT falls with more FLOP/s: tensor parallelism, fp8, a larger accelerator",
            ),
            Self::Memory => (
                "reading memory takes the largest part of the steps; requests wait little in the queue",
                "TPOT falls with fewer bytes or more bandwidth: fewer bits for the weights, tensor parallelism, \
                 speculation; a larger batch costs little",
            ),
            Self::Communication => (
                "all-reduces take the largest part of the steps; requests wait little in the queue",
                "TPOT falls with fewer accelerators to a model (--tensor-parallel) or faster links",
            ),
            Self::Overhead => (
                "the fixed cost of every step takes the largest part of the steps; requests wait little in the queue",
                "the model is small for this hardware: serve more requests on less of it",
            ),
            Self::Slots => ("requests wait for slots of the plain server", "give it more slots or replicas"),
            Self::Nothing => (
                "requests hardly wait; delays and step times are those that were given",
                "only faster servers would do better at this rate",
            ),
            Self::Refused => (
                "every request was refused",
                "see the failures above; most often prompts and answers are longer than --max-model-len, or than what \
                 the KV cache holds",
            ),
        }
    }
}

/// Figures that the conclusion rests on. They are those of the steps of all engines during the window, and of the
/// requests of the window. Shares lie between 0 and 1; figures that a server without steps does not have are absent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct EngineEvidence {
    /// Forward passes.
    pub steps: u64,
    /// Sequences in a pass, on average.
    pub mean_batch: Option<f64>,
    /// Share of the window in which an engine was in a pass. It is averaged over the engines.
    pub busy_share: Option<f64>,
    /// Share of the passes that took longer to compute than to read from memory.
    pub compute_bound_steps_share: Option<f64>,
    /// Share of the passes' time that computing decided. Absent for measured step times, like the next three.
    pub compute_share: Option<f64>,
    /// Share of it that reading memory decided.
    pub memory_share: Option<f64>,
    /// Share of it spent in all-reduces.
    pub communication_share: Option<f64>,
    /// Share of it spent on scheduling, launching, sampling and drafting.
    pub overhead_share: Option<f64>,
    /// Share of the KV blocks held, averaged over the passes' time.
    pub kv_usage: Option<f64>,
    /// Share of the passes' time in which a request waited for KV blocks.
    pub short_of_blocks_share: Option<f64>,
    /// Share of the passes' time in which a request waited for a batch slot.
    pub short_of_slots_share: Option<f64>,
    /// Share of the passes' time in which a request waited for room in the step.
    pub short_of_tokens_share: Option<f64>,
    /// Share of the decode pool's passes' time in which a request waited there. Absent without pools.
    pub decode_waiting_share: Option<f64>,
    /// Share of the time to first token that was spent in the server's queue. It is summed over the window's requests
    /// that got one.
    pub queue_share_of_ttft: Option<f64>,
    /// Sequences that lost their blocks to others and were computed again, over the whole run.
    pub preemptions: u64,
    /// Prefix-cache hit rate by tokens, over the whole run; absent without lookups.
    pub prefix_hit_rate: Option<f64>,
}

/// Share of a step's time from which on something decides it.
const MOSTLY: f64 = 0.5;

impl EngineEvidence {
    fn new(executed: &SimulatedRun, plan: &PlanFacts) -> Self {
        let effort = &executed.effort;
        let ratio = |part: f64, whole: f64| (whole > 0.0).then(|| part / whole);
        let of_busy = |part: f64| ratio(part, effort.busy_s);
        let known = effort.compute_s + effort.memory_s > 0.0;
        let of_parts = |part: f64| of_busy(part).filter(|_| known);
        let overhead = effort.busy_s - effort.compute_s - effort.memory_s - effort.communication_s;
        let length = executed.answers_end.since(plan.window_start);
        let window = length.as_secs_f64() * f64::from(effort.engines);
        let WorkTotals { short_of_blocks_s, short_of_slots_s, short_of_tokens_s, .. } = executed.decode_effort;
        let waiting = short_of_blocks_s + short_of_slots_s + short_of_tokens_s;
        let gauges = &executed.gauges;
        Self {
            steps: effort.steps,
            mean_batch: ratio(effort.sequences as f64, effort.steps as f64),
            busy_share: ratio(effort.busy_s, window).map(|share| share.min(1.0)),
            compute_bound_steps_share: ratio(effort.compute_bound_steps as f64, effort.steps as f64).filter(|_| known),
            compute_share: of_parts(effort.compute_s),
            memory_share: of_parts(effort.memory_s),
            communication_share: of_parts(effort.communication_s),
            overhead_share: of_parts(overhead.max(0.0)),
            kv_usage: of_busy(effort.kv_held_s),
            short_of_blocks_share: of_busy(effort.short_of_blocks_s),
            short_of_slots_share: of_busy(effort.short_of_slots_s),
            short_of_tokens_share: of_busy(effort.short_of_tokens_s),
            decode_waiting_share: ratio(waiting, executed.decode_effort.busy_s),
            queue_share_of_ttft: ratio(executed.queued_s, executed.to_first_token_s),
            preemptions: gauges.num_preemptions,
            prefix_hit_rate: ratio(gauges.prefix_cache_hits as f64, gauges.prefix_cache_queries as f64),
        }
    }

    /// Returns the resource that requests waited for most. It is `None` when they only waited for the end of a step.
    fn shortage(&self) -> Option<Limit> {
        let above_zero = |share: Option<f64>| share.filter(|share| *share > 0.0);
        largest([
            (above_zero(self.short_of_blocks_share), Limit::KvCache),
            (above_zero(self.short_of_slots_share), Limit::BatchSlots),
            (above_zero(self.short_of_tokens_share), Limit::Prefill),
        ])
    }

    /// The largest part of a step's time.
    fn largest_part(&self) -> Limit {
        let largest = largest([
            (self.compute_share, Limit::Compute),
            (self.memory_share, Limit::Memory),
            (self.communication_share, Limit::Communication),
            (self.overhead_share, Limit::Overhead),
        ]);
        largest.unwrap_or(Limit::Nothing)
    }

    /// The figures behind a limit, the strongest evidence first.
    fn sentence(&self, limit: Limit) -> String {
        let above_zero = |share: Option<f64>| share.filter(|share| *share > 0.0);
        let waited = match limit {
            Limit::KvCache => (self.short_of_blocks_share, "of the time a request waits for KV blocks"),
            Limit::BatchSlots => (self.short_of_slots_share, "of the time a request waits for a slot"),
            Limit::Prefill => (self.short_of_tokens_share, "of the time a request waits for room in a step"),
            Limit::DecodePool => {
                (self.decode_waiting_share, "of the decode pool's time a request waits to continue there")
            }
            _ => (None, ""),
        };
        let shares = [
            waited,
            (self.queue_share_of_ttft, "of the time to first token is queueing"),
            (self.busy_share, "of the time the engines are busy"),
            (self.memory_share, "of that reading memory"),
            (self.compute_share, "computing"),
            (above_zero(self.communication_share), "in all-reduces"),
            (self.overhead_share, "overhead"),
            (self.kv_usage, "of the KV cache held on average"),
            (above_zero(self.prefix_hit_rate), "of the prompt tokens found in the prefix cache"),
        ];
        let shares = shares.into_iter().filter_map(|(share, what)| Some(format!("{} {what}", percent(share?))));
        let batch = self.mean_batch.map(|batch| format!("{} sequences in a step", three_digits(batch)));
        let preempted = (self.steps > 0).then(|| format!("{} preemptions", count(self.preemptions)));
        shares.chain(batch).chain(preempted).collect::<Vec<_>>().join(", ")
    }
}

/// The limit of the largest known share.
fn largest<const N: usize>(shares: [(Option<f64>, Limit); N]) -> Option<Limit> {
    let known = shares.into_iter().filter_map(|(share, limit)| Some((share?, limit)));
    known.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, limit)| limit)
}
