//! Asks once, before any load, for each form that answers of a run must have.

use std::time::Duration;

use crate::engine::answer::{Answer, AnswerEvent};
use crate::engine::wire::HttpAnswer;
use crate::record::{Failure, FailureKind};

/// A form of answers that the server refuses. Its display has a `hint:` line with the cure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the server refuses answers of the form `{kind}`: {failure}\n\
     hint: tools need a parser (vLLM: --enable-auto-tool-choice --tool-call-parser NAME; SGLang: --tool-call-parser NAME; \
     llama.cpp: --jinja), JSON a backend for guided decoding (TensorRT-LLM: guided_decoding_backend); or take `answer` \
     out of the class"
)]
pub struct AnswerFormRefused {
    /// The form, as it is written in a workload.
    pub kind: &'static str,
    /// What the server said.
    pub failure: Failure,
}

/// What the server says against a request that asks for one token in some form; that the token is nothing whole is right.
pub(super) async fn refusal(mut answer: HttpAnswer, limit: Duration) -> Option<Failure> {
    let all = async {
        loop {
            if let AnswerEvent::Ended(end) = answer.next().await {
                return end.result.err();
            }
        }
    };
    let failure = tokio::time::timeout(limit, all).await.ok()??;
    matches!(failure.reason, FailureKind::HttpStatus(_) | FailureKind::StreamError).then_some(failure)
}
