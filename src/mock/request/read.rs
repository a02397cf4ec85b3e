//! Reads a request as vLLM does: the request, or every mistake in it.

use serde_json::{Map, Value};

use super::fields::{BodyFields, object};
use super::inputs::{ResultsAsked, pairs};
use super::prompt::PromptTokens;
use super::shape::AnswerFormat;
use crate::engine::{AnswerForm, Protocol};
use crate::generator::PromptNeed;
use crate::mock::refusal::Refusal;
use crate::workload::{InputBatch, InputKind};

/// Events of an answer that carry token counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UsageIn {
    None,
    Last,
    Every,
}

/// A request that can be served, as far as its own fields say.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Request {
    pub(crate) prompts: Vec<PromptTokens>,
    /// Index of the adapter that answers; `None` for the model itself.
    pub(crate) adapter: Option<usize>,
    pub(crate) max_tokens: u32,
    pub(crate) min_tokens: u32,
    /// Whether the answer ends at the limit only.
    pub(crate) ignore_eos: bool,
    /// Texts before which an answer ends.
    pub(crate) stop: Vec<String>,
    /// Choices per prompt.
    pub(crate) n: u32,
    pub(crate) form: AnswerForm,
    pub(crate) usage_in: UsageIn,
    /// Whether token ids come with the text.
    pub(crate) return_token_ids: bool,
    pub(crate) priority: i32,
    pub(crate) seed: Option<u64>,
    /// The format of the answer.
    pub(crate) shape: AnswerFormat,
    /// Requirements of the results for its prompts; `None` where the answer is a text.
    pub(crate) results: Option<ResultsAsked>,
    /// Tokens of each prompt's first text, where it has two.
    pub(crate) first_tokens: Vec<u32>,
}

impl Request {
    /// Reads a body.
    pub(crate) fn read(protocol: &Protocol, body: &[u8], served: ServedModels<'_>) -> Result<Self, Refusal> {
        Self::of_fields(protocol, &object(body)?, served)
    }

    /// Reads the fields of a body.
    pub(crate) fn of_fields(
        protocol: &Protocol,
        object: &Map<String, Value>,
        served: ServedModels<'_>,
    ) -> Result<Self, Refusal> {
        let none = Map::new();
        let mut fields = BodyFields::from_object(object);
        let (prompts, first_tokens) = match protocol.inputs {
            Some(InputBatch { kind: InputKind::Pairs, .. }) => pairs(&mut fields).into_iter().unzip(),
            _ => (prompts(&mut fields, protocol), Vec::new()),
        };
        let results = protocol.inputs.map(|_| ResultsAsked::read(&mut fields));
        let model = fields.text("model");
        let within = protocol.within.map(|name| object.get(name).and_then(Value::as_object).unwrap_or(&none));
        let mut parameters = BodyFields::from_object(within.unwrap_or(object));
        let limits: Vec<_> = protocol.limits.iter().rev().map(|name| parameters.whole(name)).collect();
        let limit = limits.into_iter().rev().flatten().next();
        // Triton's name of it comes second.
        let least = parameters.whole("min_tokens").or_else(|| parameters.whole("min_length"));
        let ignore_eos = parameters.flag("ignore_eos");
        let stop = parameters.texts("stop");
        let n = parameters.whole("n").filter(|_| protocol.takes("n"));
        let (asked, usage_in) = form(&mut fields);
        let form = protocol.form.unwrap_or(asked);
        let usage_in = if protocol.asks_for_usage { usage_in } else { UsageIn::Last };
        let return_token_ids = fields.flag("return_token_ids");
        let urgency = fields.whole("priority");
        let seed = parameters.whole("seed").or_else(|| fields.whole("seed")).map(i64::cast_unsigned);
        let shape = if protocol.shapes_answers() { AnswerFormat::read(&mut fields) } else { AnswerFormat::default() };
        fields.adopt(parameters);
        fields.check()?;

        let adapter = served.adapter(model)?;
        if form == AnswerForm::Whole && has_stream_options(&fields) {
            let words = "Stream options can only be defined when `stream=True`.";
            return Err(Refusal::named("stream_options", words));
        }
        let longest = prompts.iter().map(PromptTokens::tokens).max().unwrap_or(0);
        let max_tokens = served.max_tokens(limit, protocol.usual_tokens, longest)?;
        if prompts.iter().any(|prompt| prompt.tokens() == 0) || prompts.is_empty() {
            return Err(Refusal::bad_request("The prompt must contain at least one token."));
        }
        if stop.iter().any(String::is_empty) {
            return Err(Refusal::bad_request("stop cannot contain an empty string."));
        }
        Ok(Self {
            min_tokens: min_tokens(least, max_tokens)?,
            n: choices(n, prompts.len())?,
            priority: priority(urgency),
            prompts,
            adapter,
            max_tokens,
            ignore_eos,
            stop,
            form,
            usage_in,
            return_token_ids,
            seed,
            shape,
            results,
            first_tokens,
        })
    }

    /// Drops what an answer that is planned needs no more.
    pub(crate) fn forget_texts(&mut self) {
        (self.prompts, self.stop, self.first_tokens) = (Vec::new(), Vec::new(), Vec::new());
        self.shape.schema = None;
    }
}

