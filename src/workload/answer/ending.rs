//! The end of answers: at the requested length, or where the model ends them.

use serde::Serialize;
use strum::{EnumString, VariantNames};

/// End of an answer: forced to the requested length, or left to the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, EnumString, VariantNames)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum AnswerEnding {
    /// The server is asked for exactly as many tokens, where it can be.
    #[default]
    Forced,
    /// The answer ends by itself, and the requested length is its limit.
    Natural,
}
