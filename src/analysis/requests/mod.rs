//! The requests of the window: which they are, how each ended, their tokens, answers and conversations.

mod account;
mod answers;
mod audio;
mod deadlines;
mod delivery;
mod form;
mod latency;
mod observed;
mod oddities;
mod outcomes;
mod quality;
mod sampled;
mod slo_outcome;
mod speed;
mod stays;
mod taken;
mod tokens;

pub use answers::answers_end;
pub(crate) use answers::{answered, is_to_be_scored};
pub use audio::RealTimeFactor;
pub(crate) use audio::{audio_seconds, real_time_factor};
pub use deadlines::TokenDeadlines;
pub(crate) use deadlines::due_tokens;
pub use delivery::StreamDelivery;
pub(crate) use delivery::{GATHERED_BAR, TOGETHER_BAR, UNGATHERED, WHOLE_BAR};
pub use form::LoadForm;
pub use latency::RequestLatency;
pub(crate) use latency::text_is_whole;
pub use observed::of_request;
pub(crate) use observed::{Measured, Observed, latency_of, measure, session_of, unrecorded_requests};
pub use oddities::OddAnswers;
pub use outcomes::{FailureCount, Failures, RequestCounts};
pub(crate) use quality::ScoredRows;
pub use quality::{
    Accuracy, AnswerForms, CheckExample, CheckPasses, ClassForms, FormFault, Passes, Quality, ScoreChange, SlicePasses,
};
pub use sampled::{Dot, RequestState, SampledRequests, Scatter};
pub(in crate::analysis) use slo_outcome::AnswerFault;
pub(crate) use slo_outcome::SloOutcome;
pub use speed::RequestSpeed;
pub(crate) use speed::tokens_per_s;
pub(crate) use stays::Occupancy;
pub use taken::{TakenImages, TakenPrompts};
pub use tokens::{Balance, Lengths, MadePrompts, NaturalAnswers, TokenAccount};
pub(crate) use tokens::{IMPOSSIBLE_CURE, ImpossibleUsage};
