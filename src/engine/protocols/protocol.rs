//! A protocol: all that is said of one endpoint.

use std::fmt;

use serde_json::{Map, Value};

use super::limits::TOKEN_LIMITS;
use crate::engine::dialect_traits::{LengthForcing, SchemaField};
use crate::engine::stream::AnswerGrammar;
use crate::generator::{Prompt, PromptNeed};
use crate::record::WorkKind;
use crate::workload::{AnswerShape, InputBatch};

/// The protocol of one endpoint: nothing else asks which endpoint a request is for.
#[derive(Debug)]
pub struct Protocol {
    /// Name for `--endpoint`.
    pub name: &'static str,
    /// Usual path.
    pub path: &'static str,
    /// Name of it for vLLM's benchmark, or one like those where that has none.
    pub backend: &'static str,
    /// The field of the prompt.
    pub prompt_field: &'static str,
    /// The function that writes a prompt as the value of its field.
    pub(crate) write_prompt: fn(&mut Vec<u8>, &Prompt),
    /// Prompts that it carries besides texts.
    pub carries: &'static [PromptNeed],
    /// Usual inputs of a request, where one answer covers several and has no tokens. `None` where answers are texts.
    pub inputs: Option<InputBatch>,
    /// Fields that limit an answer's tokens. Where there are several, the dialect says which, and the first counts
    /// before the others.
    pub(crate) limits: &'static [&'static str],
    /// The object of a body that has the parameters of sampling and length. `None` where the body itself has them.
    pub(crate) within: Option<&'static str>,
    /// Tokens of an answer whose request sets no limit; `None` for as many as fit.
    pub usual_tokens: Option<u32>,
    /// Whether answers can be streamed.
    pub streams: bool,
    /// Whether streams end with token counts only where `stream_options` asks for them.
    pub asks_for_usage: bool,
    /// The most forcing of lengths that its requests can carry.
    pub(crate) forces: LengthForcing,
    /// Parameters that its requests cannot carry.
    pub(crate) lacks: &'static [&'static str],
    /// Headers of its requests, by name and value.
    pub(crate) headers: &'static [(&'static str, &'static str)],
    /// Header that carries the API key beside `Authorization`.
    pub(crate) key_header: Option<&'static str>,
    /// The function that adds the fields that request an answer of a form. `None` where none can be requested.
    pub(crate) shape: Option<fn(&mut Map<String, Value>, &AnswerShape, SchemaField)>,
    /// The kind of work that an answer counts as.
    pub work: WorkKind,
    /// How its answers are read.
    pub answers: &'static AnswerGrammar,
}

impl Protocol {
    /// Whether it carries prompts of this kind.
    pub fn carries(&self, need: PromptNeed) -> bool {
        need == PromptNeed::Nothing || self.carries.contains(&need)
    }

    /// Parameters of sampling and length in a body, if it has the object for them.
    pub(crate) fn parameters_in<'a>(&self, body: &'a Map<String, Value>) -> Option<&'a Map<String, Value>> {
        match self.within {
            Some(name) => body.get(name)?.as_object(),
            None => Some(body),
        }
    }

    /// Whether its requests can carry this parameter.
    pub fn takes(&self, parameter: &str) -> bool {
        !self.lacks.contains(&parameter)
    }

    /// Whether answers of a form (a schema, tools) can be requested.
    pub fn shapes_answers(&self) -> bool {
        self.shape.is_some()
    }
}

impl PartialEq for Protocol {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Protocol {}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name)
    }
}

/// Tokens of all answers to a body with these fields, whose own length is `planned`.
pub(crate) fn answer_tokens(body: &Map<String, Value>, planned: f64) -> f64 {
    let limits = TOKEN_LIMITS.iter().filter_map(|name| body.get(*name)?.as_u64());
    limits.max().map_or(planned, |most| most as f64) * answers_asked(body) as f64
}

/// Answers for which a body with these fields asks.
pub(in crate::engine) fn answers_asked(body: &Map<String, Value>) -> u64 {
    let asked = ["n", "best_of"].iter().filter_map(|name| body.get(*name)?.as_u64());
    asked.max().unwrap_or(1).max(1)
}
