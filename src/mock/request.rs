//! Reads a request as vLLM does: what is asked, or every mistake in it.

use serde_json::{Map, Value};

use super::prompt::Prompt;
use super::refusal::{Mistake, Refusal};
use crate::simulator::Policy;

/// Which endpoint a request came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Endpoint {
    Chat,
    Completions,
}

/// When an answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// By itself, or at the limit.
    Free,
    /// At the limit only (`ignore_eos`).
    AtLimit,
}

/// How an answer is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Whole,
    Streamed(UsageIn),
}

/// Which events of a stream carry token counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UsageIn {
    None,
    Last,
    Every,
}

/// Whether token ids come with the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenIds {
    Hidden,
    Shown,
}

/// A request that can be served, as far as its own words go.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Request {
    pub(super) prompts: Vec<Prompt>,
    pub(super) max_tokens: u32,
    pub(super) min_tokens: u32,
    pub(super) ending: Ending,
    /// Answers to each prompt.
    pub(super) n: u32,
    pub(super) form: Form,
    pub(super) token_ids: TokenIds,
    pub(super) priority: i32,
    pub(super) seed: Option<u64>,
}

/// What a request is held against.
#[derive(Clone, Copy, Debug)]
pub(super) struct Served<'a> {
    pub(super) model: &'a str,
    pub(super) max_model_len: u32,
    pub(super) policy: Policy,
}

/// Most answers to one prompt, so that no request can ask for all memory.
const MOST_CHOICES: u64 = 128;

/// Answer tokens of a completion that sets no limit (OpenAI's default).
const COMPLETION_DEFAULT: u32 = 16;

impl Request {
    /// Reads a body.
    pub(super) fn read(endpoint: Endpoint, body: &[u8], served: Served<'_>) -> Result<Self, Refusal> {
        let fields = object(body)?;
        let mut reader = Reader { fields: &fields, mistakes: Vec::new() };
        let prompts = reader.prompts(endpoint);
        let model = reader.text("model");
        let limit = reader.whole("max_tokens");
        let limit = match endpoint {
            Endpoint::Chat => reader.whole("max_completion_tokens").or(limit),
            Endpoint::Completions => limit,
        };
        let min_tokens = reader.whole("min_tokens").unwrap_or(0);
        let ending = if reader.flag("ignore_eos") { Ending::AtLimit } else { Ending::Free };
        let n = reader.whole("n").unwrap_or(1);
        let form = reader.form();
        let token_ids = if reader.flag("return_token_ids") { TokenIds::Shown } else { TokenIds::Hidden };
        let priority = reader.whole("priority").unwrap_or(0);
        let seed = reader.whole("seed").map(i64::cast_unsigned);
        if !reader.mistakes.is_empty() {
            return Err(Refusal::validation(&reader.mistakes));
        }

        if let Some(model) = model.filter(|model| model != served.model) {
            return Err(Refusal::unknown_model(&model, served.model));
        }
        let context = i64::from(served.max_model_len);
        let longest = prompts.iter().map(Prompt::tokens).max().unwrap_or(0);
        let input = i64::from(longest);
        if let Some(limit) = limit {
            if limit < 1 {
                let words = format!("max_tokens must be at least 1, got {limit}.");
                return Err(Refusal::parameter("max_tokens", limit, &words));
            }
            if limit > context {
                let words = format!(
                    "max_tokens={limit} cannot be greater than max_model_len={context}. Please request fewer output \
                     tokens."
                );
                return Err(Refusal::parameter("max_tokens", limit, &words));
            }
        }
        if input >= context {
            let words = format!(
                "This model's maximum context length is {context} tokens. However, your prompt contains at least {} \
                 input tokens, which exceeds this limit even without any output tokens. Please reduce the length of \
                 the input prompt.",
                context + 1
            );
            return Err(Refusal::parameter("input_tokens", context + 1, &words));
        }
        if longest == 0 {
            return Err(Refusal::bad_request("The prompt must contain at least one token."));
        }
        let default = match endpoint {
            Endpoint::Chat => context - input,
            Endpoint::Completions => i64::from(COMPLETION_DEFAULT).min(context - input),
        };
        let limit = limit.unwrap_or(default);
        if input + limit > context {
            let words = format!(
                "This model's maximum context length is {context} tokens. However, you requested {limit} output tokens \
                 and your prompt contains {input} input tokens, for a total of {} tokens. Please reduce the length of \
                 the input prompt or the number of requested output tokens.",
                input + limit
            );
            return Err(Refusal::parameter("input_tokens", input, &words));
        }
        if min_tokens < 0 || min_tokens > limit {
            let words = format!("min_tokens must be between 0 and max_tokens={limit}, got {min_tokens}.");
            return Err(Refusal::parameter("min_tokens", min_tokens, &words));
        }
        if n < 1 || n > MOST_CHOICES.cast_signed() {
            let words = format!("n must be between 1 and {MOST_CHOICES}, got {n}.");
            return Err(Refusal::parameter("n", n, &words));
        }
        if priority != 0 && served.policy != Policy::Priority {
            return Err(Refusal::bad_request(&format!(
                "Got priority {priority} but Priority scheduling is not enabled."
            )));
        }
        Ok(Self {
            prompts,
            max_tokens: limit as u32,
            min_tokens: min_tokens as u32,
            ending,
            n: n as u32,
            form,
            token_ids,
            priority: priority.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32,
            seed,
        })
    }
}

