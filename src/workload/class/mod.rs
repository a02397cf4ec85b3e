//! The kinds of request in a workload, and what tells requests apart: priority, SLO, tenant, model, tags.

pub(super) mod dataset_change;
mod input_change;
pub(super) mod inputs;
mod misfits;
pub(super) mod mixes;
pub(super) mod request_change;
pub(super) mod request_class;
pub(super) mod session;
pub(super) mod slo;
mod step_wait;
pub(super) mod tags;
mod traced;

pub use dataset_change::{DatasetChange, SessionChange};
pub use inputs::{InputBatch, InputKind};
pub use mixes::{ModelMix, Tenant};
pub use request_change::RequestChange;
pub use request_class::{PriorityShare, RequestClass};
pub use session::{ClassSession, SessionStep};
pub use slo::{Priority, Slo};
pub use step_wait::StepWait;
