//! When each request leaves and what it says: a workload drawn into a schedule.

mod datasets;
mod draws;
mod objects;
mod phases;
mod plan;
mod prompts;
mod request;
mod schedule;
mod sessions;
mod traces;

pub use datasets::{BadRow, Column, DatasetError, Datasets, Wire};
pub use draws::{Lengths, prefixes_of};
pub use plan::Plan;
pub use prompts::{Joint, PromptBuilder, PromptError, TokenCounter};
pub use request::{PlannedRequest, Prompt, RequestSpec};
pub use schedule::{Schedule, ShardError};
pub use sessions::{Break, Sequel, Sessions, TurnEnd};
pub use traces::{
    AccessLog, AccessLogFields, Blocks, TimeUnit, TraceError, TraceWriter, Traced, TracedRequest,
    TracedWindow, read_log, survey,
};
