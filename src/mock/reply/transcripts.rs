//! Answers of transcriptions, as vLLM writes them.

use std::ops::Range;

use serde_json::{Value, json};

use super::answer::{Reply, ReplyEvent, Wording};
use crate::engine::{self, AnswerForm, Protocol};
use crate::mock::faults::Fault;
use crate::mock::refusal;
use crate::mock::request::{AUDIO_TOKENS_PER_S, UsageIn};

/// Answers that are the text of audio.
struct Transcripts;

/// The wording of `/v1/audio/transcriptions`.
pub(crate) static TRANSCRIPTIONS: &dyn Wording = &Transcripts;

impl Wording for Transcripts {
    fn protocol(&self) -> &'static Protocol {
        &engine::TRANSCRIPTIONS
    }

    fn id_prefix(&self) -> &'static str {
        "transcribe"
    }

    fn head(&self, (id, model): (&str, &str), _: AnswerForm) -> String {
        let created = jiff::Timestamp::now().as_second();
        let [id, model] = [id, model].map(Value::from);
        format!(r#"{{"id":{id},"object":"transcription.chunk","created":{created},"model":{model}"#)
    }

    fn first(&self, _: &Reply) -> Vec<ReplyEvent> {
        Vec::new()
    }

    fn chunk(&self, reply: &Reply, index: usize, tokens: Range<u32>) -> Vec<ReplyEvent> {
        let choice = &reply.choices[index];
        let finish: Option<&str> = (tokens.end >= choice.planned).then(|| choice.finish.into());
        let delta = json!({ "content": choice.text.tokens(tokens) });
        let choices = json!([{ "delta": delta, "finish_reason": finish, "stop_reason": choice.stop_reason }]);
        vec![event(reply, &choices, reply.usage_in == UsageIn::Every)]
    }

    fn last(&self, reply: &Reply) -> Vec<ReplyEvent> {
        let counts = (reply.usage_in != UsageIn::None).then(|| event(reply, &json!([]), true));
        counts.filter(|_| !reply.has(Fault::NoUsage)).into_iter().chain(["[DONE]".to_owned().into()]).collect()
    }

    fn failure(&self, _: &Reply) -> Vec<ReplyEvent> {
        let error = refusal::error(refusal::FAILED, "InternalServerError", refusal::BROKEN, None);
        [error.to_string(), "[DONE]".to_owned()].map(ReplyEvent::from).into()
    }

    fn whole(&self, reply: &Reply) -> String {
        let text: String = reply.choices.iter().map(|choice| choice.text.tokens(0..choice.planned)).collect();
        let seconds = reply.prompt_counts().0.div_ceil(AUDIO_TOKENS_PER_S);
        json!({ "text": text, "usage": { "type": "duration", "seconds": seconds } }).to_string()
    }
}

/// An event with these choices, and with counts where they were asked for.
fn event(reply: &Reply, choices: &Value, is_counted: bool) -> ReplyEvent {
    let (prompt, sent) = (reply.prompt_counts().0, reply.sent());
    let total = u64::from(prompt) + u64::from(sent);
    let counts = json!({ "prompt_tokens": prompt, "completion_tokens": sent, "total_tokens": total });
    let counts = if is_counted && !reply.has(Fault::NoUsage) { format!(r#","usage":{counts}"#) } else { String::new() };
    format!(r#"{},"choices":{choices}{counts}}}"#, reply.head).into()
}
