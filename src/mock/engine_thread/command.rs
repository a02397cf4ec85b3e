//! Messages between handlers and the engine thread.

use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

use crate::clock::Timestamp;
use crate::mock::metrics::{Finish, Meters};
use crate::simulator::{FirstToken, Job, JobId, Reject, ServerGauges};

/// Tokens that are due now, for one of a request's answers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TokensDue {
    /// Choice index, from 0.
    pub(crate) choice: usize,
    /// When they were due.
    pub(crate) at: Timestamp,
    pub(crate) tokens: u32,
    /// What is known with the first token.
    pub(crate) first: Option<FirstToken>,
    /// Whether this choice is complete.
    pub(crate) finished: bool,
}

/// One choice to be generated.
#[derive(Clone, Debug)]
pub(crate) struct JobRequest {
    /// The job for the simulated server.
    pub(crate) job: Job,
    /// `max_tokens` of the request.
    pub(crate) max_tokens: u32,
    /// Why it will end.
    pub(crate) finish: Finish,
}

/// The server's gauges and counters so far.
#[derive(Clone, Debug)]
pub(crate) struct Readings {
    pub(crate) gauges: ServerGauges,
    pub(crate) meters: Meters,
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
