//! How much is read of one answer, and what has come of it.

use crate::engine::answer_limits::{AnswerBudget, AnswerSize, HeldMemory};
use crate::record::{Failure, UsageBounds};

/// Limits of what is read, and amounts that have come.
#[derive(Default)]
pub(super) struct ReadingLimits {
    pub budget: AnswerBudget,
    pub size: AnswerSize,
    /// The memory that it holds, where that is limited.
    pub memory: Option<HeldMemory>,
    pub usage: UsageBounds,
    /// Whether the answer was given up because it does not end.
    pub endless: bool,
}

impl ReadingLimits {
    /// Returns the failure of an answer that has become too large. So many bytes are held for it.
    pub(super) fn exceeded(&mut self, held: usize) -> Option<Failure> {
        let failure = self.budget.exceeded(&self.size);
        self.endless |= failure.is_some();
        failure.or_else(|| self.memory.as_mut()?.hold(held).err())
    }
}
