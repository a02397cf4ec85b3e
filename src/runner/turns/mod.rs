//! The later turns of sessions: decided when a turn has ended, written, and let go at their moments.
//!
//! ```text
//! run loop ─ what follows ─▶ writer ─ body ─▶ pacer of turns ─ wait ─▶ (the queue of releases) ─▶ run loop
//! ```
//!
//! The first requests of sessions come from the plan and are let go by the pacer of the plan, whatever became of others.

mod due;
mod pacer;
mod sequels;
mod writer;

pub(super) use sequels::Sequels;
pub(super) use writer::first_order;

use super::pacer::Order;
use crate::engine::Kept;
use crate::generator::{PlannedRequest, Prompt};

/// What a writer is told.
#[derive(Debug)]
enum News {
    /// The first request of a session was let go. What it says, where later turns carry it on.
    Began(PlannedRequest, Option<Prompt>),
    /// A turn has ended; what was kept of its answer, and what follows, if anything does.
    Ended { last: PlannedRequest, kept: Option<Kept>, next: Option<PlannedRequest> },
}
