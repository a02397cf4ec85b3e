//! The engine thread: it runs a simulated server in real time for the handlers.
//!
//! ```text
//! handlers ── submissions, cancellations ──▶ engine_loop: sleep to the next event, advance ── tokens ──▶
//! streams
//! ```

mod engine_loop;
mod handle;
#[cfg(test)]
mod tests;

pub(super) use engine_loop::{JobRequest, Readings, TokensDue};
pub(super) use handle::{EngineThread, RunningJobs, SubmitError};
