//! Writes the body of a golden prompt.

use bytes::Bytes;

use super::answer_form::Form;
use super::template::BodyTemplate;
use crate::engine::target::{Sampling, Target};
use crate::generator::Prompt;
use crate::workload::GoldenCheck;

/// Fields that a golden prompt sets itself, whatever the extra body of the load says.
const OWN_FIELDS: [&str; 31] = [
    "messages",
    "prompt",
    "max_tokens",
    "max_completion_tokens",
    "min_tokens",
    "ignore_eos",
    "temperature",
    "top_p",
    "top_k",
    "seed",
    "n",
    "response_format",
    "tools",
    "tool_choice",
    "max_new_tokens",
    "n_predict",
    "stop",
    "stop_token_ids",
    "min_p",
    "logit_bias",
    "presence_penalty",
    "frequency_penalty",
    "repetition_penalty",
    "guided_json",
    "guided_regex",
    "guided_choice",
    "guided_grammar",
    "structured_outputs",
    "json_schema",
    "regex",
    "grammar",
];

/// The body of this golden prompt for `model`: the likeliest tokens, the same each time, until the answer
/// ends by itself.
pub(crate) fn body(target: &Target, model: &str, check: &GoldenCheck) -> Bytes {
    let mut target = target.clone();
    target.sampling = Sampling { temperature: Some(0.0), top_p: None, top_k: None, seed: Some(0) };
    target.extra_body.retain(|name, _| !OWN_FIELDS.contains(&name.as_str()));
    let prompt = match (&check.prompt, &check.messages) {
        (_, Some(messages)) => Prompt::Messages(messages.to_string()),
        (prompt, None) => Prompt::Text(prompt.clone().unwrap_or_default()),
    };
    BodyTemplate::new(&target, model, Form::Free).render(&prompt, check.max_tokens)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::engine::dialect::Dialect;
    use crate::workload::Expectation;

    #[test]
    fn a_golden_prompt_is_asked_the_same_way_whatever_the_load_is_reported() {
        let mut target = Target::new("http://x".parse().unwrap(), Dialect::Vllm);
        target.sampling.temperature = Some(0.7);
        let extra =
            json!({ "top_p": 0.5, "ignore_eos": true, "min_tokens": 9, "chat_template_kwargs": { "a": 1 } });
        target.extra_body = extra.as_object().unwrap().clone();
        let check = GoldenCheck {
            name: "sum".to_owned(),
            prompt: Some("2 + 2?".to_owned()),
            messages: None,
            max_tokens: 5,
            expect: Expectation::default(),
        };
        let body: Value = serde_json::from_slice(&body(&target, "m", &check)).unwrap();
        assert_eq!(
            body,
            json!({ "model": "m", "stream": true, "temperature": 0.0, "seed": 0, "max_tokens": 5,
                    "stream_options": { "include_usage": true, "continuous_usage_stats": true },
                    "chat_template_kwargs": { "a": 1 }, "messages": [{ "role": "user", "content": "2 + 2?" }] })
        );
    }
}
