//! SLOs and objectives: what was asked of a run, of its parts, and whether it was reached.

pub(super) mod attainment;
pub(super) mod judgement;
pub(super) mod objective;
pub(super) mod targets;
pub(super) mod tier;
