//! Who answers: an [`Engine`] takes a request and gives a stream of stamped token events.

mod answer;
mod dialect;
mod openai;
mod secrets;
mod stream;
mod target;
mod wire;

pub use answer::{Answer, AnswerEnd, AnswerEvent, ChunkText, Engine, PreparedRequest};
pub use dialect::{Dialect, DialectTraits, LengthForcing, TokenizeCall};
pub use openai::{ConnectError, ConnectProgress, OpenAiEngine, SmokeError, SmokeReport};
pub use target::{
    AnswerForm, BaseUrl, CertificateCheck, Endpoint, Header, Sampling, Secret, Target, TlsOptions,
};
pub use wire::Exchange;
