//! What is asked of a server: the recipe of a run, its parts, and the library of ready-made ones.

mod arrival;
mod class;
mod distribution;
mod expectation;
mod findings;
pub mod library;
mod load;
mod overrides;
mod rate;
mod reading;
mod replayed;
mod slo;
mod spec;
mod trace;
mod weights;
mod window;

pub use arrival::{ArrivalPattern, Stage};
pub use class::{PriorityShare, PromptSource, RequestClass};
pub use distribution::{Distribution, TOKEN_LIMIT};
pub use findings::{TraceFindings, TraceKind};
pub use overrides::Overrides;
pub use reading::{Mistake, SpecError};
pub use replayed::as_name;
pub use slo::{Priority, Slo};
pub use spec::WorkloadSpec;
pub use trace::{BadLines, Trace, TraceFormat, TraceSurvey, TraceZero};

#[cfg(test)]
mod tests;
