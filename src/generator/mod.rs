//! When each request leaves and what it says: a workload drawn into a schedule.

mod lengths;
mod plan;
mod prompts;
mod request;
mod schedule;

pub use lengths::Lengths;
pub use plan::{Plan, PlannedRequest};
pub use prompts::{PromptBuilder, PromptError};
pub use request::{Prompt, RequestSpec};
pub use schedule::{Schedule, ShardError};
