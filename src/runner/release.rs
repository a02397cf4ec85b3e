//! A request that is ready to leave, and one that was dispatched.

use crate::clock::Timestamp;
use crate::engine::PreparedRequest;
use crate::generator::{PlannedRequest, Prompt};

/// A request with its body, ready to be dispatched.
#[derive(Debug)]
pub(super) struct ReadyRequest {
    /// Its entry in the plan; its prompt is in the body.
    pub(super) request: PlannedRequest,
    /// What is written to the socket.
    pub(super) prepared: PreparedRequest,
    /// Its prompt, where it opens a session whose later turns repeat it.
    pub(super) said: Option<Prompt>,
}

/// A request that was dispatched, and when.
#[derive(Debug)]
pub(super) struct DispatchedRequest {
    pub(super) ready: ReadyRequest,
    pub(super) dispatched: Timestamp,
}
