//! Who answers: an [`Engine`] takes a request and gives a stream of stamped token events.

mod address;
mod answer;
mod answer_limits;
mod bounded_json;
mod captured_text;
mod dialect;
mod dialect_traits;
#[cfg(any(fuzzing, test))]
pub mod fuzzing;
mod http_url;
mod intake;
mod metrics;
mod openai;
mod protocols;
mod proxy;
mod router;
mod secrets;
mod stream;
mod target;
mod transport;

pub use address::BaseUrl;
pub(crate) use address::{ConnectionOptions, NameLookup};
pub use answer::{Answer, AnswerEnd, AnswerEvent, Engine, PreparedRequest};
pub use answer_limits::{AnswerBudget, AnswerLimits};
pub(crate) use bounded_json::bounded_value;
pub use captured_text::{AnswerText, CaptureText, CapturedText, ToolCall};
pub(crate) use dialect_traits::{IdleConnections, MetricNames};
pub use http_url::{Http2, Scheme};
pub(crate) use http_url::{http_url, shown_path, without_secrets};
pub(crate) use intake::{ServerText, listing};
pub(crate) use metrics::exposition::{MetricSample, PROCESS_START, metric_samples};
pub(crate) use metrics::series::MetricSeries;
pub use metrics::url::MetricsUrl;
pub use openai::{
    ConnectProgress, CounterReading, DEFAULT_WAIT, EndpointAnswer, EndpointPurpose, KnownEndpoint, KnownSeries,
    LengthTest, MetricsClient, MetricsPage, OpenAiEngine, SeriesFigure, ServerAbilities, ServerChanged, SmokeReport,
};
pub(crate) use openai::{MOCK_SERVER, ProfilerError, warm_server};
#[cfg(test)]
pub(crate) use protocols::ECHO;
pub(crate) use protocols::protocol::answer_tokens;
pub use protocols::{
    CHAT, COMPLETIONS, EMBEDDINGS, GENERATE, MESSAGES, Protocol, RERANK, RESPONSES, SCORE, TOKENS, TRANSCRIPTIONS,
};
pub(crate) use proxy::Proxy;
pub use router::{RoutedAnswer, Router, Targets};
pub use secrets::Secrets;
pub(crate) use secrets::names_a_credential;
pub use stream::{AnswerGrammar, ChunkText, ResponseReader};
pub(crate) use target::PriorityField;
pub use target::{
    AnswerForm, CertificateCheck, CommonRequest, ExtraBody, Header, Sampling, Secret, Target, TlsOptions,
};
pub use transport::RequestMarks;
pub use transport::{ArrivalStamp, BodyEnd};
pub(crate) use transport::{ConnectionLimits, ReaderRest, ReaderTicks, check_ca_cert, client_config};
