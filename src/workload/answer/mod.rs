//! What answers must be: the form that a class asks for, and golden prompts whose answers are known.

pub(super) mod ending;
mod extraction;
pub(super) mod golden;
pub(super) mod golden_set;
pub(super) mod json_schema;
pub(super) mod scoring;
pub(super) mod shape;
pub(super) mod text_hash;

pub use ending::AnswerEnding;
pub use golden::{Expectation, GoldenCheck, RegexPattern};
pub use golden_set::GoldenSet;
pub use json_schema::JsonSchema;
pub use scoring::{ExpectedAnswer, Scoring, ScoringRule};
pub use shape::{AnswerShape, ShapeFault, ToolChoice, ToolSpec};
