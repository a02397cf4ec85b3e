//! What every handler of the mock shares.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::engine_thread::Heart;
use super::faults::Chances;
use super::options::{PromptDetails, StopLength, Words};
use super::reply::CannedAnswer;
use super::request::Served;
use super::truth::Truth;
use crate::clock::RunClock;
use crate::random::RandomStream;

/// What every handler shares.
#[derive(Debug)]
pub(super) struct Mock {
    pub(super) model: String,
    pub(super) adapters: Vec<String>,
    pub(super) max_model_len: u32,
    pub(super) heart: Heart,
    pub(super) clock: RunClock,
    pub(super) truth: Arc<Truth>,
    pub(super) chances: Chances,
    pub(super) words: Words,
    pub(super) answers: Vec<CannedAnswer>,
    pub(super) prompt_details: PromptDetails,
    pub(super) stop_length: StopLength,
    pub(super) stop_lengths: RandomStream,
    pub(super) requests: AtomicU64,
    pub(super) jobs: AtomicU64,
}

impl Mock {
    /// What requests are held against.
    pub(super) fn served(&self) -> Served<'_> {
        Served { model: &self.model, adapters: &self.adapters, max_model_len: self.max_model_len }
    }

    /// The number of the next request.
    pub(super) fn number(&self) -> u64 {
        self.requests.fetch_add(1, Relaxed)
    }

    /// The number of the next job.
    pub(super) fn job(&self) -> u64 {
        self.jobs.fetch_add(1, Relaxed)
    }
}
