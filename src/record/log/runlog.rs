//! A run on disk: JSON Lines with a header, one record per request or golden prompt, and a footer, appended as
//! requests end. Each line ends with its number and a checksum (`seal.rs`).
//!
//! Logs of every schema up to [`RunHeader::SCHEMA`] are read into the newest types: what was added later is
//! optional, and what was renamed is read under its old name where the field stands (`places` in
//! `record/run/engine.rs`). `tests/library/stored_runs.rs` reads a run of each.

use std::io;
use std::path::PathBuf;

use super::damage::LogDamage;
use super::records::Records;
use crate::record::request::check::CheckRecord;
use crate::record::request::record::{RequestRecord, UnendedRequest};
use crate::record::run::header::{RunFooter, RunHeader};
use crate::record::run::plan_check::PlanCheck;
use crate::record::telemetry::Telemetry;

/// A whole run: every number that Skyline prints can be recomputed from it.
#[derive(Clone, Debug, PartialEq)]
pub struct RunLog {
    /// The plan and the conditions of the run.
    pub header: RunHeader,
    /// One record per request, in order of their ends.
    pub records: Records,
    /// Results of golden prompts, in order of their ends.
    pub checks: Vec<CheckRecord>,
    /// Samples of metrics pages and of this process during the run.
    pub telemetry: Telemetry,
    /// Requests that were dispatched and left no record, in order of their indices. They were in flight when the run
    /// was cut off, or their records are lost.
    pub unended: Vec<UnendedRequest>,
    /// How the run ended; absent when it was cut off.
    pub footer: Option<RunFooter>,
    /// Losses of the log since it was written; never stored.
    pub damage: LogDamage,
    /// The result of holding the records to their plan. Absent until somebody has done so, and never stored.
    pub plan_check: Option<PlanCheck>,
}

/// A run log that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RunLogError {
    /// The file cannot be read or written.
    #[error("cannot use {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A line is invalid.
    #[error("{path}, line {line}: {message}")]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The fault of the line.
        message: String,
    },
    /// The header says what no run can have.
    #[error(
        "{path}, line 1: {message}\n\
         hint: the log was damaged or changed since it was written; use a copy that was not, or repeat the run"
    )]
    Header {
        /// The file.
        path: PathBuf,
        /// The fault of the header.
        message: String,
    },
    /// A line that is to be written says what no run can have. It is not written.
    #[error("{path}: what no run can have is not stored: {message}")]
    Impossible {
        /// The file.
        path: PathBuf,
        /// The fault of the line.
        message: String,
    },
    /// A newer program wrote the file.
    #[error("{path} has schema {found}, this skyline reads up to {known}; use a newer skyline to read it")]
    Schema {
        /// The file.
        path: PathBuf,
        /// Schema of the file.
        found: u32,
        /// Newest schema that this program reads.
        known: u32,
    },
}

impl RunLog {
    /// Name of the log inside a run's folder.
    pub const FILE_NAME: &'static str = "run.jsonl";

    /// A run with requests only, as in virtual time.
    pub fn of_requests(header: RunHeader, records: Vec<RequestRecord>, footer: RunFooter) -> Self {
        Self { records: records.into(), footer: Some(footer), ..Self::begun(header) }
    }

    /// A run of which nothing is known but its header.
    pub fn begun(header: RunHeader) -> Self {
        Self {
            header,
            records: Records::default(),
            checks: Vec::new(),
            telemetry: Telemetry::default(),
            unended: Vec::new(),
            footer: None,
            damage: LogDamage::default(),
            plan_check: None,
        }
    }
}
