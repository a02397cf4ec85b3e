//! What is asked of a server: the recipe of a run, its parts, and the library of ready-made ones.

mod answer;
mod arrival;
mod class;
mod lengths;
pub mod library;
mod limits;
mod overrides;
mod prompt;
pub(crate) mod reading;
mod spec;
mod trace;
mod window;

pub use answer::{AnswerShape, Expect, GoldenCheck, JsonSchema, Pattern, ShapeFault, Tool, ToolChoice};
pub use arrival::{
    ArrivalPattern, Client, Course, GapFamily, GapForm, RateSpread, RateState, Spike, Stage, ThinkTime,
};
pub use class::{ModelMix, Priority, PriorityShare, RequestClass, Slo, Tenant};
pub use lengths::{Distribution, TOKEN_LIMIT, zipf};
pub use overrides::{DatasetChange, Overrides};
pub use prompt::{
    Conversation, Dataset, DatasetFindings, DatasetFormat, ImageFindings, Images, PromptSource, RowFilter,
    RowOrder, SharedPrefixes,
};
pub use reading::{Mistake, SpecError};
pub use spec::WorkloadSpec;
pub use trace::{BadLines, Trace, TraceFindings, TraceFormat, TraceKind, TraceSurvey, TraceZero, as_name};

#[cfg(test)]
mod tests;
