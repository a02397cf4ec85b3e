//! Prepares a server's prefix cache for a run.

use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use tokio::time::timeout;

use super::control::control_error::ControlError;
use super::engine::OpenAiEngine;
use crate::clock::RunClock;
use crate::engine::answer::{Answer, Engine};
use crate::generator::RequestSpec;
use crate::record::{EngineKind, Failure, FailureKind};
use crate::units::spoken;

/// Requests sent at a time to warm a cache.
const TOGETHER: usize = 8;
/// Time limit of each of them.
const LIMIT: Duration = Duration::from_secs(5 * 60);

/// Why a prefix cache cannot be prepared. Its message has a `hint:` line where there is a remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CacheError {
    /// The dialect has no way to empty it.
    #[error(
        "the prefix cache of `{0}` cannot be emptied\n\
         hint: leave --reset-cache out: every run has new texts, unless --salt repeats earlier ones"
    )]
    NoReset(EngineKind),
    /// The server did not empty it.
    #[error("the prefix cache was not emptied: {reason}\nhint: {cure}")]
    NotReset {
        /// The server's error.
        reason: String,
        /// The remedy.
        cure: &'static str,
    },
    /// A warm-up request failed.
    #[error("a shared prefix could not be sent before the run: {0}")]
    NotWarmed(Failure),
}

impl OpenAiEngine {
    /// Empties the server's prefix cache.
    ///
    /// # Errors
    ///
    /// Where the server cannot or will not, with a hint.
    pub async fn reset_cache(&self) -> Result<(), CacheError> {
        let dialect = self.target.dialect;
        let reset = dialect.traits().reset_cache.ok_or(CacheError::NoReset(dialect))?;
        self.control.post(reset.path).await.map_err(|error| CacheError::NotReset {
            cure: match error {
                ControlError::Status { .. } => reset.cure,
                _ => "look at the server's log",
            },
            reason: error.to_string(),
        })
    }

    /// Sends each request once, so that the prefix cache holds its prompt. It sends a few at a time and each for one
    /// token, and waits for all.
    ///
    /// # Errors
    ///
    /// The first failure.
    pub async fn warm_cache(&self, requests: impl Iterator<Item = RequestSpec>) -> Result<(), CacheError> {
        let of_one_token = requests.map(|mut request| {
            request.planned.output_tokens = 1;
            request
        });
        warm_server(self, of_one_token, TOGETHER).await.map_err(CacheError::NotWarmed)
    }
}

/// Sends each request once, `together` at a time, and waits for all. The server's one-time work (compiled kernels,
/// captured graphs, filled pools) is then done before the first run, and it is seen how long that takes.
///
/// # Errors
///
/// The first failure.
pub(crate) async fn warm_server(
    engine: &impl Engine,
    requests: impl Iterator<Item = RequestSpec>,
    together: usize,
) -> Result<(), Failure> {
    let answers = requests.map(|request| {
        let request = engine.routed(engine.prepare(&request));
        whole(engine.generate(request, RunClock::starting_in(Duration::ZERO)))
    });
    futures::stream::iter(answers).buffer_unordered(together).try_collect().await
}

/// Waits until the answer is complete.
async fn whole(mut answer: impl Answer) -> Result<(), Failure> {
    let all = async { answer.until_end().await.result };
    let late = || Failure::new(FailureKind::TimeoutTotal, format!("no complete answer within {}", spoken(LIMIT)));
    timeout(LIMIT, all).await.unwrap_or_else(|_| Err(late()))
}
