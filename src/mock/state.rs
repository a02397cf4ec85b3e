//! The state that all handlers of the mock share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};

use axum::http::StatusCode;

use super::engine_thread::EngineThread;
use super::faults::FaultChances;
use super::options::MockOptions;
use super::refusal::Refusal;
use super::request::ServedModels;
use super::truth::TruthLog;
use crate::clock::RunClock;
use crate::engine::BaseUrl;
use crate::random::RandomStream;

/// The state that all handlers share.
pub(super) struct Mock {
    /// Its address, with the path that all of its own begin with.
    pub(super) url: BaseUrl,
    pub(super) model: String,
    pub(super) max_model_len: u32,
    pub(super) options: MockOptions,
    pub(super) engine: EngineThread,
    pub(super) clock: RunClock,
    pub(super) truth: Arc<TruthLog>,
    pub(super) chances: FaultChances,
    pub(super) stop_lengths: RandomStream,
    pub(super) requests: AtomicU64,
    pub(super) jobs: AtomicU64,
    /// Bytes of request bodies that are being received.
    pub(super) receiving: AtomicUsize,
    /// Whether its profiler is on. It profiles nothing.
    pub(super) profiles: AtomicBool,
}

impl Mock {
    /// The models and limits that requests are checked against.
    pub(super) fn served(&self) -> ServedModels<'_> {
        ServedModels { model: &self.model, adapters: &self.options.adapters, max_model_len: self.max_model_len }
    }

    /// The number of the next request.
    pub(super) fn number(&self) -> u64 {
        self.requests.fetch_add(1, Relaxed)
    }

    /// Starts or stops the profiler. It is refused where that is done already, as by real ones.
    pub(super) fn profile(&self, starts: bool) -> Result<(), Refusal> {
        if self.profiles.swap(starts, Relaxed) == starts {
            let said = if starts { "the profiler is on already" } else { "the profiler is not on" };
            return Err(Refusal::detail(StatusCode::BAD_REQUEST, said));
        }
        Ok(())
    }

    /// The number of the next job.
    pub(super) fn job(&self) -> u64 {
        self.jobs.fetch_add(1, Relaxed)
    }
}
