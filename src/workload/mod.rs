//! What is asked of a server: the recipe of a run, its parts, and the library of ready-made ones.

mod arrival;
mod class;
mod distribution;
mod slo;
mod spec;

pub use arrival::{ArrivalPattern, Stage};
pub use class::{PriorityShare, PromptSource, RequestClass};
pub use distribution::Distribution;
pub use slo::{Priority, Slo};
pub use spec::WorkloadSpec;