/// The fields of a JSON body.
pub(super) fn object(body: &[u8]) -> Result<Map<String, Value>, Refusal> {
    match serde_json::from_slice(body) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(other) => Err(Refusal::validation(&[Mistake::field(
            "model_attributes_type",
            "",
            "Input should be a valid dictionary or object to extract fields from",
            &other,
        )])),
        Err(error) => {
            let lines = body.split_inclusive(|byte| *byte == b'\n').take(error.line().saturating_sub(1));
            let at = lines.map(<[u8]>::len).sum::<usize>() + error.column();
            Err(Refusal::validation(&[Mistake::json(at)]))
        }
    }
}

/// Takes fields out of a body and gathers what is wrong with them.
struct Reader<'a> {
    fields: &'a Map<String, Value>,
    mistakes: Vec<Mistake>,
}

impl Reader<'_> {
    fn mistake(&mut self, kind: &str, place: &str, words: &str, came: &Value) {
        self.mistakes.push(Mistake::field(kind, place, words, came));
    }

    fn value(&self, name: &str) -> Option<&Value> {
        self.fields.get(name).filter(|value| !value.is_null())
    }

    fn prompts(&mut self, endpoint: Endpoint) -> Vec<Prompt> {
        let name = match endpoint {
            Endpoint::Chat => "messages",
            Endpoint::Completions => "prompt",
        };
        let Some(value) = self.value(name).cloned() else {
            let whole = Value::Object(self.fields.clone());
            self.mistake("missing", name, "Field required", &whole);
            return Vec::new();
        };
        match (endpoint, &value) {
            (Endpoint::Chat, Value::Array(_)) | (Endpoint::Completions, Value::String(_)) => {
                vec![Prompt::of_texts(&value)]
            }
            (Endpoint::Chat, _) => {
                self.mistake("list_type", name, "Input should be a valid list", &value);
                Vec::new()
            }
            // A list of numbers is one prompt; a list of texts or of lists is several.
            (Endpoint::Completions, Value::Array(items))
                if items.first().is_some_and(|item| !item.is_number()) =>
            {
                items.iter().map(Prompt::of_texts).collect()
            }
            (Endpoint::Completions, Value::Array(_)) => vec![Prompt::of_texts(&value)],
            (Endpoint::Completions, _) => {
                self.mistake("string_type", name, "Input should be a valid string", &value);
                Vec::new()
            }
        }
    }

    fn text(&mut self, name: &str) -> Option<String> {
        match self.value(name).cloned()? {
            Value::String(text) => Some(text),
            other => {
                self.mistake("string_type", name, "Input should be a valid string", &other);
                None
            }
        }
    }

    fn whole(&mut self, name: &str) -> Option<i64> {
        const WANTED: &str = "Input should be a valid integer";
        let value = self.value(name).cloned()?;
        let (kind, more) = match &value {
            Value::Number(number) => match number.as_i64().or_else(|| integral(number.as_f64()?)) {
                Some(whole) => return Some(whole),
                None => ("int_from_float", ", got a number with a fractional part"),
            },
            Value::String(text) => match text.trim().parse() {
                Ok(whole) => return Some(whole),
                Err(_) => ("int_parsing", ", unable to parse string as an integer"),
            },
            _ => ("int_type", ""),
        };
        self.mistake(kind, name, &format!("{WANTED}{more}"), &value);
        None
    }

    fn flag(&mut self, name: &str) -> bool {
        match self.value(name).cloned() {
            None => false,
            Some(Value::Bool(flag)) => flag,
            Some(other) => {
                self.mistake("bool_type", name, "Input should be a valid boolean", &other);
                false
            }
        }
    }

    fn form(&mut self) -> Form {
        if !self.flag("stream") {
            return Form::Whole;
        }
        let options = self.value("stream_options").and_then(Value::as_object).cloned().unwrap_or_default();
        let mut options = Reader { fields: &options, mistakes: Vec::new() };
        let usage = match (options.flag("include_usage"), options.flag("continuous_usage_stats")) {
            (false, _) => UsageIn::None,
            (true, false) => UsageIn::Last,
            (true, true) => UsageIn::Every,
        };
        self.mistakes.append(&mut options.mistakes);
        Form::Streamed(usage)
    }
}

