//! A job's progress in the scheduler: what is computed, what is out, what it holds.

use crate::clock::Timestamp;
use crate::simulator::job::Job;

/// A job and its progress; by default it has not begun.
#[derive(Clone, Debug, Default)]
pub struct Sequence {
    /// The job.
    pub job: Job,
    /// Its position in the order of service: urgency under the policy, then arrival.
    pub turn: (i32, u64),
    /// First time in a step.
    pub scheduled: Option<Timestamp>,
    /// Tokens whose keys and values are in its blocks. Those that will be there after the steps that are planned count
    /// too.
    pub computed: u32,
    /// Tokens of the answer so far.
    pub emitted: u32,
    /// Prompt tokens found in the prefix cache when it was first scheduled.
    pub cached_tokens: u32,
    /// Leading blocks in the cache under its hashes, which it references.
    pub shared: u32,
    /// Blocks that no other sequence can find.
    pub own: u32,
    /// Tokens it computes in the step that is planned, drafts included. It is 0 when it is not in the step.
    pub new: u32,
    /// Draft tokens among them.
    pub drafts: u32,
    /// Tokens that each of the two plannable steps may bring. They are 0, or 1 and the drafts; two steps can be planned
    /// at a time.
    pub due: [u32; 2],
}

impl Sequence {
    /// Tokens known so far: the prompt, and the answer up to now.
    pub(crate) const fn known(&self) -> u32 {
        self.job.input_tokens + self.emitted
    }

    /// Tokens that planned steps may bring (vLLM's output placeholders).
    pub(crate) const fn expected(&self) -> u32 {
        self.due[0] + self.due[1]
    }

    /// Tokens, known or expected, that no planned step computes; one, the newest, in decode.
    pub(crate) const fn pending(&self) -> u32 {
        self.known() + self.expected() - self.computed
    }

    /// Whether its next step only decodes the next token.
    pub(crate) const fn decodes(&self) -> bool {
        self.emitted + self.expected() > 0 && self.pending() == 1
    }

    /// Whether the planned steps complete its answer even if every draft is refused.
    pub(crate) const fn will_finish(&self) -> bool {
        let least = (self.due[0] > 0) as u32 + (self.due[1] > 0) as u32;
        least > 0 && self.emitted + least >= self.job.output_tokens
    }

    /// Whether its answer is complete.
    pub const fn is_finished(&self) -> bool {
        self.emitted >= self.job.output_tokens
    }

    /// Hashes of the blocks it references.
    pub(crate) fn shared_hashes(&self) -> &[u64] {
        &self.job.prefix.hashes()[..self.shared as usize]
    }
}
