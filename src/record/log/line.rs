//! What a line of a run log holds.

use serde::{Deserialize, Serialize};

use crate::record::request::amendment::{CountedAnswer, ScoredAnswer};
use crate::record::request::check::CheckRecord;
use crate::record::request::record::{RequestRecord, UnendedRequest};
use crate::record::run::header::{RunFooter, RunHeader};
use crate::record::telemetry::{ClientSample, Reading};

/// A line of a run log, to be written.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LogLine<'a> {
    /// The first line.
    Header(&'a RunHeader),
    /// Requests that were dispatched shortly before, and had not ended.
    InFlight(&'a [UnendedRequest]),
    /// The record of a request.
    Request(&'a RequestRecord),
    /// The result of a golden prompt.
    Check(&'a CheckRecord),
    /// The token count of an answer whose record came before.
    Counted(&'a CountedAnswer),
    /// The score of an answer whose record came before.
    Scored(&'a ScoredAnswer),
    /// A reading of a metrics page.
    Reading(&'a Reading),
    /// A sample of this process.
    Client(&'a ClientSample),
    /// The last line.
    Footer(&'a RunFooter),
}

/// A line of a run log, as read.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StoredLine {
    Header(Box<RunHeader>),
    InFlight(Vec<UnendedRequest>),
    Request(Box<RequestRecord>),
    Check(CheckRecord),
    Counted(CountedAnswer),
    Scored(ScoredAnswer),
    Reading(Reading),
    Client(ClientSample),
    Footer(Box<RunFooter>),
}

impl StoredLine {
    /// Returns the line as it would be written.
    pub(super) fn as_line(&self) -> LogLine<'_> {
        match self {
            Self::Header(header) => LogLine::Header(header),
            Self::InFlight(requests) => LogLine::InFlight(requests),
            Self::Request(record) => LogLine::Request(record),
            Self::Check(check) => LogLine::Check(check),
            Self::Counted(answer) => LogLine::Counted(answer),
            Self::Scored(answer) => LogLine::Scored(answer),
            Self::Reading(reading) => LogLine::Reading(reading),
            Self::Client(sample) => LogLine::Client(sample),
            Self::Footer(footer) => LogLine::Footer(footer),
        }
    }
}
