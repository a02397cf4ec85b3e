//! What the steps and the queue of a simulated run say of its server.

use serde::Serialize;

use super::bottleneck::Limit;
use super::virtual_run::Flown;
use crate::record::PlanFacts;
use crate::simulator::WorkTotals;
use crate::units::{count, three_digits};

/// What the conclusion rests on: the steps of all engines during the window, and the requests of the window. Shares lie
/// between 0 and 1; what a server without steps cannot tell is absent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Evidence {
    /// Forward passes.
    pub steps: u64,
    /// Sequences in a pass, on average.
    pub mean_batch: Option<f64>,
    /// Share of the window in which an engine was in a pass, averaged over the engines.
    pub busy_share: Option<f64>,
    /// Share of the passes that took longer to compute than to read from memory.
    pub compute_bound_steps_share: Option<f64>,
    /// Share of the passes' time that computing decided; absent for measured step times, like the next three.
    pub compute_share: Option<f64>,
    /// Share of it that reading memory decided.
    pub memory_share: Option<f64>,
    /// Share of it spent in all-reduces.
    pub communication_share: Option<f64>,
    /// Share of it spent on scheduling, launching, sampling and drafting.
    pub overhead_share: Option<f64>,
    /// Share of the KV blocks held, averaged over the passes' time.
    pub kv_usage: Option<f64>,
    /// Share of the passes' time in which somebody waited for KV blocks.
    pub short_of_blocks_share: Option<f64>,
    /// For a seat in the batch.
    pub short_of_seats_share: Option<f64>,
    /// For room in the step.
    pub short_of_tokens_share: Option<f64>,
    /// Share of the decode pool's passes' time in which somebody waited there; absent without pools.
    pub decode_waiting_share: Option<f64>,
    /// Share of the time to first token that was spent in the server's queue, summed over the window's requests that
    /// got one.
    pub queue_share_of_ttft: Option<f64>,
    /// Sequences that lost their blocks to others and were computed again, over the whole run.
    pub preemptions: u64,
    /// Share of the prompt tokens that the prefix cache held, over the whole run; absent where nobody looked.
    pub prefix_hit_rate: Option<f64>,
}

/// From this share of a step's time on, something decides it.
pub(super) const MOSTLY: f64 = 0.5;

impl Evidence {
    pub(super) fn of(flown: &Flown, plan: &PlanFacts) -> Self {
        let effort = &flown.effort;
        let ratio = |part: f64, whole: f64| (whole > 0.0).then(|| part / whole);
        let of_busy = |part: f64| ratio(part, effort.busy_s);
        let known = effort.compute_s + effort.memory_s > 0.0;
        let of_parts = |part: f64| of_busy(part).filter(|_| known);
        let overhead = effort.busy_s - effort.compute_s - effort.memory_s - effort.communication_s;
        let window = plan.window_end.since(plan.window_start).as_secs_f64() * f64::from(effort.engines);
        let WorkTotals { short_of_blocks_s, short_of_seats_s, short_of_tokens_s, .. } = flown.decode_effort;
        let waiting = short_of_blocks_s + short_of_seats_s + short_of_tokens_s;
        let gauges = &flown.gauges;
        Self {
            steps: effort.steps,
            mean_batch: ratio(effort.sequences as f64, effort.steps as f64),
            busy_share: ratio(effort.busy_s, window).map(|share| share.min(1.0)),
            compute_bound_steps_share: ratio(effort.compute_bound_steps as f64, effort.steps as f64)
                .filter(|_| known),
            compute_share: of_parts(effort.compute_s),
            memory_share: of_parts(effort.memory_s),
            communication_share: of_parts(effort.communication_s),
            overhead_share: of_parts(overhead.max(0.0)),
            kv_usage: of_busy(effort.kv_held_s),
            short_of_blocks_share: of_busy(effort.short_of_blocks_s),
            short_of_seats_share: of_busy(effort.short_of_seats_s),
            short_of_tokens_share: of_busy(effort.short_of_tokens_s),
            decode_waiting_share: ratio(waiting, flown.decode_effort.busy_s),
            queue_share_of_ttft: ratio(flown.queued_s, flown.to_first_token_s),
            preemptions: gauges.num_preemptions,
            prefix_hit_rate: ratio(gauges.prefix_cache_hits as f64, gauges.prefix_cache_queries as f64),
        }
    }

    /// The largest of what somebody waited for; none when all that they waited for was the end of a step.
    pub(super) fn shortage(&self) -> Option<Limit> {
        let shares = [
            (self.short_of_blocks_share, Limit::KvCache),
            (self.short_of_seats_share, Limit::Seats),
            (self.short_of_tokens_share, Limit::Prefill),
        ];
        let felt = shares.into_iter().filter_map(|(share, limit)| Some((share.filter(|&s| s > 0.0)?, limit)));
        felt.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, limit)| limit)
    }

    /// What the largest part of a step's time goes into.
    pub(super) fn largest_part(&self) -> Limit {
        let parts = [
            (self.compute_share, Limit::Compute),
            (self.memory_share, Limit::Memory),
            (self.communication_share, Limit::Communication),
            (self.overhead_share, Limit::Overhead),
        ];
        let known = parts.into_iter().filter_map(|(share, limit)| Some((share?, limit)));
        known.max_by(|a, b| a.0.total_cmp(&b.0)).map_or(Limit::Nothing, |(_, limit)| limit)
    }

    /// The figures behind a limit, those that speak for it first.
    pub(super) fn sentence(&self, limit: Limit) -> String {
        let mut parts = Vec::new();
        let mut say = |share: Option<f64>, what: &str| {
            if let Some(share) = share {
                parts.push(format!("{} % {what}", three_digits(share * 100.0)));
            }
        };
        match limit {
            Limit::KvCache => say(self.short_of_blocks_share, "of the time somebody waits for KV blocks"),
            Limit::Seats => say(self.short_of_seats_share, "of the time somebody waits for a seat"),
            Limit::Prefill => {
                say(self.short_of_tokens_share, "of the time somebody waits for room in a step");
            }
            Limit::DecodePool => {
                say(self.decode_waiting_share, "of the decode pool's time somebody waits to go on there");
            }
            _ => {}
        }
        say(self.queue_share_of_ttft, "of the time to first token is queueing");
        say(self.busy_share, "of the window the engines are busy");
        say(self.memory_share, "of that reading memory");
        say(self.compute_share, "computing");
        if self.communication_share.is_some_and(|share| share > 0.0) {
            say(self.communication_share, "in all-reduces");
        }
        say(self.overhead_share, "overhead");
        say(self.kv_usage, "of the KV cache held on average");
        if self.prefix_hit_rate.is_some_and(|rate| rate > 0.0) {
            say(self.prefix_hit_rate, "of the prompt tokens found in the prefix cache");
        }
        if let Some(batch) = self.mean_batch {
            parts.push(format!("{} sequences in a step", three_digits(batch)));
        }
        if self.steps > 0 {
            parts.push(format!("{} preemptions", count(self.preemptions)));
        }
        parts.join(", ")
    }
}
