//! When each request leaves and what it says: a workload drawn into a schedule.

mod datasets;
mod draws;
mod graph;
mod hub;
mod packed;
mod plan;
mod plan_check;
mod prompts;
mod request;
mod rows;
mod schedule;
mod sessions;
mod slots;
mod tokens;
mod traces;

pub use datasets::{AnswerKey, Datasets, PromptNeed, ShownSessions, has_moments, session_layout};
pub(crate) use datasets::{AudioClip, texts_of_messages};
pub use draws::{LengthSampler, prefixes_of};
pub(crate) use graph::DueQueue;
pub(crate) use graph::session::SessionGraph;
pub use plan_check::check_plan;
pub use prompts::PromptBuilder;
pub use request::{Dialogue, PlannedRequest, Prompt, RequestSpec};
pub use schedule::Schedule;
pub use sessions::{SessionPlanner, SessionTurns};
pub use slots::ConcurrencyCaps;
pub(crate) use slots::Slots;
pub use tokens::TokenCounter;
pub use traces::{
    AccessLogFields, Blocks, RequestTrace, TraceWriter, TracedRequest, TracedWindow, read_log, survey,
    survey_with_lengths,
};
