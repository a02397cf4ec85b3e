//! The requests of the window: which they are, how each ended, their tokens, answers and conversations.

pub(super) mod acceptable;
pub(super) mod answers;
mod by_request;
pub(super) mod delivery;
pub(super) mod observed;
pub(super) mod oddities;
pub(super) mod outcomes;
pub(super) mod quality;
pub(super) mod sampled;
pub(super) mod sessions;
pub(super) mod speed;
pub(super) mod stays;
pub(super) mod taken;
pub(super) mod tokens;
