//! The requests of the window: which they are, how each ended, their tokens, answers and conversations.

pub(super) mod answers;
pub(super) mod delivery;
pub(super) mod form;
pub(super) mod latency;
pub(super) mod observed;
pub(super) mod oddities;
pub(super) mod outcomes;
pub(super) mod quality;
pub(super) mod sampled;
pub(super) mod slo_outcome;
pub(super) mod speed;
pub(super) mod stays;
pub(super) mod taken;
pub(super) mod tokens;
