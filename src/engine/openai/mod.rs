//! The engine for every server that speaks the OpenAI protocol.

mod body;
mod connect;
mod control;
mod counters;
mod engine;
mod smoke;

pub use connect::{ConnectError, ConnectProgress};
pub use counters::CounterReading;
pub use engine::OpenAiEngine;
pub use smoke::{SmokeError, SmokeReport};

#[cfg(test)]
mod tests;
