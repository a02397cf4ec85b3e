//! Tries each answer format of a run once, before any load.

use std::time::Duration;

use crate::engine::answer::Answer;
use crate::engine::wire::HttpAnswer;
use crate::record::{Failure, FailureKind};

/// An answer format that the server refuses. Its message has a `hint:` line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the server refuses answers of the form `{kind}`: {failure}\n\
     hint: tools need a parser (vLLM: --enable-auto-tool-choice --tool-call-parser NAME; SGLang: --tool-call-parser NAME; \
     llama.cpp: --jinja), JSON a backend for guided decoding (TensorRT-LLM: guided_decoding_backend); or take `answer` \
     out of the class"
)]
pub struct AnswerFormRefused {
    /// The format's name in a workload.
    pub kind: &'static str,
    /// The server's error.
    pub failure: Failure,
}

/// The server's refusal of a request for one token in some format; an incomplete answer is expected.
pub(super) async fn refusal(mut answer: HttpAnswer, limit: Duration) -> Option<Failure> {
    let failure = tokio::time::timeout(limit, answer.until_end()).await.ok()?.result.err()?;
    matches!(failure.reason, FailureKind::HttpStatus(_) | FailureKind::StreamError).then_some(failure)
}
