//! A job on its way through a scheduler: what is computed, what is out, what it holds.

use super::job::Job;
use super::kv::Holding;
use crate::clock::Timestamp;

/// A job and its progress.
#[derive(Clone, Debug)]
pub(super) struct Sequence {
    pub(super) job: Job,
    /// Its place in the order of service: urgency under the policy, then arrival.
    pub(super) turn: (i32, u64),
    /// First time in a step.
    pub(super) scheduled: Option<Timestamp>,
    /// Tokens whose keys and values are in its blocks.
    pub(super) computed: u32,
    /// Tokens of the answer so far.
    pub(super) emitted: u32,
    /// Prompt tokens found in the prefix cache when it was first scheduled.
    pub(super) cached_tokens: u32,
    pub(super) held: Holding,
    /// Tokens it computes in the step under way, drafts included; 0 when it sits this one out.
    pub(super) new: u32,
    /// Draft tokens among them.
    pub(super) drafts: u32,
}

impl Sequence {
    pub(super) fn new(job: Job, turn: (i32, u64)) -> Self {
        Self {
            job,
            turn,
            scheduled: None,
            computed: 0,
            emitted: 0,
            cached_tokens: 0,
            held: Holding::default(),
            new: 0,
            drafts: 0,
        }
    }

    /// Tokens known so far: the prompt, and the answer up to now.
    pub(super) const fn known(&self) -> u32 {
        self.job.input_tokens + self.emitted
    }

    /// Known tokens not yet computed. One, the newest, when it decodes.
    pub(super) const fn pending(&self) -> u32 {
        self.known() - self.computed
    }

    /// Whether its next step makes the next token of an answer that has begun, and nothing else.
    pub(super) const fn decodes(&self) -> bool {
        self.emitted > 0 && self.pending() == 1
    }

    /// Hashes of the blocks it refers to.
    pub(super) fn shared(&self) -> &[u64] {
        &self.job.prefix.hashes()[..self.held.shared as usize]
    }
}
