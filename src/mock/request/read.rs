//! Reads a request as vLLM does: the request, or every mistake in it.

use serde_json::Value;

use super::fields::{Fields, object};
use super::limits::{ServedModels, choices, min_tokens, priority};
use super::prompt::Prompt;
use super::shape::AnswerFormat;
use crate::mock::refusal::Refusal;

/// The endpoint of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    Chat,
    Completions,
}

/// When an answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// By itself, or at the limit.
    Free,
    /// At the limit only (`ignore_eos`).
    AtLimit,
}

/// How an answer is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Whole,
    Streamed(UsageIn),
}

/// Which events of a stream carry token counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UsageIn {
    None,
    Last,
    Every,
}

/// Whether token ids come with the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenIds {
    Hidden,
    Shown,
}

/// A request that can be served, as far as its own fields say.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Request {
    pub(crate) prompts: Vec<Prompt>,
    /// Index of the adapter that answers; `None` for the model itself.
    pub(crate) adapter: Option<usize>,
    pub(crate) max_tokens: u32,
    pub(crate) min_tokens: u32,
    pub(crate) ending: Ending,
    /// Texts before which an answer ends.
    pub(crate) stop: Vec<String>,
    /// Choices per prompt.
    pub(crate) n: u32,
    pub(crate) form: Form,
    pub(crate) token_ids: TokenIds,
    pub(crate) priority: i32,
    pub(crate) seed: Option<u64>,
    /// The format of the answer.
    pub(crate) shape: AnswerFormat,
}

/// Answer tokens of a completion that sets no limit (OpenAI's default).
const COMPLETION_DEFAULT: u32 = 16;

impl Request {
    /// Reads a body.
    pub(crate) fn read(endpoint: Endpoint, body: &[u8], served: ServedModels<'_>) -> Result<Self, Refusal> {
        let object = object(body)?;
        let mut fields = Fields::of(&object);
        let prompts = prompts(&mut fields, endpoint);
        let model = fields.text("model");
        let limit = fields.whole("max_tokens");
        let (limit, usual) = match endpoint {
            Endpoint::Chat => (fields.whole("max_completion_tokens").or(limit), None),
            Endpoint::Completions => (limit, Some(COMPLETION_DEFAULT)),
        };
        let least = fields.whole("min_tokens");
        let ending = if fields.flag("ignore_eos") { Ending::AtLimit } else { Ending::Free };
        let stop = fields.texts("stop");
        let n = fields.whole("n");
        let form = form(&mut fields);
        let token_ids = if fields.flag("return_token_ids") { TokenIds::Shown } else { TokenIds::Hidden };
        let urgency = fields.whole("priority");
        let seed = fields.whole("seed").map(i64::cast_unsigned);
        let shape = match endpoint {
            Endpoint::Chat => AnswerFormat::read(&mut fields),
            Endpoint::Completions => AnswerFormat::Free,
        };
        fields.check()?;

        let adapter = served.adapter(model)?;
        if form == Form::Whole && has_stream_options(&fields) {
            let words = "Stream options can only be defined when `stream=True`.";
            return Err(Refusal::named("stream_options", words));
        }
        let longest = prompts.iter().map(Prompt::tokens).max().unwrap_or(0);
        let max_tokens = served.max_tokens(limit, usual, longest)?;
        if prompts.iter().any(|prompt| prompt.tokens() == 0) || prompts.is_empty() {
            return Err(Refusal::bad_request("The prompt must contain at least one token."));
        }
        if stop.iter().any(String::is_empty) {
            return Err(Refusal::bad_request("stop cannot contain an empty string."));
        }
        Ok(Self {
            min_tokens: min_tokens(least, max_tokens)?,
            n: choices(n)?,
            priority: priority(urgency),
            prompts,
            adapter,
            max_tokens,
            ending,
            stop,
            form,
            token_ids,
            seed,
            shape,
        })
    }
}

fn prompts(fields: &mut Fields<'_>, endpoint: Endpoint) -> Vec<Prompt> {
    let name = match endpoint {
        Endpoint::Chat => "messages",
        Endpoint::Completions => "prompt",
    };
    let Some(value) = fields.value(name) else {
        fields.missing(name);
        return Vec::new();
    };
    match (endpoint, value) {
        (Endpoint::Chat, Value::Array(_)) | (Endpoint::Completions, Value::String(_)) => {
            vec![Prompt::of_texts(value)]
        }
        (Endpoint::Chat, _) => {
            fields.mistake("list_type", name, "Input should be a valid list", value);
            Vec::new()
        }
        // A list of numbers is one prompt; a list of texts or of lists is several.
        (Endpoint::Completions, Value::Array(items))
            if items.first().is_some_and(|item| !item.is_number()) =>
        {
            items.iter().map(Prompt::of_texts).collect()
        }
        (Endpoint::Completions, Value::Array(_)) => vec![Prompt::of_texts(value)],
        (Endpoint::Completions, _) => {
            fields.mistake("string_type", name, "Input should be a valid string", value);
            Vec::new()
        }
    }
}

fn form(fields: &mut Fields<'_>) -> Form {
    if !fields.flag("stream") {
        return Form::Whole;
    }
    let Some(options) = fields.value("stream_options").and_then(Value::as_object) else {
        return Form::Streamed(UsageIn::None);
    };
    let mut options = Fields::of(options);
    let usage = match (options.flag("include_usage"), options.flag("continuous_usage_stats")) {
        (false, _) => UsageIn::None,
        (true, false) => UsageIn::Last,
        (true, true) => UsageIn::Every,
    };
    fields.adopt(options);
    Form::Streamed(usage)
}

/// As Python sees it: an empty object is false.
fn has_stream_options(fields: &Fields<'_>) -> bool {
    fields
        .value("stream_options")
        .is_some_and(|options| options.as_object().is_none_or(|options| !options.is_empty()))
}
