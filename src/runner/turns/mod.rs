//! The later turns of sessions: decided when a turn has ended, written, and let go at their moments.
//!
//! ```text
//! run loop ─ what follows ─▶ writer ─ body ─▶ pacer of turns ─ wait ─▶ (the queue of releases) ─▶ run loop
//! ```
//!
//! The first requests of sessions come from the plan and are let go by the pacer of the plan, whatever became of others.

mod next_turns;
mod pacer;
mod timer_queue;
mod writer;

pub(super) use next_turns::Sequels;
pub(super) use writer::first_order;
