//! The engine for every server that speaks the OpenAI protocol.

mod body;
mod connect;
mod control;
mod engine;
mod smoke;

pub use connect::{ConnectError, ConnectProgress};
pub use engine::OpenAiEngine;
pub use smoke::{SmokeError, SmokeReport};

#[cfg(test)]
mod tests;
