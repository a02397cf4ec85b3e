//! A request that is ready to leave, and one that has left.

use crate::clock::Timestamp;
use crate::engine::PreparedRequest;
use crate::generator::{PlannedRequest, Prompt};

/// A request with its body, ready to leave.
#[derive(Debug)]
pub(super) struct Order {
    /// Its place in the plan; what it says is in the body.
    pub(super) request: PlannedRequest,
    /// What will be written to the socket.
    pub(super) prepared: PreparedRequest,
    /// What it says, where it opens a session whose later turns say it again.
    pub(super) said: Option<Prompt>,
}

/// A request that has been let go, and when.
#[derive(Debug)]
pub(super) struct Released {
    pub(super) order: Order,
    pub(super) dispatched: Timestamp,
}
