//! The heart of the mock: a thread that lives a simulated server through, and how handlers speak to it.
//!
//! ```text
//! handlers ── arrivals, cancellations ──▶ beating: sleep to the next event, advance ── tokens ──▶ streams
//! ```

mod command;
mod engine_loop;
mod handle;
#[cfg(test)]
mod tests;

pub(super) use command::{Due, Readings, Wanted};
pub(super) use handle::{Heart, InWork, NotTaken};
