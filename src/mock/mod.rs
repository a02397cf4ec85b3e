//! A known engine: a simulated server run in real time behind vLLM's HTTP API, with faults on demand and a
//! log of what it did.
//!
//! ```text
//! socket (connection_log) ── hyper ── routes ─┬─ requests for text ─▶ engine_thread ─▶ responder (reply, script)
//!                                             └─ metrics, truth, tokenize, models …
//! ```

mod engine_thread;
mod faults;
mod http;
mod metrics;
mod options;
mod protocols;
mod refusal;
mod reply;
mod request;
mod server;
mod state;
mod truth;

pub use faults::{Fault, FaultChance};
pub use options::{AnswerWords, Backend, CannedAnswer, MockOptions, PromptDetails, StopLength};
pub use server::{MockServer, MockStartError};
pub use truth::MockStatistics;
