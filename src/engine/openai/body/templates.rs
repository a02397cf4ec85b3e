//! The bodies of requests that differ in model, priority or answer format, and of golden prompts.

use bytes::Bytes;

use super::answer_form::RequestedForm;
use super::template::BodyTemplate;
use crate::engine::protocols::limits::TOKEN_LIMITS;
use crate::engine::target::{PriorityField, Sampling, Target};
use crate::generator::{PlannedRequest, Prompt};
use crate::workload::{AnswerEnding, GoldenCheck, Priority};

/// Prompt of a test request with a long answer. Models end the answer to it after more than [`TEST_TOKENS`], and the
/// answer to the other prompt before.
pub(crate) const LONG_ANSWER: &str = "Count from one to ten.";
pub(crate) const SHORT_ANSWER: &str = "Reply with one word: yes.";
/// The tokens that they request.
pub(crate) const TEST_TOKENS: u32 = 4;

/// The field of a request's priority.
const PRIORITY: &str = "priority";
/// Highest first.
const PRIORITIES: [Priority; 3] = [Priority::High, Priority::Medium, Priority::Low];

/// A template for every model and priority of a run's requests.
pub(crate) struct BodyTemplates {
    /// Templates for each form, text of a length first, and each model. There is one, or one per priority where that
    /// is sent.
    templates: Vec<BodyTemplate>,
    by_model: usize,
    by_form: usize,
    /// Index of each class's form; empty where all ask for text of a length.
    forms: Vec<usize>,
}

impl BodyTemplates {
    /// The templates for requests to `target`; those without a model of their own use `model`.
    pub(crate) fn new(target: &Target, model: &str) -> Self {
        let urgencies: Vec<Target> = match (target.priority, target.dialect.traits().priority) {
            (PriorityField::Sent, Some(order)) => PRIORITIES
                .iter()
                .map(|&priority| {
                    let mut of_priority = target.clone();
                    let value = order.value(priority).into();
                    of_priority.extra_body.0.entry(PRIORITY).or_insert(value);
                    of_priority
                })
                .collect(),
            _ => vec![target.clone()],
        };
        let models: Vec<&str> = match target.models.as_slice() {
            [] => vec![model],
            models => models.iter().map(String::as_str).collect(),
        };
        let mut asked = vec![RequestedForm::Words];
        let classes = target.answers.len().max(target.endings.len());
        let index = |class| {
            asked.push(match (target.answers.get(class), target.endings.get(class)) {
                (Some(Some(shape)), _) => RequestedForm::Shaped(shape),
                (_, Some(AnswerEnding::Natural)) => RequestedForm::Free,
                _ => return 0,
            });
            asked.len() - 1
        };
        let forms = (0..classes).map(index).collect();
        let urgencies = &urgencies;
        let of_form = |form| {
            let of_model = move |model| urgencies.iter().map(move |target| BodyTemplate::new(target, model, form));
            models.iter().copied().flat_map(of_model)
        };
        Self {
            templates: asked.into_iter().flat_map(of_form).collect(),
            by_model: urgencies.len(),
            by_form: urgencies.len() * models.len(),
            forms,
        }
    }

    /// The template for a request.
    pub(crate) fn of(&self, request: &PlannedRequest) -> &BodyTemplate {
        let urgency = PRIORITIES.iter().position(|&priority| priority == request.priority).unwrap_or(0);
        let model = usize::from(request.model.unwrap_or(0)) * self.by_model;
        let form = self.forms.get(usize::from(request.class)).copied().unwrap_or(0);
        let index = form * self.by_form + model + urgency % self.by_model;
        &self.templates[index.min(self.templates.len() - 1)]
    }

    /// A request for one token in each format, in order.
    pub(crate) fn probes(&self) -> impl Iterator<Item = Bytes> {
        let first = self.templates.iter().step_by(self.by_form).filter(|template| template.is_shaped());
        first.map(|template| template.render(&Prompt::Text(SHORT_ANSWER.to_owned()), 1))
    }

    /// Returns a test request with high priority. A server without priorities then refuses it before any load.
    pub(crate) fn test_request(&self, prompt: &Prompt) -> Bytes {
        self.templates[0].render(prompt, TEST_TOKENS)
    }

    /// Whether requests have their own prompts: the extra body does not replace them.
    pub(crate) fn takes_prompts(&self) -> bool {
        self.templates[0].takes_prompts()
    }
}

/// Fields that a golden prompt sets itself, whatever the extra body of the load says. Beside the prompt and the limit
/// of its length they are sampling, end and format of the answer.
const OWN_FIELDS: [&[&str]; 6] = [
    &["n", "min_tokens", "ignore_eos"],
    &["temperature", "top_p", "top_k", "min_p", "seed", "logit_bias"],
    &["presence_penalty", "frequency_penalty", "repetition_penalty", "stop", "stop_token_ids"],
    &["response_format", "tools", "tool_choice", "structured_outputs", "json_schema", "regex", "grammar"],
    &["guided_json", "guided_regex", "guided_choice", "guided_grammar"],
    &["stop_sequences", "output_config"],
];

