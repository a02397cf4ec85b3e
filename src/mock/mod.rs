//! A known engine: an OpenAI-compatible server of declared behaviour, spoken to over real HTTP.

mod behaviour;
mod server;
mod wire;

pub use behaviour::{Delay, MockOptions};
pub use server::MockServer;
