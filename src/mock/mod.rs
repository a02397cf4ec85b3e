//! A known engine: a simulated server lived through in real time and spoken to over HTTP as vLLM is, with faults on
//! demand and a log of what it really did.
//!
//! ```text
//! socket ── logged_socket ── hyper ── routes ─┬─ generate ─▶ engine_thread (drives the Server) ─▶ responder (answer, script)
//!               └──── connection_log ─────────┴─ metrics, truth, tokenize, models …
//! ```

mod engine_thread;
mod faults;
mod http;
mod metrics;
mod options;
mod refusal;
mod reply;
mod request;
mod server;
mod state;
mod truth;

pub use faults::{Chance, Fault};
pub use options::{Backend, MockOptions, PromptDetails, StopLength, Words};
pub use reply::CannedAnswer;
pub use server::{MockServer, MockStartError};
pub use truth::MockStatistics;