/// Returns the body of this golden prompt for `model`. It asks for the likeliest tokens, the same each time, until the
/// answer ends by itself.
pub(crate) fn golden_body(target: &Target, model: &str, check: &GoldenCheck) -> Bytes {
    let mut target = target.clone();
    target.sampling = Sampling { temperature: Some(0.0), top_p: None, top_k: None, seed: Some(0) };
    let is_own = |name: &str| OWN_FIELDS.concat().contains(&name) || TOKEN_LIMITS.contains(&name);
    let endpoint = target.endpoint;
    target.extra_body.0.retain(|name, _| !is_own(name) && name != endpoint.prompt_field);
    let within = endpoint.within.and_then(|name| target.extra_body.0.get_mut(name)?.as_object_mut());
    if let Some(parameters) = within {
        parameters.retain(|name, _| !is_own(name));
    }
    let prompt = match (&check.prompt, &check.messages) {
        (_, Some(messages)) => Prompt::Messages(messages.to_string()),
        (prompt, None) => Prompt::Text(prompt.clone().unwrap_or_default()),
    };
    BodyTemplate::new(&target, model, RequestedForm::Free).render(&prompt, check.max_tokens)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::engine::captured_text::CaptureText;
    use crate::record::EngineKind;
    use crate::workload::{AnswerShape, Expectation};

    fn target(dialect: EngineKind, priority: PriorityField) -> Target {
        let mut target = Target::new("http://x".parse().unwrap(), dialect);
        target.priority = priority;
        target
    }

    /// Model and priority in the body of a request of this model and priority.
    fn asked(target: &Target, model: Option<u16>, priority: Priority) -> (Value, Value) {
        let templates = BodyTemplates::new(target, "base");
        let planned = PlannedRequest { priority, model, ..PlannedRequest::default() };
        let body: Value = serde_json::from_slice(&templates.of(&planned).render(&Prompt::default(), 1)).unwrap();
        (body["model"].clone(), body["priority"].clone())
    }

    #[test]
    fn each_server_has_its_own_order_of_priorities() {
        let values = |dialect, priority| PRIORITIES.map(|of| asked(&target(dialect, priority), None, of).1);
        assert_eq!(values(EngineKind::Vllm, PriorityField::Sent), [json!(-1), json!(0), json!(1)]);
        assert_eq!(values(EngineKind::Sglang, PriorityField::Sent), [json!(1), json!(0), json!(-1)]);
        assert_eq!(values(EngineKind::Vllm, PriorityField::Unsent), [Value::Null, Value::Null, Value::Null]);
        assert_eq!(values(EngineKind::Openai, PriorityField::Sent), [Value::Null, Value::Null, Value::Null]);
        let mut fixed = target(EngineKind::Vllm, PriorityField::Sent);
        fixed.extra_body.0.insert(PRIORITY.into(), json!(7));
        assert_eq!(asked(&fixed, None, Priority::High).1, json!(7), "the extra body wins");
    }

    #[test]
    fn each_class_asks_for_its_own_form_whatever_its_model_and_priority() {
        let mut mixed = target(EngineKind::Vllm, PriorityField::Sent);
        mixed.models = vec!["a".into(), "b".into()];
        mixed.answers = vec![None, Some(AnswerShape::Json { in_slo: false }), None];
        mixed.endings = vec![AnswerEnding::Forced, AnswerEnding::Natural, AnswerEnding::Natural];
        let templates = BodyTemplates::new(&mixed, "base");
        for (class, captured) in [(0, CaptureText::No), (1, CaptureText::Yes), (2, CaptureText::No)] {
            for (model, name) in [(0, "a"), (1, "b")] {
                let planned =
                    PlannedRequest { class, model: Some(model), priority: Priority::Low, ..Default::default() };
                let body: Value =
                    serde_json::from_slice(&templates.of(&planned).render(&Prompt::default(), 1)).unwrap();
                assert_eq!((&body["model"], &body["priority"]), (&json!(name), &json!(1)));
                assert_eq!(body.get("response_format").is_some(), class == 1, "{body}");
                assert_eq!(
                    (body.get("ignore_eos").is_some(), body.get("min_tokens").is_some()),
                    (class == 0, class == 0)
                );
                assert_eq!(body["max_tokens"], 1, "the limit is sent to all");
                assert_eq!(templates.of(&planned).capture, captured);
            }
        }
        assert_eq!(templates.probes().count(), 1);
    }

    #[test]
    fn each_request_asks_for_its_own_model() {
        let mut mixed = target(EngineKind::Vllm, PriorityField::Sent);
        mixed.models = vec!["a".into(), "b".into()];
        for (model, name) in [(0, "a"), (1, "b")] {
            assert_eq!(asked(&mixed, Some(model), Priority::Low), (json!(name), json!(1)));
        }
        assert_eq!(asked(&target(EngineKind::Vllm, PriorityField::Unsent), None, Priority::Low).0, json!("base"));
    }

    #[test]
    fn a_golden_prompt_is_asked_the_same_way_whatever_the_load_is_reported() {
        let mut target = target(EngineKind::Vllm, PriorityField::Unsent);
        target.sampling.temperature = Some(0.7);
        let extra = json!({ "top_p": 0.5, "ignore_eos": true, "min_tokens": 9, "chat_template_kwargs": { "a": 1 } });
        target.extra_body.0 = extra.as_object().unwrap().clone();
        let check = GoldenCheck {
            slice: None,
            name: "sum".to_owned(),
            prompt: Some("2 + 2?".to_owned()),
            messages: None,
            max_tokens: 5,
            expect: Expectation::default(),
        };
        let body: Value = serde_json::from_slice(&golden_body(&target, "m", &check)).unwrap();
        assert_eq!(
            body,
            json!({ "model": "m", "stream": true, "temperature": 0.0, "seed": 0, "max_tokens": 5,
                    "stream_options": { "include_usage": true, "continuous_usage_stats": true },
                    "chat_template_kwargs": { "a": 1 }, "messages": [{ "role": "user", "content": "2 + 2?" }] })
        );
    }
}
