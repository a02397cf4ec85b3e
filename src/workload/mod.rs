//! What is asked of a server: the recipe of a run, its parts, and the built-in library.

mod answer;
mod arrival;
mod class;
mod clients;
mod length_spread;
mod lengths;
pub mod library;
mod means;
mod metadata;
mod misfits;
mod overrides;
mod prompt;
pub(crate) mod reading;
mod spec;
mod stored_texts;
mod trace;
mod typed;
mod window;

pub use answer::{
    AnswerEnding, AnswerShape, Expectation, ExpectedAnswer, GoldenCheck, GoldenSet, JsonSchema, RegexPattern, Scoring,
    ScoringRule, ShapeFault, ToolChoice, ToolSpec,
};
pub use arrival::{
    ArrivalPattern, Client, GapFamily, GapForm, LoadSpike, RateProfile, RateSpread, RateStage, RateState, Scenario,
    Spike, ThinkTime,
};
pub use class::{
    ClassSession, DatasetChange, InputBatch, InputKind, ModelMix, Priority, PriorityShare, RequestChange, RequestClass,
    SessionChange, SessionStep, Slo, StepWait, Tenant,
};
pub use clients::{ClientBehaviour, ClientChange, Jitter, Leaving, LeavingPolicy, RetryCause, RetryPolicy};
pub(crate) use length_spread::LengthCounts;
pub use length_spread::{LengthSpread, SessionLengths, TraceLengths};
pub use lengths::{Distribution, TOKEN_LIMIT};
pub(crate) use metadata::tag_value;
pub use overrides::Overrides;
pub(crate) use prompt::MOST_TURNS;
pub use prompt::{
    Audio, CacheState, Conversation, Dataset, DatasetFindings, DatasetFormat, HistorySource, ImageFindings, ImageSize,
    Images, PromptSource, RowFilter, RowOrder, SaltScope, SessionFindings, SessionRules, SharedPrefixes,
};
pub(crate) use reading::nearest;
pub use reading::weights::zipf;
pub use reading::{SpecError, SpecMistake};
pub use spec::{Purpose, WorkloadSpec};
pub use trace::{
    BadLines, SessionLayout, Trace, TraceFindings, TraceFormat, TraceKind, TraceSurvey, TraceZero, as_name,
};

#[cfg(test)]
mod tests;