fn prompts(fields: &mut BodyFields<'_>, protocol: &Protocol) -> Vec<PromptTokens> {
    let (name, takes_texts) = (protocol.prompt_field, !protocol.carries(PromptNeed::Messages));
    let ids = || fields.value("input_ids").filter(|_| name == "text");
    let Some(value) = fields.value(name).or_else(ids) else {
        fields.missing(name);
        return Vec::new();
    };
    match value {
        // A list of numbers is one prompt; a list of texts or of lists is several.
        Value::Array(items) if takes_texts && items.first().is_some_and(|item| !item.is_number()) => {
            items.iter().map(PromptTokens::of_texts).collect()
        }
        Value::Array(_) => {
            let system = fields.value("system").map(PromptTokens::of_texts).unwrap_or_default();
            vec![system.with(value)]
        }
        Value::String(_) if takes_texts || name == "input" => vec![PromptTokens::of_texts(value)],
        _ => {
            let kind = if takes_texts { "string" } else { "list" };
            fields.mistake(&format!("{kind}_type"), name, &format!("Input should be a valid {kind}"), value);
            Vec::new()
        }
    }
}

/// Reads how the answer is sent, and its usage.
fn form(fields: &mut BodyFields<'_>) -> (AnswerForm, UsageIn) {
    if !fields.flag("stream") {
        return (AnswerForm::Whole, UsageIn::Last);
    }
    let Some(options) = fields.value("stream_options").and_then(Value::as_object) else {
        return (AnswerForm::Streamed, UsageIn::None);
    };
    let mut options = BodyFields::from_object(options);
    let usage = match (options.flag("include_usage"), options.flag("continuous_usage_stats")) {
        (false, _) => UsageIn::None,
        (true, false) => UsageIn::Last,
        (true, true) => UsageIn::Every,
    };
    fields.adopt(options);
    (AnswerForm::Streamed, usage)
}

/// Whether options are set, as Python sees it: an empty object is false.
fn has_stream_options(fields: &BodyFields<'_>) -> bool {
    fields.value("stream_options").is_some_and(|options| options.as_object().is_none_or(|options| !options.is_empty()))
}

/// The models and limits that a request is checked against.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServedModels<'a> {
    pub(crate) model: &'a str,
    pub(crate) adapters: &'a [String],
    pub(crate) max_model_len: u32,
}

/// Most choices per prompt and of a request, so that none can take all memory.
const MOST_CHOICES: u32 = 128;
const MOST_OF_REQUEST: usize = 4_096;

impl ServedModels<'_> {
    /// Index of the adapter that is asked for. It is `None` for the model itself or without a name.
    pub(crate) fn adapter(&self, asked: Option<&str>) -> Result<Option<usize>, Refusal> {
        match asked {
            Some(asked) if asked != self.model => match self.adapters.iter().position(|name| name == asked) {
                Some(place) => Ok(Some(place)),
                None => Err(Refusal::unknown_model(asked, self.model)),
            },
            _ => Ok(None),
        }
    }

    /// Returns the most answer tokens. They are `max_tokens` of the request, else `usual`, else what the context leaves
    /// after the longest prompt.
    fn max_tokens(&self, asked: Option<i64>, usual: Option<u32>, longest: u32) -> Result<u32, Refusal> {
        let context = i64::from(self.max_model_len);
        let input = i64::from(longest);
        if let Some(limit) = asked {
            if limit < 1 {
                let words = format!("max_tokens must be at least 1, got {limit}.");
                return Err(Refusal::parameter("max_tokens", limit, words));
            }
            if limit > context {
                let words = format!(
                    "max_tokens={limit} cannot be greater than max_model_len={context}. Please request fewer output \
                     tokens."
                );
                return Err(Refusal::parameter("max_tokens", limit, words));
            }
        }
        if input >= context {
            let words = format!(
                "This model's maximum context length is {context} tokens. However, your prompt contains at least {} \
                 input tokens, which exceeds this limit even without any output tokens. Please reduce the length of \
                 the input prompt.",
                context + 1
            );
            return Err(Refusal::parameter("input_tokens", context + 1, words));
        }
        let left = self.max_model_len - longest;
        let Some(limit) = asked else { return Ok(usual.map_or(left, |usual| usual.min(left))) };
        if limit > i64::from(left) {
            let words = format!(
                "This model's maximum context length is {context} tokens. However, you requested {limit} output tokens \
                 and your prompt contains {input} input tokens, for a total of {} tokens. Please reduce the length of \
                 the input prompt or the number of requested output tokens.",
                input + limit
            );
            return Err(Refusal::parameter("input_tokens", input, words));
        }
        // It is at most the context, which is a `u32`.
        Ok(limit as u32)
    }
}

/// The request's priority. vLLM accepts the field under any scheduling policy and uses it only under
/// `priority`; so does this engine. (Its protocol mentions an error, which was that of its first engine: 0.32
/// has none.)
fn priority(asked: Option<i64>) -> i32 {
    asked.unwrap_or(0).clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32
}

/// The least answer tokens.
fn min_tokens(asked: Option<i64>, max_tokens: u32) -> Result<u32, Refusal> {
    let least = asked.unwrap_or(0);
    if least < 0 {
        let words = format!("min_tokens must be greater than or equal to 0, got {least}.");
        return Err(Refusal::bad_request(words));
    }
    if least > i64::from(max_tokens) {
        let words = format!("min_tokens must be less than or equal to max_tokens={max_tokens}, got {least}.");
        return Err(Refusal::bad_request(words));
    }
    Ok(least as u32)
}

/// Answers to each of so many prompts.
fn choices(asked: Option<i64>, prompts: usize) -> Result<u32, Refusal> {
    let n = asked.unwrap_or(1);
    let most = MOST_CHOICES.min((MOST_OF_REQUEST / prompts.max(1)) as u32);
    u32::try_from(n).ok().filter(|n| (1..=most).contains(n)).ok_or_else(|| {
        let words = match prompts {
            ..=1 => format!("n must be between 1 and {MOST_CHOICES}, got {n}."),
            _ => format!(
                "{prompts} prompts with n={n} are more than {MOST_OF_REQUEST} answers, or n is not 1 to \
                {MOST_CHOICES}."
            ),
        };
        Refusal::parameter("n", n, words)
    })
}
