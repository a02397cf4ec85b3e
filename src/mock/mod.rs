//! A known engine: a simulated server lived through in real time and spoken to over HTTP as vLLM is, with faults on
//! demand and a log of what it really did.
//!
//! ```text
//! socket ── line ── hyper ── routes ─┬─ generate ─▶ heart (a thread: drives the Server) ─▶ telling (reply, script)
//!              └────── tape ─────────┴─ metrics, truth, tokenize, models …
//! ```

mod faults;
mod generate;
mod given;
mod heart;
mod instance;
mod line;
mod metrics;
mod options;
mod plan;
mod prompt;
mod refusal;
mod reply;
mod request;
mod routes;
mod script;
mod server;
mod tape;
mod telling;
mod text;
mod truth;

pub use faults::{Chance, Fault};
pub use given::GivenAnswer;
pub use options::{Backend, MockOptions, PromptDetails, StopLength, Words};
pub use server::{MockServer, NotStarted};
pub use truth::MockStatistics;
