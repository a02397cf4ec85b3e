//! The requests of the window: which they are, how each ended, their tokens, answers and conversations.

pub(super) mod answer_forms;
pub(super) mod counts;
pub(super) mod failures;
pub(super) mod observed;
pub(super) mod quality;
pub(super) mod sampled;
pub(super) mod sessions;
pub(super) mod taken;
pub(super) mod tokens;
