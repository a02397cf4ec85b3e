//! Writes the body of a request.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::answer_form::RequestedForm;
use super::parts::BodyParts;
use crate::engine::answer::PreparedRequest;
use crate::engine::captured_text::CaptureText;
use crate::engine::dialect_traits::{LengthFields, LengthForcing};
use crate::engine::protocols::templates::body::TemplateBody;
use crate::engine::target::{AnswerForm, Target};
use crate::generator::{Prompt, RequestSpec};
use crate::record::WorkKind;

/// The body of every request of a run. Constant fields are serialised once, the prompt and the length are spliced in.
/// It may hold credentials, so it has no `Debug`.
pub(crate) struct BodyTemplate {
    parts: BodyParts,
    /// Whether lengths are forced.
    pub(crate) is_forced: bool,
    /// The kind of work that answers count as.
    work: WorkKind,
    /// Whether the text of every answer is captured, for its format is checked.
    pub(super) capture: CaptureText,
}

impl BodyTemplate {
    /// The template for requests to `target` and `model` with this answer format.
    pub(crate) fn new(target: &Target, model: &str, form: RequestedForm<'_>) -> Self {
        let length = target.length_fields();
        let forcing = if form.is_forced() { length.forcing } else { LengthForcing::None };
        let checked = matches!(form, RequestedForm::Shaped(_));
        Self {
            parts: match target.endpoint.template {
                Some(template) => of_template(template, target, model, forcing),
                None => field_by_field(target, model, form, LengthFields { forcing, ..length }),
            },
            is_forced: forcing != LengthForcing::None,
            work: target.endpoint.work,
            capture: if checked { CaptureText::Yes } else { CaptureText::No },
        }
    }

    /// Whether requests use their own prompts: the extra body may have fixed it.
    pub(crate) fn takes_prompts(&self) -> bool {
        self.parts.have_prompt()
    }

    /// Whether it requests an answer format.
    pub(super) fn is_shaped(&self) -> bool {
        self.capture == CaptureText::Yes
    }

    /// Returns the request with its body. Its answer's text is captured where `capture` or the format asks for it.
    pub(crate) fn prepare(&self, request: &RequestSpec, capture: CaptureText) -> PreparedRequest {
        let RequestSpec { planned, prompt } = request;
        let capture = if capture == CaptureText::Yes { capture } else { self.capture };
        let body = self.render(prompt, planned.output_tokens);
        let session = planned.session();
        PreparedRequest { capture, session, work: self.work, ..PreparedRequest::new(planned.index, body) }
    }

    /// The body that requests `output_tokens` tokens after `prompt`.
    ///
    /// A prompt that an endpoint cannot carry is refused before a run. Here it is written all the same, and
    /// the server reports the error.
    pub(crate) fn render(&self, prompt: &Prompt, output_tokens: u32) -> Bytes {
        let length = match prompt {
            Prompt::Text(text) | Prompt::Messages(text) => text.len() + text.len() / 16,
            Prompt::Dialogue(dialogue) => {
                dialogue.messages.len() + dialogue.tools.as_ref().map_or(0, |tools| tools.len())
            }
            Prompt::TokenIds(ids) => ids.len() * 7,
            Prompt::Audio(file) => file.len(),
            Prompt::Inputs { query, texts } => {
                query.iter().chain(texts).map(|text| text.len() + text.len() / 16 + 4).sum()
            }
            Prompt::Conversation(said) => said.iter().map(|text| text.len() + text.len() / 16 + 40).sum(),
        };
        let mut body = Vec::with_capacity(self.parts.shared_bytes() + length + 128);
        self.parts.write(&mut body, prompt, output_tokens);
        body.into()
    }
}

