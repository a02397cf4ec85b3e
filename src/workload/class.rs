//! One kind of request inside a workload.

use serde::Serialize;

use super::{Distribution, Priority, Slo};

/// A kind of request: how long its prompt and answer are, what it says, how urgent it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RequestClass {
    /// Name shown in reports, unique in its workload.
    pub name: String,
    /// Share of the requests, relative to the other classes' weights.
    pub weight: f64,
    /// Tokens of prompt content asked for, the chat template's own tokens not counted.
    pub input_tokens: Distribution,
    /// Tokens of answer asked for.
    pub output_tokens: Distribution,
    /// What the prompts say.
    pub prompt: PromptSource,
    /// Priorities with their shares; never empty (one `medium` share when the file gives none).
    pub priorities: Vec<PriorityShare>,
}

/// A share of a class's requests that has one priority and one SLO.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PriorityShare {
    /// The priority.
    pub priority: Priority,
    /// Share of the class's requests, relative to the other shares' weights.
    pub weight: f64,
    /// What a request of this share promises: the share's own bounds, else the class's.
    pub slo: Slo,
}

/// What prompts say. Whatever the source, each grows or is cut to the asked token count.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PromptSource {
    /// One of these texts, drawn at random, continued with filler words.
    Templates {
        /// The opening texts; at least one.
        templates: Vec<String>,
    },
    /// Retrieval-augmented generation: retrieved passages (filler words) and then a question at the end.
    Retrieval {
        /// The questions; at least one.
        questions: Vec<String>,
    },
}
