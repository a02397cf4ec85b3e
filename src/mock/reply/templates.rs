//! Answers of TGI, and of TensorRT-LLM behind Triton, as their own endpoints write them.

use std::ops::Range;

use serde_json::{Value, json};

use super::answer::{Reply, ReplyEvent, Wording};
use crate::engine::{AnswerForm, Protocol};
use crate::mock::faults::Fault;
use crate::mock::metrics::Finish;
use crate::mock::refusal;

/// Answers of Text Generation Inference in one form.
struct Tgi(AnswerForm);

/// Answers of TensorRT-LLM behind Triton in one form.
struct Triton(AnswerForm);

/// The wording of `/generate_stream`.
pub(crate) static TGI: &dyn Wording = &Tgi(AnswerForm::Streamed);
/// The wording of TGI's `/generate`.
pub(super) static TGI_WHOLE: &dyn Wording = &Tgi(AnswerForm::Whole);
/// The wording of Triton's `generate_stream`.
pub(crate) static TRITON: &dyn Wording = &Triton(AnswerForm::Streamed);
/// The wording of Triton's `generate`.
pub(crate) static TRITON_WHOLE: &dyn Wording = &Triton(AnswerForm::Whole);

/// The ready-made template of this name, for answers in a form.
fn ready_made(name: &str, form: AnswerForm) -> &'static Protocol {
    Protocol::named(name).and_then(|protocol| protocol.answering_in(form)).map_or_else(Default::default, |(of, _)| of)
}

/// The words of an error in the form of chats.
fn words(of_chats: &Value) -> &Value {
    let said = of_chats.pointer("/error/message").or_else(|| of_chats.get("detail"));
    said.unwrap_or(of_chats)
}

impl Wording for Tgi {
    fn protocol(&self) -> &'static Protocol {
        ready_made("tgi", self.0)
    }

    fn id_prefix(&self) -> &'static str {
        "tgi"
    }

    fn error(&self, of_chats: &Value) -> Option<Value> {
        Some(json!({ "error": words(of_chats), "error_type": "validation" }))
    }

    fn head(&self, (id, _): (&str, &str), _: AnswerForm) -> String {
        id.to_owned()
    }

    fn first(&self, _: &Reply) -> Vec<ReplyEvent> {
        Vec::new()
    }

    fn chunk(&self, reply: &Reply, index: usize, tokens: Range<u32>) -> Vec<ReplyEvent> {
        // The last token comes with what is said of the whole.
        let last = reply.choices[index].planned.saturating_sub(1);
        tokens.filter(|token| *token < last).map(|token| tgi_token(reply, token).to_string().into()).collect()
    }

    fn last(&self, reply: &Reply) -> Vec<ReplyEvent> {
        let Some(choice) = reply.choices.first() else { return Vec::new() };
        let mut event = tgi_token(reply, choice.planned.saturating_sub(1));
        event["generated_text"] = choice.text.tokens(0..choice.planned).into();
        event["details"] = tgi_details(reply);
        vec![event.to_string().into()]
    }

    fn failure(&self, _: &Reply) -> Vec<ReplyEvent> {
        vec![json!({ "error": refusal::BROKEN, "error_type": "generation" }).to_string().into()]
    }

    fn whole(&self, reply: &Reply) -> String {
        let text = reply.choices.first().map(|choice| choice.text.tokens(0..choice.planned));
        json!({ "generated_text": text, "details": tgi_details(reply) }).to_string()
    }
}

/// The event of one token.
fn tgi_token(reply: &Reply, token: u32) -> Value {
    let text = reply.choices.first().map(|choice| &choice.text);
    let said =
        text.map(|text| json!({ "id": text.id(token), "text": text.token(token), "logprob": 0.0, "special": false }));
    json!({ "index": token + 1, "token": said, "generated_text": null, "details": null })
}

/// The details at the end of an answer. Only those of a stream count the prompt.
fn tgi_details(reply: &Reply) -> Value {
    let finish = match reply.choices.first().map(|choice| (choice.finish, &choice.stop_reason)) {
        Some((Finish::Length, _)) => "length",
        Some((_, Some(_))) => "stop_sequence",
        _ => "eos_token",
    };
    let mut details = json!({ "finish_reason": finish, "seed": null });
    if !reply.has(Fault::NoUsage) {
        details["generated_tokens"] = reply.planned().into();
        if reply.is_streamed() {
            details["input_length"] = reply.prompt_counts().0.into();
        }
    }
    details
}

impl Wording for Triton {
    fn protocol(&self) -> &'static Protocol {
        ready_made("triton", self.0)
    }

    fn id_prefix(&self) -> &'static str {
        "triton"
    }

    fn error(&self, of_chats: &Value) -> Option<Value> {
        Some(json!({ "error": words(of_chats) }))
    }

    fn head(&self, (id, _): (&str, &str), _: AnswerForm) -> String {
        id.to_owned()
    }

    fn first(&self, _: &Reply) -> Vec<ReplyEvent> {
        Vec::new()
    }

    fn chunk(&self, reply: &Reply, index: usize, tokens: Range<u32>) -> Vec<ReplyEvent> {
        vec![triton_answer(&reply.choices[index].text.tokens(tokens)).into()]
    }

    fn last(&self, _: &Reply) -> Vec<ReplyEvent> {
        Vec::new()
    }

    fn failure(&self, _: &Reply) -> Vec<ReplyEvent> {
        vec![json!({ "error": refusal::BROKEN }).to_string().into()]
    }

    fn whole(&self, reply: &Reply) -> String {
        triton_answer(&reply.choices.first().map_or_else(String::new, |choice| choice.text.tokens(0..choice.planned)))
    }
}

fn triton_answer(text: &str) -> String {
    json!({
        "model_name": "ensemble", "model_version": "1", "sequence_end": false, "sequence_id": 0,
        "sequence_start": false, "text_output": text,
    })
    .to_string()
}
