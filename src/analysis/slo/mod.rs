//! SLOs and objectives: what was asked of a run, of its parts, and whether it was reached.

pub(super) mod attainment;
pub(super) mod evaluate;
pub(super) mod group;
pub(super) mod judgement;
pub(super) mod objective;
pub(super) mod tag_groups;
pub(super) mod targets;
