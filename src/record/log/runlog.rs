//! A run on disk: JSON Lines with a header, one record per request or golden prompt, and a footer, appended as
//! requests end.
//!
//! Logs of every schema up to [`RunHeader::SCHEMA`] are read into the newest types: what was added later is optional, and
//! what was renamed is read under its old name where the field stands (`places` in `record/run/engine.rs`).
//! `tests/library/stored_runs.rs` reads a run of each.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::plausibility::{self, SessionChecker};
use crate::record::request::record::{CheckRecord, CountedAnswer, RequestRecord};
use crate::record::run::header::{RunFooter, RunHeader};
use crate::record::run::plan_check::PlanCheck;
use crate::record::telemetry::{ClientSample, Reading, Telemetry};

/// A whole run: every number that Skyline prints can be recomputed from it.
#[derive(Clone, Debug, PartialEq)]
pub struct RunLog {
    /// The plan and the conditions of the run.
    pub header: RunHeader,
    /// One record per request, in order of their ends.
    pub records: Vec<RequestRecord>,
    /// Results of golden prompts, in order of their ends.
    pub checks: Vec<CheckRecord>,
    /// Samples of metrics pages and of this process during the run.
    pub telemetry: Telemetry,
    /// How the run ended; absent when it was cut off.
    pub footer: Option<RunFooter>,
    /// What came of holding the records to their plan; absent until somebody has done so, and never stored.
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
        /// What the system said.
        source: io::Error,
    },
    /// A line is invalid.
    #[error("{path}, line {line}: {message}")]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        message: String,
    },
    /// A line says what no run can have written.
    #[error(
        "{path}, line {line}: {message}\n\
         hint: the log was damaged or changed since it was written; use a copy that was not, or repeat the run"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
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

/// A line of a run log, to be written.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LogLine<'a> {
    /// The first line.
    Header(&'a RunHeader),
    /// The record of a request.
    Request(&'a RequestRecord),
    /// The result of a golden prompt.
    Check(&'a CheckRecord),
    /// The token count of an answer whose record came before.
    Counted(&'a CountedAnswer),
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
enum StoredLine {
    Header(Box<RunHeader>),
    Request(Box<RequestRecord>),
    Check(CheckRecord),
    Counted(CountedAnswer),
    Reading(Reading),
    Client(ClientSample),
    Footer(Box<RunFooter>),
}

impl RunLog {
    /// A run with requests only, as in virtual time.
    pub fn of_requests(header: RunHeader, records: Vec<RequestRecord>, footer: RunFooter) -> Self {
        let (checks, telemetry) = (Vec::new(), Telemetry::default());
        Self { header, records, checks, telemetry, footer: Some(footer), plan_check: None }
    }

    /// Name of the log inside a run's folder.
    pub const FILE_NAME: &'static str = "run.jsonl";

    /// Reads a run from its log, or from the folder that holds one.
    ///
    /// Ignores a last line that was cut off (a crash, a full disk) and keeps everything before it.
    ///
    /// # Errors
    ///
    /// [`RunLogError`] names the file, the line and the cause. A log with impossible content is refused: its figures
    /// would be meaningless.
    pub fn read(path: &Path) -> Result<Self, RunLogError> {
        let path = if path.is_dir() { path.join(Self::FILE_NAME) } else { path.to_owned() };
        let file = File::open(&path).map_err(|source| RunLogError::Io { path: path.clone(), source })?;
        Self::from_lines(BufReader::new(file), path, false)
    }

    /// The run that these lines of the file at `path` hold. What this program itself has just written (`own`) is not
    /// refused, however implausible: a hostile server must not cost its run the report.
    pub(super) fn from_lines(mut lines: impl BufRead, path: PathBuf, own: bool) -> Result<Self, RunLogError> {
        let io_error = |source| RunLogError::Io { path: path.clone(), source };
        let hold = |plausible: Result<(), String>| if own { Ok(()) } else { plausible };

        let mut header = None;
        let mut records: Vec<RequestRecord> = Vec::new();
        let mut sessions = SessionChecker::default();
        let mut uncounted = HashMap::new();
        let mut checks = Vec::new();
        let mut telemetry = Telemetry::default();
        let mut footer = None;
        let mut text = Vec::new();
        for line in 1.. {
            text.clear();
            if lines.read_until(b'\n', &mut text).map_err(io_error)? == 0 {
                break;
            }
            let cut_off = !text.ends_with(b"\n");
            let bad = |message: String| RunLogError::Line { path: path.clone(), line, message };
            if line == 1
                && let Some(found) = newer_schema(&text)
            {
                return Err(RunLogError::Schema { path, found, known: RunHeader::SCHEMA });
            }
            let damaged = |message: String| RunLogError::Damaged { path: path.clone(), line, message };
            match (serde_json::from_slice(&text), &header) {
                (Ok(StoredLine::Header(found)), None) => {
                    hold(plausibility::check_header(&found)).map_err(damaged)?;
                    header = Some(*found);
                }
                (Ok(_), _) if footer.is_some() => {
                    return Err(bad("only the last line may be the footer".to_owned()));
                }
                (Ok(StoredLine::Request(record)), Some(header)) => {
                    let plausible = plausibility::check_record(header, &record);
                    hold(plausible.and_then(|()| sessions.check(&record))).map_err(damaged)?;
                    if record.is_uncounted() {
                        uncounted.insert(record.index, records.len());
                    }
                    records.push(*record);
                }
                (Ok(StoredLine::Check(check)), Some(header)) => {
                    hold(plausibility::check_check(header, &check)).map_err(damaged)?;
                    checks.push(check);
                }
                (Ok(StoredLine::Counted(answer)), Some(_)) => {
                    hold(plausibility::check_counted(&answer)).map_err(damaged)?;
                    let Some(place) = uncounted.remove(&answer.index) else {
                        let index = answer.index;
                        return Err(damaged(format!("request {index}: it has no answer to count")));
                    };
                    records[place].count(answer.tokens);
                }
                (Ok(StoredLine::Reading(reading)), Some(header)) => {
                    hold(plausibility::check_reading(header, &reading)).map_err(damaged)?;
                    telemetry.readings.push(reading);
                }
                (Ok(StoredLine::Client(sample)), Some(_)) => telemetry.client.push(sample),
                (Ok(StoredLine::Footer(found)), Some(_)) => {
                    hold(plausibility::check_footer(&found)).map_err(damaged)?;
                    footer = Some(*found);
                }
                (Ok(_), _) => return Err(bad("only the first line may be the header".to_owned())),
                (Err(_), Some(_)) if cut_off => break,
                (Err(error), None) => {
                    return Err(bad(format!(
                        "this is not a run log ({error})\nhint: give a run's folder, or its run.jsonl"
                    )));
                }
                (Err(error), Some(_)) => return Err(damaged(error.to_string())),
            }
        }
        let header = header.ok_or_else(|| RunLogError::Line {
            path: path.clone(),
            line: 1,
            message: "the file is empty; a run log begins with a header".to_owned(),
        })?;
        Ok(Self { header, records, checks, telemetry, footer, plan_check: None })
    }
}

/// The schema of a header line, if it is newer than this program.
fn newer_schema(text: &[u8]) -> Option<u32> {
    let line: serde_json::Value = serde_json::from_slice(text).ok()?;
    let schema = u32::try_from(line.get("header")?.get("schema")?.as_u64()?).ok()?;
    (schema > RunHeader::SCHEMA).then_some(schema)
}
