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

pub use datasets::{BadRow, DatasetError, Datasets, RequiredEndpoint, RowPosition};
pub use draws::{LengthSampler, prefixes_of};
pub use plan::Plan;
pub use prompts::{PromptBuilder, PromptError, TextPosition, TokenCounter};
pub use request::{PlannedRequest, Prompt, RequestSpec};
pub use schedule::{Schedule, ShardError};
pub use sessions::{ConversationBreak, NextTurn, SessionPlanner, TurnEnd};
pub use traces::{
    AccessLog, AccessLogFields, Blocks, RequestTrace, TimeUnit, TraceError, TraceWriter, TracedRequest,
    TracedWindow, read_log, survey,
};
