//! Says what holds a simulated deployment back, with the evidence.

use serde::Serialize;

use super::evidence::{Evidence, MOSTLY};
use super::virtual_run::Flown;
use crate::record::{Outcome, PlanFacts};

/// What holds a deployment back.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bottleneck {
    /// What there is too little of.
    pub limit: Limit,
    /// The same for a person, with its figures.
    pub sentence: String,
    /// What would help.
    pub cure: String,
    /// What it is concluded from.
    pub evidence: Evidence,
}

/// What there is too little of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// KV cache: requests wait, or lose their place, for want of blocks.
    KvCache,
    /// Seats in the batch (`max_num_seqs`).
    Seats,
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
    /// The steps rather than the queue. What every step costs besides takes the largest part of them.
    Overhead,
    /// Places of a plain server.
    Places,
    /// Nothing that can be told: a server of given delays or step times where queueing is the lesser part.
    Nothing,
    /// No request could be served at all: each was refused.
    Refused,
}

/// From this share of TTFT on, queueing is what a request waits for.
const QUEUEING: f64 = 0.5;
/// What helps who is short of KV blocks with steps that are bound by compute.
const COMPUTING_ALREADY: &str = "steps are compute-bound already, so that more memory alone would move the queue and not \
                                 the rate: add replicas, or take an accelerator with more FLOP/s";

impl Bottleneck {
    /// What held the run's server back during the window.
    pub(super) fn of(flown: &Flown, plan: &PlanFacts) -> Self {
        let evidence = Evidence::of(flown, plan);
        // When nobody got a token, all who came are still waiting.
        let queueing = evidence.queue_share_of_ttft.unwrap_or(1.0) >= QUEUEING;
        let answers_wait = evidence.decode_waiting_share.is_some_and(|share| share >= MOSTLY);
        let steps = || if answers_wait { Limit::DecodePool } else { evidence.largest_part() };
        let limit = match (queueing, flown.effort.engines) {
            _ if flown.records.iter().all(|record| matches!(record.outcome, Outcome::Failed(_))) => {
                Limit::Refused
            }
            (true, 0) => Limit::Places,
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
    /// What it is, and what helps.
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::KvCache => (
                "the KV cache",
                "give it room: more or larger accelerators, fewer bits for the weights, shorter prompts, or fewer \
                 seats (--max-num-seqs) so that nobody is preempted",
            ),
            Self::Seats => (
                "seats in the batch (max_num_seqs)",
                "raise --max-num-seqs for as long as the KV cache holds the sequences, or add replicas",
            ),
            Self::Prefill => (
                "prefill: prompts come faster than they are computed",
                "add replicas or a prefill pool, take an accelerator with more FLOP/s, or share prefixes; a larger \
                 --max-num-batched-tokens helps TTFT a little and costs TPOT",
            ),
            Self::DecodePool => (
                "the decode pool: answers that have begun wait for room there, which shows in TPOT",
                "give it more of the servers (--pools), or fewer bits to the KV cache or the weights",
            ),
            Self::Compute => (
                "the steps rather than the queue; computing takes the largest part of them",
                "TTFT falls with more FLOP/s: tensor parallelism, fp8, a larger accelerator",
            ),
            Self::Memory => (
                "the steps rather than the queue; reading memory takes the largest part of them",
                "TPOT falls with fewer bytes or more bandwidth: fewer bits for the weights, tensor parallelism, \
                 speculation; a larger batch costs little",
            ),
            Self::Communication => (
                "the steps rather than the queue; all-reduces take the largest part of them",
                "TPOT falls with fewer accelerators to a model (--tensor-parallel) or faster links",
            ),
            Self::Overhead => (
                "the steps rather than the queue; what every step costs besides takes the largest part of them",
                "the model is small for this hardware: serve more requests on less of it",
            ),
            Self::Places => ("places of the plain server", "give it more places or replicas"),
            Self::Nothing => (
                "not the queue; delays and step times are those that were given",
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
