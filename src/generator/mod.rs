//! When each request leaves and what it says: a workload drawn into a schedule.

mod datasets;
mod lengths;
mod objects;
mod phases;
mod plan;
mod prefixes;
mod prompts;
mod request;
mod schedule;
mod source;
mod traces;

pub use datasets::{BadRow, Column, DatasetError, Datasets, Wire};
pub use lengths::Lengths;
pub use plan::Plan;
pub use prefixes::prefixes_of;
pub use prompts::{Joint, PromptBuilder, PromptError, TokenCounter};
pub use request::{PlannedRequest, Prompt, RequestSpec};
pub use schedule::{Schedule, ShardError};
pub use traces::{
    Blocks, LogFields, ReadLog, TimeUnit, TraceError, TraceWriter, Traced, TracedRequest, TracedWindow,
    read_log, survey,
};
