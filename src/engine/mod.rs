//! Who answers: an [`Engine`] takes a request and gives a stream of stamped token events.

mod address;
mod answer;
mod captured_text;
mod cause;
mod chunk_text;
mod dialect;
mod exposition;
mod limits;
mod openai;
mod parameters;
mod secrets;
mod stream;
mod target;
mod wire;

pub use address::{BaseUrl, MetricsUrl, Scheme};
pub use answer::{Answer, AnswerEnd, AnswerEvent, AnswerEvents, Engine, PreparedRequest};
pub use captured_text::{AnswerText, CaptureText, CapturedText, ToolCall};
pub use chunk_text::ChunkText;
pub use dialect::{
    CacheReset, Dialect, DialectTraits, IdleConnections, LengthForcing, MetricNames, PriorityOrder,
    SchemaField, TokenizeCall,
};
pub use exposition::{MetricSample, metric_samples};
pub use limits::ConnectionLimits;
pub use openai::{
    AnswerFormRefused, CacheError, ConnectError, ConnectProgress, CounterReading, MetricsClient, MetricsPage,
    OpenAiEngine, ServerChanged, SmokeError, SmokeReport,
};
pub use secrets::Secrets;
pub use stream::{ArrivalStamp, BodyEnd, ReadProgress, ResponseReader};
pub use target::{
    AnswerForm, CertificateCheck, Endpoint, Header, PriorityField, Sampling, Secret, Target, TlsOptions,
};
pub use wire::HttpAnswer;
pub(crate) use wire::client_config;
