//! Draws what the requests of a class have: lengths, prefixes, think times and the like.

pub(super) mod class_draws;
pub(super) mod lengths;
pub(super) mod prefixes;
pub(super) mod think_times;

pub use lengths::LengthSampler;
pub use prefixes::prefixes_of;
