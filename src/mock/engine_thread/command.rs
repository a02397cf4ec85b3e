//! What handlers and the heart say to each other.

use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

use crate::clock::Timestamp;
use crate::mock::metrics::{Finish, Meters};
use crate::simulator::{FirstToken, Job, JobId, Reject, ServerGauges};

/// Tokens that are due now, for one of a request's answers.
#[derive(Clone, Copy, Debug)]
pub(in crate::mock) struct Due {
    /// Which answer of the request, from 0.
    pub(in crate::mock) choice: usize,
    /// When they were due.
    pub(in crate::mock) at: Timestamp,
    /// How many.
    pub(in crate::mock) tokens: u32,
    /// What is known with the first of them.
    pub(in crate::mock) first: Option<FirstToken>,
    /// Whether this answer is whole.
    pub(in crate::mock) finished: bool,
}

/// One answer to be made.
#[derive(Clone, Debug)]
pub(in crate::mock) struct Wanted {
    /// What the server is asked.
    pub(in crate::mock) job: Job,
    /// Most tokens that the client allows.
    pub(in crate::mock) max_tokens: u32,
    /// Why it will end.
    pub(in crate::mock) finish: Finish,
}

/// What the heart's server has done until now.
#[derive(Clone, Debug)]
pub(in crate::mock) struct Readings {
    pub(in crate::mock) gauges: ServerGauges,
    pub(in crate::mock) meters: Meters,
}

#[derive(Debug)]
pub(super) enum Command {
    Arrive(Arrival),
    Cancel(Vec<JobId>),
    Look(oneshot::Sender<Readings>),
    ForgetPrefixes(oneshot::Sender<()>),
}

/// A request's answers, all or none of which are taken into work.
#[derive(Debug)]
pub(super) struct Arrival {
    pub(super) wanted: Vec<Wanted>,
    /// Answers that each prompt wants.
    pub(super) n: u32,
    pub(super) tokens: UnboundedSender<Due>,
    pub(super) taken: oneshot::Sender<Result<Timestamp, Reject>>,
}
