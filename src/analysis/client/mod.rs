//! The measuring machine: its load, its stalls, its calibration.

pub(super) mod effects;
pub(super) mod load;
pub(super) mod pauses;
