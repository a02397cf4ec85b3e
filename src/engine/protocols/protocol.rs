//! A protocol: all that is said of one endpoint.

use std::fmt;

use http::HeaderValue;
use serde_json::{Map, Value};

use super::limits::TOKEN_LIMITS;
use super::templates::body::{TemplateBody, TemplateFile};
use crate::engine::dialect_traits::{LengthForcing, SchemaField};
use crate::engine::stream::AnswerGrammar;
use crate::engine::stream::form::AnswerForm;
use crate::generator::{Prompt, PromptNeed};
use crate::record::WorkKind;
use crate::workload::{AnswerShape, InputBatch};

/// Text between the fields of a form. In a field it stands nowhere: 20 of its characters were drawn at random.
pub(crate) const BOUNDARY: &str = "skyline-b1e4407d2f9a86c35e70";
/// The media type of forms with it.
const FORM: &str = "multipart/form-data; boundary=skyline-b1e4407d2f9a86c35e70";

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
    /// The only prompts that it carries; `None` where it carries texts. Where they are token ids, answers are too.
    pub only: Option<PromptNeed>,
    /// Whether bodies are forms (`multipart/form-data`, RFC 7578), and no JSON.
    pub(crate) is_form: bool,
    /// Usual inputs of a request, where one answer covers several and has no tokens. `None` where answers are texts.
    pub inputs: Option<InputBatch>,
    /// Fields that limit an answer's tokens. Where there are several, the dialect says which, and the first counts
    /// before the others.
    pub(crate) limits: &'static [&'static str],
    /// Path of the object of a body that has the parameters of sampling and length. `None` for the body itself.
    pub(crate) within: Option<&'static str>,
    /// Tokens of an answer whose request sets no limit; `None` for as many as fit.
    pub usual_tokens: Option<u32>,
    /// The form of all its answers; `None` where requests choose it.
    pub form: Option<AnswerForm>,
    /// The protocol of answers in one piece, where it is another.
    pub(crate) whole: Option<&'static Protocol>,
    /// The template of its bodies; `None` where they are written field by field.
    pub(crate) template: Option<&'static TemplateBody>,
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

    /// The media type of its bodies.
    pub(crate) fn content_type(&self) -> HeaderValue {
        if self.is_form {
            return HeaderValue::from_static(FORM);
        }
        HeaderValue::from_static("application/json")
    }

    /// Whether answers can be streamed.
    pub fn streams(&self) -> bool {
        self.form != Some(AnswerForm::Whole)
    }

    /// The protocol of answers in this form, or in the only one that there is. `None` where it has streams alone.
    pub fn answering_in(&'static self, form: AnswerForm) -> Option<(&'static Self, AnswerForm)> {
        match (self.form, form) {
            (Some(AnswerForm::Streamed), AnswerForm::Whole) => self.whole.map(|whole| (whole, form)),
            (only, _) => Some((self, only.unwrap_or(form))),
        }
    }

    /// The user's file that describes it, if one does.
    pub(crate) fn template_file(&self) -> Option<&'static TemplateFile> {
        self.template?.file.as_ref()
    }

    /// Parameters of sampling and length in a body, if it has the object for them.
    pub(crate) fn parameters_in<'a>(&self, body: &'a Map<String, Value>) -> Option<&'a Map<String, Value>> {
        match self.within {
            Some(path) => path.split('/').try_fold(body, |body, name| body.get(name)?.as_object()),
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
