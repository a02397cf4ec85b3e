//! The server's own profiler.

use std::time::Duration;

use super::control::control_error::ControlError;
use super::engine::OpenAiEngine;
use crate::engine::dialect_traits::Profiler;
use crate::record::EngineKind;

/// Time limit of the answer that the profiler is on.
const STARTED_WITHIN: Duration = Duration::from_secs(30);
/// Time limit of the answer that it is off. vLLM writes the profile down before.
const WRITTEN_WITHIN: Duration = Duration::from_secs(10 * 60);

/// Why a server cannot be profiled. Its message has a `hint:` line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ProfilerError {
    /// The dialect has no way to ask for a profile.
    #[error(
        "`{0}` has no profiler that a client can start\nhint: leave --profile out; --before and --after run commands"
    )]
    None(EngineKind),
    /// The server has no such path.
    #[error("the server offers no profiler: {reason}\nhint: {cure}")]
    Missing {
        /// The server's words.
        reason: String,
        /// The remedy.
        cure: &'static str,
    },
    /// The server did not answer.
    #[error("the server does not say that its profiler was {what}: {reason}")]
    Silent {
        /// The wish, in a word.
        what: &'static str,
        /// The fault.
        reason: String,
    },
    /// The server did not do what it was asked.
    #[error("the profiler was not {what}: {reason}")]
    Refused {
        /// The wish, in a word.
        what: &'static str,
        /// The server's words.
        reason: String,
    },
}

impl OpenAiEngine {
    /// Finds out whether the server can be profiled, without starting anything.
    ///
    /// # Errors
    ///
    /// Where it cannot, with the remedy.
    pub(crate) async fn check_profiler(&self) -> Result<(), ProfilerError> {
        let dialect = self.target.dialect;
        let profiler = dialect.traits().profiler.ok_or(ProfilerError::None(dialect))?;
        let offered = self.control.offers(profiler.start).await;
        offered.map_err(|error| ProfilerError::Missing { reason: error.to_string(), cure: profiler.cure })
    }

    /// Starts the server's profiler.
    ///
    /// # Errors
    ///
    /// The server's refusal.
    pub(crate) async fn start_profile(&self) -> Result<(), ProfilerError> {
        self.control_profiler(STARTED_WITHIN, |profiler| ("started", profiler.start)).await
    }

    /// Stops the server's profiler, and waits until the profile is written.
    ///
    /// # Errors
    ///
    /// The server's refusal.
    pub(crate) async fn stop_profile(&self) -> Result<(), ProfilerError> {
        self.control_profiler(WRITTEN_WITHIN, |profiler| ("stopped", profiler.stop)).await
    }

    async fn control_profiler(
        &self,
        limit: Duration,
        call: impl FnOnce(Profiler) -> (&'static str, &'static str),
    ) -> Result<(), ProfilerError> {
        let dialect = self.target.dialect;
        let (what, path) = call(dialect.traits().profiler.ok_or(ProfilerError::None(dialect))?);
        let answered = self.control.post_within(path, limit).await;
        answered.map_err(|error| match &error {
            ControlError::Unreachable(_) => ProfilerError::Silent { what, reason: error.to_string() },
            _ => ProfilerError::Refused { what, reason: error.to_string() },
        })
    }
}
