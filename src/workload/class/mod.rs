//! The kinds of request in a workload, and what tells requests apart: priority, SLO, tenant, model.

pub(super) mod model_mix;
pub(super) mod request_class;
pub(super) mod slo;
pub(super) mod tenant;

pub use model_mix::ModelMix;
pub use request_class::{PriorityShare, RequestClass};
pub use slo::{Priority, Slo};
pub use tenant::Tenant;
