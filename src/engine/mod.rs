//! Who answers: an [`Engine`] takes a request and gives a stream of stamped token events.

mod address;
mod answer;
mod captured_text;
mod dialect;
mod dialect_traits;
mod exposition;
mod limits;
mod openai;
mod secrets;
mod stream;
mod target;
mod wire;

pub use address::{BaseUrl, MetricsUrl, Scheme};
pub use answer::{Answer, AnswerEnd, AnswerEvent, Engine, PreparedRequest};
pub use captured_text::{AnswerText, CaptureText, CapturedText, ToolCall};
pub use dialect::Dialect;
pub(crate) use dialect_traits::MetricNames;
pub(crate) use exposition::{MetricSample, metric_samples};
pub(crate) use limits::ConnectionLimits;
pub use openai::{
    ConnectProgress, CounterReading, MetricsClient, MetricsPage, OpenAiEngine, ServerChanged, SmokeReport,
};
pub use secrets::Secrets;
pub use stream::{ArrivalStamp, BodyEnd, ChunkText, ResponseReader};
pub use target::{
    AnswerForm, CertificateCheck, Endpoint, ExtraBody, Header, PriorityField, Sampling, Secret, Target,
    TlsOptions,
};
pub(crate) use wire::client_config;
