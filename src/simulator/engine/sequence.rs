//! A job's progress in the scheduler: what is computed, what is out, what it holds.

use super::kv::HeldBlocks;
use crate::clock::Timestamp;
use crate::simulator::job::Job;

/// A job and its progress.
#[derive(Clone, Debug)]
pub(crate) struct Sequence {
    pub(crate) job: Job,
    /// Its position in the order of service: urgency under the policy, then arrival.
    pub(crate) turn: (i32, u64),
    /// First time in a step.
    pub(crate) scheduled: Option<Timestamp>,
    /// Tokens whose keys and values are in its blocks.
    pub(crate) computed: u32,
    /// Tokens of the answer so far.
    pub(crate) emitted: u32,
    /// Prompt tokens found in the prefix cache when it was first scheduled.
    pub(crate) cached_tokens: u32,
    pub(crate) held: HeldBlocks,
    /// Tokens it computes in the current step, drafts included; 0 when it is not in the step.
    pub(crate) new: u32,
    /// Draft tokens among them.
    pub(crate) drafts: u32,
}

impl Sequence {
    pub(crate) fn new(job: Job, turn: (i32, u64)) -> Self {
        Self {
            job,
            turn,
            scheduled: None,
            computed: 0,
            emitted: 0,
            cached_tokens: 0,
            held: HeldBlocks::default(),
            new: 0,
            drafts: 0,
        }
    }

    /// Tokens known so far: the prompt, and the answer up to now.
    pub(crate) const fn known(&self) -> u32 {
        self.job.input_tokens + self.emitted
    }

    /// Known tokens not yet computed; one, the newest, in decode.
    pub(crate) const fn pending(&self) -> u32 {
        self.known() - self.computed
    }

    /// Whether its next step only decodes the next token.
    pub(crate) const fn decodes(&self) -> bool {
        self.emitted > 0 && self.pending() == 1
    }

    /// Hashes of the blocks it references.
    pub(crate) fn shared(&self) -> &[u64] {
        &self.job.prefix.hashes()[..self.held.shared as usize]
    }
}