/// The body of a protocol without a template. Its own fields come first, then what each request has of its own.
fn field_by_field(target: &Target, model: &str, form: RequestedForm<'_>, length: LengthFields) -> BodyParts {
    let (traits, protocol) = (target.dialect.traits(), target.endpoint);
    let streamed = target.form == AnswerForm::Streamed;
    let mut fields = Map::new();
    if protocol.takes("model") {
        fields.insert("model".into(), model.into());
    }
    if protocol.form.is_none() {
        fields.insert("stream".into(), streamed.into());
    }
    if streamed && protocol.asks_for_usage {
        let mut options = Map::from_iter([("include_usage".to_owned(), true.into())]);
        if traits.continuous_usage {
            options.insert("continuous_usage_stats".into(), true.into());
        }
        // A form has no objects: vLLM's names of these fields have both names in them.
        if protocol.is_form {
            fields.extend(options.into_iter().map(|(name, value)| (format!("stream_{name}"), value)));
        } else {
            fields.insert("stream_options".into(), options.into());
        }
    }
    let sampling = &target.sampling;
    let options: [(&str, Option<Value>); 4] = [
        ("temperature", sampling.temperature.map(Value::from)),
        ("top_p", sampling.top_p.map(Value::from)),
        ("top_k", sampling.top_k.map(Value::from)),
        ("seed", sampling.seed.map(Value::from)),
    ];
    let carried = options.into_iter().filter(|(name, _)| protocol.takes(name));
    let mut parameters: Map<_, _> = carried.filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
    let LengthFields { limit, forcing } = length;
    if forcing != LengthForcing::None {
        parameters.insert("ignore_eos".into(), true.into());
    }
    match protocol.within {
        Some(name) => _ = fields.insert(name.to_owned(), parameters.into()),
        None => fields.extend(parameters),
    }
    let mut length_fields: Vec<_> = if protocol.limits.is_empty() { Vec::new() } else { vec![limit] };
    if forcing == LengthForcing::IgnoreEosAndMinTokens {
        length_fields.push("min_tokens");
    }
    let fixed_parameters = protocol.parameters_in(&target.extra_body.0);
    length_fields.retain(|name| fixed_parameters.is_none_or(|set| !set.contains_key(*name)));
    form.ask(&mut fields, protocol, traits.schema_field);
    merge(&mut fields, &target.extra_body.0);
    let nested = protocol.within.map(|name| (name, fields.shift_remove(name).unwrap_or_else(|| json!({}))));
    let mut parts = BodyParts::new(protocol);
    parts.begin(fields);
    if let Some((name, parameters)) = &nested {
        parts.name(name);
        parts.share_open(parameters);
    }
    for name in length_fields {
        parts.name(name);
        parts.length();
    }
    if nested.is_some() {
        parts.share(b"}");
    }
    if !target.fixes(protocol.prompt_field) {
        parts.name(protocol.prompt_field);
        parts.prompt();
    }
    parts.end();
    parts
}

/// The body that a template describes.
fn of_template(template: &TemplateBody, target: &Target, model: &str, forcing: LengthForcing) -> BodyParts {
    let sampling = &target.sampling;
    let own = |name: &str| Some(Value::from(format!("{{{name}}}")));
    let mut fields = template.filled(&|name| match name {
        "model" => Some(model.into()),
        "stream" => Some((target.form == AnswerForm::Streamed).into()),
        "temperature" => sampling.temperature.map(Value::from),
        "temperature_above_0" => sampling.temperature.filter(|temperature| *temperature > 0.0).map(Value::from),
        "do_sample" => sampling.temperature.map(|temperature| (temperature > 0.0).into()),
        "top_p" => sampling.top_p.map(Value::from),
        "top_k" => sampling.top_k.map(Value::from),
        "seed" => sampling.seed.map(Value::from),
        "ignore_eos" => (forcing != LengthForcing::None).then_some(true.into()),
        "min_tokens" => own("output_tokens").filter(|_| forcing == LengthForcing::IgnoreEosAndMinTokens),
        name => own(name),
    });
    merge(&mut fields, &target.extra_body.0);
    let mut parts = BodyParts::new(target.endpoint);
    parts.value(&fields.into());
    parts
}

