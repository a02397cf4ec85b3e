//! Detects which tool wrote a file, and reads it.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde_json::Value;
use strum::IntoEnumIterator;

use super::fields::{FirstProblem, ResultFields};
use super::lenient::{self, NoJson, values};
use super::run::ForeignRun;
use super::tool::ForeignTool;
use crate::foreign::tools::{aiperf, guidellm, sglang, vllm};
use crate::record::RunLog;

/// The runs in a file of another tool, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignFile {
    /// The runs, at least one.
    pub runs: Vec<ForeignRun>,
}

/// A file that cannot be read as another tool's.
#[derive(Debug, thiserror::Error)]
pub enum ForeignError {
    /// The file cannot be read.
    #[error("cannot read {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is JSON, but from no known tool.
    #[error(
        "{path} is JSON, but not the result of a known tool. Known are{}\nhint: --from vllm (sglang, guidellm, aiperf) \
         says what is missing for it to be that; a run of Skyline is named by its folder",
        looks()
    )]
    Unknown {
        /// The file.
        path: PathBuf,
    },
    /// It is not JSON, although its tool was named.
    #[error("{path} is no result of {tool}: it is not JSON ({problem})\nhint: expected is {}", .tool.looks_like())]
    NotJson {
        /// The file.
        path: PathBuf,
        /// The named tool.
        tool: ForeignTool,
        /// Where it stops being JSON.
        problem: String,
    },
    /// It is empty.
    #[error("{path} is empty\nhint: the tool that should have written it did not finish")]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// It is truncated JSON.
    #[error(
        "{path} is JSON up to line {line}, column {column} and breaks off\nhint: it was not written or copied to its \
         end"
    )]
    BreaksOff {
        /// The file.
        path: PathBuf,
        /// The last line.
        line: usize,
        /// The last column of it.
        column: usize,
    },
    /// A field is missing or invalid.
    #[error("{path} cannot be read as a result of {tool}: {problem}\nhint: expected is {}", .tool.looks_like())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The tool.
        tool: ForeignTool,
        /// Which field, and why.
        problem: String,
    },
}

fn looks() -> String {
    ForeignTool::iter().fold(String::new(), |all, tool| all + &format!("\n  {tool}: {}", tool.looks_like()))
}

/// AIPerf's default name for its summary, and the ending of that name under another prefix.
const AIPERF_SUMMARY: &str = "profile_export_aiperf.json";
const AIPERF_SUFFIX: &str = "_aiperf.json";
/// GuideLLM's file inside a folder.
const GUIDELLM_FILE: &str = "benchmarks.json";

