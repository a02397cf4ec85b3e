//! Prepares a server's prefix cache for a run.

use std::time::Duration;

use futures::StreamExt;
use tokio::time::timeout;

use super::control::{Control, ControlError};
use crate::engine::answer::Answer;
use crate::engine::dialect::Dialect;
use crate::engine::wire::HttpAnswer;
use crate::record::{Failure, FailureKind};
use crate::units::spoken;

/// Requests sent at a time to warm a cache.
const TOGETHER: usize = 8;
/// Time limit of each of them.
const LIMIT: Duration = Duration::from_mins(5);

/// Why a prefix cache cannot be prepared. Its message has a `hint:` line where there is a remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CacheError {
    /// The dialect has no way to empty it.
    #[error(
        "the prefix cache of `{0}` cannot be emptied\n\
         hint: leave --reset-cache out: every run has new texts, unless --salt gives it those of another"
    )]
    NoReset(Dialect),
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

pub(super) async fn reset(control: &Control, dialect: Dialect) -> Result<(), CacheError> {
    let reset = dialect.traits().reset_cache.ok_or(CacheError::NoReset(dialect))?;
    control.post(reset.path).await.map_err(|error| CacheError::NotReset {
        cure: match error {
            ControlError::Status { .. } => reset.cure,
            _ => "look at the server's log",
        },
        reason: error.to_string(),
    })
}

pub(super) async fn warm(answers: impl Iterator<Item = HttpAnswer>) -> Result<(), CacheError> {
    all_answered(answers, TOGETHER).await.map_err(CacheError::NotWarmed)
}

/// Waits for all answers, `together` at a time.
pub(super) async fn all_answered(
    answers: impl Iterator<Item = HttpAnswer>,
    together: usize,
) -> Result<(), Failure> {
    let mut ends = futures::stream::iter(answers).map(whole).buffer_unordered(together);
    while let Some(end) = ends.next().await {
        end?;
    }
    Ok(())
}

/// Waits until the answer is complete.
async fn whole(mut answer: HttpAnswer) -> Result<(), Failure> {
    let all = async { answer.until_end().await.result };
    let late =
        || Failure::new(FailureKind::TimeoutTotal, format!("no whole answer within {}", spoken(LIMIT)));
    timeout(LIMIT, all).await.unwrap_or_else(|_| Err(late()))
}
