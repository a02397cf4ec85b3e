//! What is asked of a server: the recipe of a run, its parts, and the library of ready-made ones.

mod arrival;
mod class;
mod distribution;
mod expectation;
pub mod library;
mod load;
mod overrides;
mod reading;
mod slo;
mod spec;
mod weights;
mod window;

pub use arrival::{ArrivalPattern, Client, Course, GapFamily, GapForm, RateSpread, RateState, Spike, Stage};
pub use class::{PriorityShare, PromptSource, RequestClass};
pub use distribution::{Distribution, TOKEN_LIMIT};
pub use overrides::Overrides;
pub use reading::{Mistake, SpecError};
pub use slo::{Priority, Slo};
pub use spec::WorkloadSpec;

#[cfg(test)]
mod tests;