fn integral(number: f64) -> Option<i64> {
    (number.fract() == 0.0 && number.abs() < 9e15).then_some(number as i64)
}

#[cfg(test)]
mod tests {
    use axum::response::IntoResponse as _;
    use http_body_util::BodyExt as _;
    use serde_json::json;

    use super::*;

    const SERVED: Served<'static> = Served { model: "tiny-llama", max_model_len: 4096, policy: Policy::Fcfs };

    fn read(endpoint: Endpoint, body: &str) -> Result<Request, Refusal> {
        Request::read(endpoint, body.as_bytes(), SERVED)
    }

    /// Bodies and answers as a live vLLM 0.32 gave them; the prompt's own tokens are not compared.
    #[tokio::test]
    async fn refusals_are_vllms_word_for_word() {
        for name in [
            "err_bad_model_stream",
            "err_malformed_json",
            "err_max_tokens_0_compl",
            "err_max_tokens_0_stream",
            "err_maxtokens_over_ctx",
            "err_missing_messages",
            "err_wrong_type",
        ] {
            let path = format!("{}/tests/data/transcripts/vllm/{name}.txt", env!("CARGO_MANIFEST_DIR"));
            let transcript = std::fs::read_to_string(path).unwrap();
            let line = |start: &str| {
                transcript
                    .lines()
                    .find(|line| line.starts_with(start))
                    .unwrap_or_else(|| panic!("{name}: {start}"))
            };
            let body = line("### body: ").trim_start_matches("### body: ");
            let endpoint =
                if line("### POST").contains("chat") { Endpoint::Chat } else { Endpoint::Completions };
            let theirs: Value = serde_json::from_str(line("{\"error\"")).unwrap();
            let response = read(endpoint, body).unwrap_err().into_response();
            let status = response.status().as_u16();
            let ours = response.into_body().collect().await.unwrap().to_bytes();
            assert_eq!(serde_json::from_slice::<Value>(&ours).unwrap(), theirs, "{name}");
            assert_eq!(json!(status), theirs["error"]["code"], "{name}");
        }
    }

    #[test]
    fn prompts_come_in_every_shape() {
        let prompts = |prompt: Value| {
            let request = read(Endpoint::Completions, &json!({ "prompt": prompt }).to_string()).unwrap();
            request.prompts.iter().map(Prompt::tokens).collect::<Vec<_>>()
        };
        assert_eq!(prompts(json!("a b c")), [3]);
        assert_eq!(prompts(json!(["a", "b c"])), [1, 2]);
        assert_eq!(prompts(json!([1, 2, 3, 4])), [4]);
        assert_eq!(prompts(json!([[1, 2], [3]])), [2, 1]);
    }

    #[test]
    fn the_newer_limit_wins_and_defaults_are_vllms() {
        let chat = |more: Value| {
            let mut body = json!({ "messages": [{ "role": "user", "content": "a b c d" }] });
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            read(Endpoint::Chat, &body.to_string()).unwrap()
        };
        assert_eq!(chat(json!({ "max_tokens": 5, "max_completion_tokens": 9 })).max_tokens, 9);
        assert_eq!(chat(json!({})).max_tokens, 4092);
        assert_eq!(
            chat(json!({ "stream": true, "stream_options": null })).form,
            Form::Streamed(UsageIn::None)
        );
        assert_eq!(read(Endpoint::Completions, r#"{"prompt":"a"}"#).unwrap().max_tokens, 16);
    }

    #[test]
    fn a_priority_needs_priority_scheduling() {
        let body = br#"{"prompt":"a","priority":-1}"#;
        let served = Served { policy: Policy::Priority, ..SERVED };
        assert_eq!(Request::read(Endpoint::Completions, body, served).unwrap().priority, -1);
        assert!(Request::read(Endpoint::Completions, body, SERVED).is_err());
    }
}
