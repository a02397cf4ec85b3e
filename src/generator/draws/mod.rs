//! Draws what requests have: classes, models, lengths, prefixes, think times and the like.

pub(super) mod class_draws;
mod lengths;
pub(super) mod pauses;
pub(super) mod prefixes;
mod session_steps;
mod starts;

pub use lengths::LengthSampler;
pub use prefixes::prefixes_of;
