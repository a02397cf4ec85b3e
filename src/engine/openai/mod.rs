//! The engine for every server that speaks the OpenAI protocol.

mod abilities;
mod answer;
mod body;
mod cache;
mod connect;
mod connect_error;
mod control;
mod counters;
mod date;
mod engine;
mod hints;
mod http_client;
mod lengths;
mod preflight;
mod profiler;
mod readiness;
mod settings;

pub use abilities::{EndpointAnswer, EndpointPurpose, KnownEndpoint, KnownSeries, SeriesFigure, ServerAbilities};
pub(crate) use cache::warm_server;
pub use connect_error::ConnectProgress;
pub(crate) use control::MOCK_SERVER;
pub use counters::CounterReading;
pub use engine::OpenAiEngine;
pub use http_client::{MetricsClient, MetricsPage};
pub use preflight::{LengthTest, ServerChanged, SmokeReport};
pub(crate) use profiler::ProfilerError;
pub use readiness::DEFAULT_WAIT;

#[cfg(test)]
mod tests;
