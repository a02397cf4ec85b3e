//! Messages between handlers and the engine thread.

use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

use crate::clock::Timestamp;
use crate::mock::metrics::{Finish, Meters};
use crate::simulator::{FirstToken, Gauges, Job, JobId, Reject};

/// Tokens that are due now, for one of a request's answers.
#[derive(Clone, Copy, Debug)]
pub(in crate::mock) struct TokensDue {
    /// Choice index, from 0.
    pub(in crate::mock) choice: usize,
    /// When they were due.
    pub(in crate::mock) at: Timestamp,
    pub(in crate::mock) tokens: u32,
    /// What is known with the first token.
    pub(in crate::mock) first: Option<FirstToken>,
    /// Whether this choice is complete.
    pub(in crate::mock) finished: bool,
}

/// One choice to be generated.
#[derive(Clone, Debug)]
pub(in crate::mock) struct JobRequest {
    /// The job for the simulated server.
    pub(in crate::mock) job: Job,
    /// `max_tokens` of the request.
    pub(in crate::mock) max_tokens: u32,
    /// Why it will end.
    pub(in crate::mock) finish: Finish,
}

/// The server's gauges and counters so far.
#[derive(Clone, Debug)]
pub(in crate::mock) struct Readings {
    pub(in crate::mock) gauges: Gauges,
    pub(in crate::mock) meters: Meters,
}

#[derive(Debug)]
pub(super) enum Command {
    Arrive(Submission),
    Cancel(Vec<JobId>),
    Look(oneshot::Sender<Readings>),
    ForgetPrefixes(oneshot::Sender<()>),
}

/// The choices of one request; all of them are accepted, or none.
#[derive(Debug)]
pub(super) struct Submission {
    pub(super) wanted: Vec<JobRequest>,
    /// Choices per prompt.
    pub(super) n: u32,
    pub(super) tokens: UnboundedSender<TokensDue>,
    pub(super) taken: oneshot::Sender<Result<Timestamp, Reject>>,
}
