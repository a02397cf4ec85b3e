//! Draws what requests have: classes, models, lengths, prefixes, think times and the like.

pub(super) mod class_draws;
mod lengths;
pub(super) mod pauses;
mod session_steps;

pub use class_draws::prefixes_of;
pub use lengths::LengthSampler;