impl ForeignFile {
    /// Reads `path`, a file or its folder. `None` if it is no result of another tool, unless `from` names the tool.
    ///
    /// # Errors
    ///
    /// [`ForeignError`] names the file, the field and what is wrong with it.
    pub fn read(path: &Path, from: Option<ForeignTool>) -> Result<Option<Self>, ForeignError> {
        let Some(file) = file_in(path, from) else { return Ok(None) };
        if from.is_none() && is_a_run_log(&file) {
            return Ok(None);
        }
        // Records of AIPerf are read with their summary.
        let file = summary_beside(&file).unwrap_or(file);
        let mut text = String::new();
        let read = File::open(&file).and_then(|open| open.take(LARGEST + 1).read_to_string(&mut text));
        match read {
            Ok(length) if length as u64 > LARGEST => {
                let words =
                    format!("it is larger than {} MiB, as no result of a known tool is", LARGEST >> 20);
                return Err(ForeignError::Io { path: file, source: io::Error::other(words) });
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::InvalidData && from.is_none() => return Ok(None),
            Err(source) => return Err(ForeignError::Io { path: file, source }),
        }
        if text.trim().is_empty() && !file.ends_with(RunLog::FILE_NAME) {
            return Err(ForeignError::Empty { path: file });
        }
        let values = match (values(&text), from) {
            (Ok(values), _) => values,
            (Err(NoJson::BreaksOff { line, column }), _) => {
                return Err(ForeignError::BreaksOff { path: file, line, column });
            }
            (Err(NoJson::Other(problem)), Some(tool)) => {
                return Err(ForeignError::NotJson { path: file, tool, problem });
            }
            (Err(NoJson::Other(_)), None) => return Ok(None),
        };
        let found = from.or_else(|| values.first().and_then(ForeignTool::from_value));
        let Some(tool) = found else { return Err(ForeignError::Unknown { path: file }) };
        let runs = match tool {
            ForeignTool::AiPerf => {
                let records = records_beside(&file)?;
                one(&values, |fields| vec![aiperf::read(fields, records.as_deref())])
            }
            ForeignTool::GuideLlm => one(&values, guidellm::read),
            ForeignTool::Vllm => each(&values, tool, vllm::read),
            ForeignTool::Sglang => each(&values, tool, sglang::read),
        };
        let runs = runs.map_err(|problem| ForeignError::Malformed { path: file, tool, problem })?;
        Ok(Some(Self { runs }))
    }
}

/// Largest file that is read, bytes.
const LARGEST: u64 = 128 << 20;

/// Whether a file is a run log of Skyline, which may be too long to read twice. A pipe cannot be inspected before it
/// is read.
fn is_a_run_log(file: &Path) -> bool {
    const BEGINNING: &[u8] = b"{\"header\"";
    let mut first = [0; BEGINNING.len()];
    let mut begins = || File::open(file).and_then(|mut file| file.read_exact(&mut first));
    file.is_file() && begins().is_ok() && first == BEGINNING
}

/// The file at `path`, or in that folder; `None` for a folder without one.
fn file_in(path: &Path, from: Option<ForeignTool>) -> Option<PathBuf> {
    if !path.is_dir() {
        return Some(path.to_owned());
    }
    let names = [(ForeignTool::AiPerf, AIPERF_SUMMARY), (ForeignTool::GuideLlm, GUIDELLM_FILE)];
    let wanted = names.into_iter().filter(|(tool, _)| from.is_none_or(|from| from == *tool));
    wanted.map(|(_, name)| path.join(name)).find(|file| file.is_file())
}

/// The summary that belongs to AIPerf's records in `file`, if any.
fn summary_beside(file: &Path) -> Option<PathBuf> {
    let name = file.file_name()?.to_str()?.strip_suffix(".jsonl")?;
    Some(file.with_file_name(format!("{name}{AIPERF_SUFFIX}"))).filter(|summary| summary.is_file())
}

/// One run of each value.
fn each(
    values: &[Value],
    tool: ForeignTool,
    read: fn(&ResultFields<'_>, u64) -> ForeignRun,
) -> Result<Vec<ForeignRun>, String> {
    if values.is_empty() {
        return Err("it is empty".to_owned());
    }
    let run = |(value, number): (&Value, u64)| {
        let place = if values.len() > 1 { format!("in its run {number}, ") } else { String::new() };
        if let Some(other) = ForeignTool::from_value(value).filter(|&other| other != tool) {
            return Err(format!("{place}it is a result of {other}"));
        }
        let problem = FirstProblem::default();
        let run = problem.within(&place, || read(&ResultFields::new(value, &problem), number));
        problem.unless(run)
    };
    values.iter().zip(1..).map(run).collect()
}

/// The runs in the one value of a file.
fn one(
    values: &[Value],
    read: impl FnOnce(&ResultFields<'_>) -> Vec<ForeignRun>,
) -> Result<Vec<ForeignRun>, String> {
    let [value] = values else {
        return Err(format!("it has {} values, and one is expected", values.len()));
    };
    let problem = FirstProblem::default();
    let runs = read(&ResultFields::new(value, &problem));
    problem.unless(runs)
}

/// The records of AIPerf's requests, if their file is beside its summary.
fn records_beside(summary: &Path) -> Result<Option<Vec<Value>>, ForeignError> {
    let name = summary.file_name().and_then(|name| name.to_str());
    let prefix = name.and_then(|name| name.strip_suffix(AIPERF_SUFFIX));
    let beside = prefix.map(|prefix| summary.with_file_name(format!("{prefix}.jsonl")));
    let Some(path) = beside.filter(|file| file.is_file()) else { return Ok(None) };
    let text =
        std::fs::read_to_string(&path).map_err(|source| ForeignError::Io { path: path.clone(), source })?;
    let lines = text.lines().filter(|line| !line.trim().is_empty()).zip(1..);
    let parsed = lines.map(|(line, number)| {
        lenient::parse(line).map_err(|error| ForeignError::Malformed {
            path: path.clone(),
            tool: ForeignTool::AiPerf,
            problem: format!("line {number} is not JSON ({error})"),
        })
    });
    parsed.collect::<Result<_, _>>().map(Some)
}
