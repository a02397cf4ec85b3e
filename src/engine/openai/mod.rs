//! The engine for every server that speaks the OpenAI protocol.

mod body;
mod cache;
mod connect;
mod control;
mod counters;
mod engine;
mod flags;
mod http_client;
mod identity;
mod page;
mod probe;
mod smoke;

pub use cache::CacheError;
pub use connect::{ConnectError, ConnectProgress};
pub use counters::CounterReading;
pub use engine::OpenAiEngine;
pub use identity::ServerChanged;
pub use page::{MetricsClient, MetricsPage};
pub use probe::AnswerFormRefused;
pub use smoke::{SmokeError, SmokeReport};

#[cfg(test)]
mod tests;
