//! The parts of a run, by class, priority, tenant, model, tag, phase of the load, turn, server and address, with the
//! figures of each.

pub(super) mod fairness;
pub(super) mod part;
pub(super) mod phases;
pub(super) mod servers;
pub(super) mod slower;
pub(super) mod tags;
