//! Answers of SGLang's own endpoint, each document of which has the whole answer so far.

use std::ops::Range;

use serde_json::{Value, json};

use super::answer::{Reply, ReplyEvent, Wording};
use super::templates::TGI_WHOLE;
use crate::engine::{self, AnswerForm, Protocol};
use crate::mock::faults::Fault;
use crate::mock::metrics::Finish;
use crate::mock::refusal;

/// Answers of text so far.
struct SoFar;

/// The wording of `/generate`.
pub(crate) static GENERATE: &dyn Wording = &SoFar;

impl Wording for SoFar {
    fn protocol(&self) -> &'static Protocol {
        &engine::GENERATE
    }

    fn id_prefix(&self) -> &'static str {
        "gen"
    }

    fn of_body(&self, body: &[u8]) -> Option<&'static dyn Wording> {
        // The path is TGI's too, whose prompt has another name.
        #[derive(serde::Deserialize)]
        struct Inputs {
            #[serde(rename = "inputs")]
            _is_there: serde::de::IgnoredAny,
        }
        serde_json::from_slice::<Inputs>(body).ok().map(|_| TGI_WHOLE)
    }

    fn head(&self, (id, _): (&str, &str), _: AnswerForm) -> String {
        id.to_owned()
    }

    fn first(&self, _: &Reply) -> Vec<ReplyEvent> {
        Vec::new()
    }

    fn chunk(&self, reply: &Reply, index: usize, tokens: Range<u32>) -> Vec<ReplyEvent> {
        vec![document(reply, index, tokens.end).to_string().into()]
    }

    fn last(&self, _: &Reply) -> Vec<ReplyEvent> {
        vec!["[DONE]".to_owned().into()]
    }

    fn failure(&self, _: &Reply) -> Vec<ReplyEvent> {
        let error =
            json!({ "message": refusal::BROKEN, "type": "InternalServerError", "code": 500, "retryable": false });
        [json!({ "error": error }).to_string(), "[DONE]".to_owned()].map(ReplyEvent::from).into()
    }

    fn whole(&self, reply: &Reply) -> String {
        let all: Vec<Value> =
            (0..reply.choices.len()).map(|of| document(reply, of, reply.choices[of].planned)).collect();
        match <[Value; 1]>::try_from(all) {
            Ok([only]) => only.to_string(),
            Err(several) => Value::Array(several).to_string(),
        }
    }
}

/// The first `tokens` tokens of a choice, and what is said of it.
fn document(reply: &Reply, index: usize, tokens: u32) -> Value {
    let choice = &reply.choices[index];
    let mut about = json!({ "id": reply.head, "finish_reason": null });
    if tokens >= choice.planned {
        about["finish_reason"] = match choice.finish {
            Finish::Length => json!({ "type": "length", "length": choice.planned }),
            Finish::Stop | Finish::Abort => json!({ "type": "stop", "matched": choice.stop_reason }),
        };
    }
    if !reply.has(Fault::NoUsage) {
        about["prompt_tokens"] = choice.prompt_tokens.into();
        about["completion_tokens"] = tokens.into();
        about["cached_tokens"] = choice.cached_tokens.unwrap_or(0).into();
    }
    let ids: Vec<u32> = (0..tokens).map(|token| choice.text.id(token)).collect();
    json!({ "text": choice.text.tokens(0..tokens), "output_ids": ids, "meta_info": about })
}