/// JSON Merge Patch (RFC 7386, section 2), for objects.
fn merge(into: &mut Map<String, Value>, patch: &Map<String, Value>) {
    for (name, value) in patch {
        match (value, into.get_mut(name)) {
            (Value::Null, _) => {
                into.remove(name);
            }
            (Value::Object(patch), Some(Value::Object(into))) => merge(into, patch),
            (Value::Object(patch), _) => {
                let mut fresh = Map::new();
                merge(&mut fresh, patch);
                into.insert(name.clone(), Value::Object(fresh));
            }
            _ => {
                into.insert(name.clone(), value.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::protocols::{CHAT, COMPLETIONS};
    use crate::record::EngineKind;

    fn target(dialect: EngineKind) -> Target {
        Target::new("http://x".parse().unwrap(), dialect)
    }

    fn body(target: &Target, prompt: &str) -> Value {
        serde_json::from_slice(
            &BodyTemplate::new(target, "m", RequestedForm::Words).render(&Prompt::Text(prompt.to_owned()), 7),
        )
        .unwrap()
    }

    #[test]
    fn chat_for_vllm() {
        assert_eq!(
            body(&target(EngineKind::Vllm), "say \"é\"\n"),
            json!({"model": "m", "stream": true, "temperature": 0.0, "ignore_eos": true,
                   "stream_options": {"include_usage": true, "continuous_usage_stats": true},
                   "max_tokens": 7, "min_tokens": 7,
                   "messages": [{"role": "user", "content": "say \"é\"\n"}]})
        );
    }

    #[test]
    fn a_conversation_is_messages_in_a_chat_and_one_text_else() {
        let said = Prompt::Conversation(["a \"b\"", "c\n", " d"].map(Into::into).to_vec());
        let rendered = |target: &Target| -> Value {
            serde_json::from_slice(&BodyTemplate::new(target, "m", RequestedForm::Words).render(&said, 7)).unwrap()
        };
        let mut target = target(EngineKind::Openai);
        let messages = json!([
            {"role": "user", "content": "a \"b\""},
            {"role": "assistant", "content": "c\n"},
            {"role": "user", "content": " d"}
        ]);
        assert_eq!(rendered(&target)["messages"], messages);
        target.endpoint = &COMPLETIONS;
        assert_eq!(rendered(&target)["prompt"], "a \"b\"c\n d");
    }

    #[test]
    fn whole_completions_for_openai() {
        let mut target = target(EngineKind::Openai);
        target.form = AnswerForm::Whole;
        target.sampling = Sampling { temperature: None, top_p: Some(0.5), top_k: None, seed: Some(3) };
        assert_eq!(
            body(&target, "x")["max_completion_tokens"],
            json!(7),
            "the newer field is the one that OpenAI's newer models take"
        );
        target.endpoint = &COMPLETIONS;
        assert_eq!(
            body(&target, "x"),
            json!({"model": "m", "stream": false, "top_p": 0.5, "seed": 3, "max_tokens": 7, "prompt": "x"})
        );
    }

    #[test]
    fn messages_and_token_ids_are_sent_as_they_are() {
        let mut target = target(EngineKind::Openai);
        let rendered = |target: &Target, prompt: Prompt| {
            let body = BodyTemplate::new(target, "m", RequestedForm::Words).render(&prompt, 7);
            String::from_utf8(body.to_vec()).unwrap()
        };
        let messages = r#"[ {"role":"system", "content":"a"},{"role":"user","content":null,"name":"x"} ]"#;
        let body = rendered(&target, Prompt::Messages(messages.to_owned()));
        assert!(body.ends_with(&format!(r#""messages":{messages}}}"#)), "{body}");
        target.endpoint = &COMPLETIONS;
        let body = rendered(&target, Prompt::TokenIds(vec![1, 20, 300]));
        assert!(body.ends_with(r#""prompt":[1,20,300]}"#), "{body}");
        // A completion has no roles: the texts stand one after another.
        let body = rendered(&target, Prompt::Messages(messages.replace("null", "\"b\"")));
        assert_eq!(serde_json::from_str::<Value>(&body).unwrap()["prompt"], "a\n\nb");
        target.endpoint = &CHAT;
        let body = rendered(&target, Prompt::TokenIds(vec![1]));
        assert_eq!(serde_json::from_str::<Value>(&body).unwrap()["messages"][0]["content"], json!([1]));
    }

    #[test]
    fn the_extra_body_wins_merges_and_takes_out() {
        let mut target = target(EngineKind::Vllm);
        let extra = json!({"stream_options": {"continuous_usage_stats": false}, "min_tokens": null,
                           "max_tokens": 3, "ignore_eos": null, "guided": {"a": {"b": 1, "c": null}},
                           "messages": [], "model": "other"});
        target.extra_body.0 = extra.as_object().unwrap().clone();
        assert_eq!(
            body(&target, "x"),
            json!({"model": "other", "stream": true, "temperature": 0.0, "max_tokens": 3,
                   "stream_options": {"include_usage": true, "continuous_usage_stats": false},
                   "guided": {"a": {"b": 1}}, "messages": []})
        );
    }

    #[test]
    fn a_request_does_not_show_what_may_be_secret() {
        let mut target = target(EngineKind::Vllm);
        target.extra_body.0.insert("api_key".to_owned(), "hunter2".into());
        let template = BodyTemplate::new(&target, "m", RequestedForm::Words);
        let request = PreparedRequest::new(7, template.render(&Prompt::default(), 1));
        assert!(String::from_utf8_lossy(&request.body).contains("hunter2"), "it is sent");
        let shown = format!("{request:?}");
        let bytes = format!("{:?}", b"hunter2").replace(['[', ']'], "");
        assert!(!shown.contains("hunter2") && !shown.contains(&bytes), "{shown}");
    }

    use crate::engine::target::Sampling;
}
