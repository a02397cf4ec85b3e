//! The later turns of sessions: scheduled when the turn before has ended, then written and dispatched.
//!
//! ```text
//! run loop ─ next turn ─▶ writer ─ body ─▶ turn pacer ─ wait ─▶ (the dispatch queue) ─▶ run loop
//! ```
//!
//! The first request of a session comes from the plan. The plan's pacer dispatches it, whatever happened to
//! others.

mod next_turns;
mod pacer;
mod writer;

pub(super) use next_turns::NextTurns;
