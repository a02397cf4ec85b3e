//! Failures that a response's head or its first bytes show, with the server's words from its body.

use http::StatusCode;

use crate::clock::Timestamp;
use crate::engine::answer::{AnswerEnd, Cause};
use crate::engine::secrets::Secrets;
use crate::record::{Failure, FailureKind};

use crate::engine::stream::chunk::AnswerGrammar;
use crate::engine::stream::chunk::ChunkJson;
use crate::engine::stream::fault::{blamed_field, excerpt, words_of};

/// A failure whose message is in the body.
#[derive(Clone, Debug)]
pub(super) enum Explained {
    /// A status other than 2xx, or one without an answer.
    Status(StatusCode),
    /// A redirect to this address, without secrets.
    Redirect(StatusCode, String),
    /// A whole JSON answer to a request for a stream.
    NotStreamed,
    /// A content type that no answer has.
    ContentType(String),
    /// A compressed body.
    Compressed(String),
}

impl Explained {
    /// The cause, for hints.
    pub(super) fn cause(&self, body: &[u8]) -> Cause {
        match self {
            Self::Redirect(_, location) => Cause::Redirects(location.clone()),
            Self::Status(_) => blamed_field(body).map_or(Cause::Unknown, Cause::Field),
            Self::NotStreamed => Cause::NotStreaming,
            Self::ContentType(_) => Cause::ContentType,
            Self::Compressed(_) => Cause::Compressed,
        }
    }

    /// The end of the answer with this body.
    pub(super) fn end(&self, body: &[u8], at: Timestamp, answers: &AnswerGrammar, secrets: &Secrets) -> AnswerEnd {
        AnswerEnd::failed(at, self.failure(body, answers, secrets))
    }

    /// The failure with the words of this body.
    pub(super) fn failure(&self, body: &[u8], answers: &AnswerGrammar, secrets: &Secrets) -> Failure {
        let said = || excerpt(body, secrets);
        let (kind, message) = match self {
            Self::Status(status) => {
                let said = words_of(body, secrets);
                let reason = status.canonical_reason().unwrap_or("no explanation");
                let message = if said.is_empty() { reason.to_owned() } else { said };
                (FailureKind::HttpStatus(status.as_u16()), message)
            }
            Self::Redirect(status, location) => {
                (FailureKind::HttpStatus(status.as_u16()), format!("it redirects to {location}"))
            }
            Self::NotStreamed if body.is_empty() => (FailureKind::Empty, "the answer has no body".to_owned()),
            Self::NotStreamed => match ChunkJson::parse(body, answers) {
                Ok(document) => document.error(secrets, false).map_or_else(
                    || {
                        let what = "a whole JSON body in place of the requested stream";
                        (FailureKind::Malformed, format!("not streaming: {what}: {}", said()))
                    },
                    |words| (FailureKind::StreamError, words),
                ),
                Err(_) if body.contains(&b'\n') => {
                    let what = "lines of JSON that are no chunks in place of the requested stream";
                    (FailureKind::Malformed, format!("not streaming: {what}: {}", said()))
                }
                Err(error) => {
                    (FailureKind::Malformed, format!("not streaming: a body that is no JSON ({error}): {}", said()))
                }
            },
            Self::ContentType(media) => {
                let media = match media.as_str() {
                    "" => "no content type".to_owned(),
                    media => format!("`{}`", excerpt(media.as_bytes(), secrets)),
                };
                (FailureKind::Malformed, format!("wrong content type: {media}, with the body: {}", said()))
            }
            Self::Compressed(encoding) => {
                let encoding = excerpt(encoding.as_bytes(), secrets);
                let message = format!(
                    "the body is compressed ({encoding}) although `identity` was requested; timestamps through a \
                     compressor would be wrong"
                );
                (FailureKind::Malformed, message)
            }
        };
        Failure::new(kind, message)
    }
}
