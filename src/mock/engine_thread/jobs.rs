//! The jobs of the engine thread: what handlers hand in, what they get, and what is refused.

use crate::mock::metrics::Finish;
use crate::simulator::{Job, Reject, TokenEvent};

/// Most memory of the jobs inside, bytes. One takes about so much beside its text, and its prefix half a byte a
/// token.
pub(super) const LARGEST_JOBS: usize = 160 << 20;
const JOB: usize = 768;
/// Most times that are unread, about 64 MiB of them. Then answers with so many of their own are cut off.
pub(super) const MOST_UNREAD: usize = 1 << 20;
pub(super) const MOST_OF_ANSWER: usize = 256;

/// Tokens that are due now, for one of a request's answers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TokensDue {
    /// Choice index, from 0.
    pub(crate) choice: usize,
    pub(crate) event: TokenEvent,
    /// Whether they are text.
    pub(crate) has_text: bool,
}

/// One choice to be generated.
#[derive(Clone, Debug)]
pub(crate) struct JobRequest {
    /// The job for the simulated server.
    pub(crate) job: Job,
    /// `max_tokens` of the request.
    pub(crate) max_tokens: u32,
    /// Reason why it will end.
    pub(crate) finish: Finish,
    /// Memory of its text, bytes.
    pub(crate) text: usize,
    /// Whether its tokens are text. Of an input that a result answers, they are none.
    pub(crate) has_text: bool,
}

impl JobRequest {
    /// The memory that it takes, bytes.
    pub(super) fn size(&self) -> usize {
        JOB + self.text + usize::midpoint(self.job.input_tokens as usize, self.job.output_tokens as usize)
    }
}

/// Reason why a request was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SubmitError {
    /// The server refuses it.
    #[error(transparent)]
    Refused(#[from] Reject),
    /// All that wait have no room for it.
    #[error(
        "the answers under way take more than {} MiB of the mock's memory; send fewer at a time",
        LARGEST_JOBS >> 20
    )]
    NoRoom,
    /// The engine thread has stopped, which only a bug in the model can cause.
    #[error("the simulated engine has stopped; restart the mock and report its output")]
    Stopped,
}
