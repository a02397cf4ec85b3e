//! Who answers: an [`Engine`] takes a request and gives a stream of stamped token events.

mod address;
mod answer;
mod cause;
mod chunk_text;
mod dialect;
mod exposition;
mod kept;
mod limits;
mod metrics_url;
mod openai;
mod parameters;
mod secrets;
mod stream;
mod target;
mod wire;

pub use address::{BaseUrl, Scheme};
pub use answer::{Answer, AnswerEnd, AnswerEvent, Engine, PreparedRequest};
pub use chunk_text::ChunkText;
pub use dialect::{
    CacheReset, CounterNames, Dialect, DialectTraits, IdleConnections, LengthForcing, PriorityOrder,
    SchemaField, TokenizeCall,
};
pub use exposition::{Sample, samples};
pub use kept::{AnswerText, Keep, Kept, ToolCall};
pub use limits::ConnectionLimits;
pub use metrics_url::MetricsUrl;
pub use openai::{
    AnswerFormRefused, CacheError, ConnectError, ConnectProgress, CounterReading, MetricsClient, MetricsPage,
    OpenAiEngine, ServerChanged, SmokeError, SmokeReport,
};
pub use secrets::Secrets;
pub use stream::{Arrival, Close, Progress, ResponseReader};
pub use target::{
    AnswerForm, CertificateCheck, Endpoint, Header, PriorityField, Sampling, Secret, Target, TlsOptions,
};
pub use wire::Exchange;
pub(crate) use wire::client_config;
