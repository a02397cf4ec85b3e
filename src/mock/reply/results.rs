//! Answers with a result for each input, as vLLM writes them.

use std::ops::Range;

use base64::Engine as _;
use serde_json::{Value, json};

use super::answer::{Reply, ReplyChoice, ReplyEvent, Wording};
use crate::engine::{self, AnswerForm, Protocol};
use crate::mock::faults::Fault;

/// Numbers of a vector.
const SIZE: u32 = 8;

/// Answers with results.
struct Results {
    protocol: &'static Protocol,
    id_prefix: &'static str,
    /// Other paths of the endpoint.
    paths: &'static [&'static str],
    /// The member that has them.
    member: &'static str,
    /// The function that writes one.
    result: fn(&Reply, usize, &ReplyChoice) -> Value,
}

/// The wording of embeddings.
pub(crate) static EMBEDDINGS: &dyn Wording = &Results {
    protocol: &engine::EMBEDDINGS,
    id_prefix: "embd",
    paths: &[],
    member: "data",
    result: |reply, index, choice| {
        let numbers: Vec<f32> = (0..SIZE).map(|place| choice.text.id(place) as f32 / 64_000.0 - 1.0).collect();
        let vector = if reply.results.encoded {
            let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
            base64::engine::general_purpose::STANDARD.encode(bytes).into()
        } else {
            json!(numbers)
        };
        json!({ "index": index, "object": "embedding", "embedding": vector })
    },
};

/// The wording of reranking.
pub(crate) static RERANK: &dyn Wording = &Results {
    protocol: &engine::RERANK,
    id_prefix: "rerank",
    paths: &["/rerank", "/v2/rerank"],
    member: "results",
    result: |_, index, choice| {
        let text = choice.text.tokens(choice.first_tokens..choice.prompt_tokens);
        json!({ "index": index, "document": { "text": text.trim() }, "relevance_score": score(choice) })
    },
};

/// The wording of scores.
pub(crate) static SCORE: &dyn Wording = &Results {
    protocol: &engine::SCORE,
    id_prefix: "score",
    paths: &["/score"],
    member: "data",
    result: |_, index, choice| json!({ "index": index, "object": "score", "score": score(choice) }),
};

/// A score from 0 to 1 by the tokens of a prompt.
fn score(choice: &ReplyChoice) -> f64 {
    let sum: u64 = (0..choice.text.round()).map(|token| u64::from(choice.text.id(token))).sum();
    (sum % 10_000) as f64 / 10_000.0
}

impl Wording for Results {
    fn protocol(&self) -> &'static Protocol {
        self.protocol
    }

    fn id_prefix(&self) -> &'static str {
        self.id_prefix
    }

    fn paths(&self) -> &'static [&'static str] {
        self.paths
    }

    fn head(&self, (id, model): (&str, &str), _: AnswerForm) -> String {
        let created = jiff::Timestamp::now().as_second();
        json!({ "id": id, "object": "list", "created": created, "model": model }).to_string()
    }

    fn first(&self, _: &Reply) -> Vec<ReplyEvent> {
        Vec::new()
    }

    fn chunk(&self, _: &Reply, _: usize, _: Range<u32>) -> Vec<ReplyEvent> {
        Vec::new()
    }

    fn last(&self, _: &Reply) -> Vec<ReplyEvent> {
        Vec::new()
    }

    fn failure(&self, _: &Reply) -> Vec<ReplyEvent> {
        Vec::new()
    }

    fn whole(&self, reply: &Reply) -> String {
        let mut results: Vec<(f64, Value)> = reply
            .choices
            .iter()
            .enumerate()
            .map(|(index, choice)| (score(choice), (self.result)(reply, index, choice)))
            .collect();
        if self.member == "results" {
            // Best first.
            results.sort_by(|one, other| other.0.total_cmp(&one.0));
        }
        results.truncate(reply.results.most.unwrap_or(usize::MAX));
        if reply.has(Fault::BrokenAnswer) {
            results.pop();
        }
        let mut answer: Value = serde_json::from_str(&reply.head).unwrap_or_default();
        answer[self.member] = results.into_iter().map(|(_, result)| result).collect();
        if !reply.has(Fault::NoUsage) {
            let (tokens, _) = reply.prompt_counts();
            answer["usage"] = json!({
                "prompt_tokens": tokens, "total_tokens": tokens, "completion_tokens": 0, "prompt_tokens_details": null,
            });
        }
        answer.to_string()
    }
}
