//! Detects which tool wrote a file, and reads it.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde_json::Value;
use strum::IntoEnumIterator;

use super::fields::{FieldProblem, ResultFields};
use super::lenient;
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
        "{path} is JSON, and no result of a tool that is known. Known are{}\nhint: --from vllm (sglang, guidellm, aiperf) says \
         what is missing for it to be that; a run of Skyline is named by its folder",
        looks()
    )]
    Unknown {
        /// The file.
        path: PathBuf,
    },
    /// It is not JSON, although its tool was named.
    #[error("{path} is no result of {tool}: it is not JSON ({problem})\nhint: wanted is {}", .tool.looks_like())]
    NotJson {
        /// The file.
        path: PathBuf,
        /// The named tool.
        tool: ForeignTool,
        /// Where it stops being JSON.
        problem: String,
    },
    /// It is empty.
    #[error("{path} is empty\nhint: the tool that should have written it did not come to its end")]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// It is truncated JSON.
    #[error(
        "{path} is JSON up to line {line}, column {column} and breaks off\nhint: it was not written or copied to its end"
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
    #[error("{path} cannot be read as a result of {tool}: {problem}\nhint: wanted is {}", .tool.looks_like())]
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
        let text = match std::fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::InvalidData && from.is_none() => return Ok(None),
            Err(source) => return Err(ForeignError::Io { path: file, source }),
        };
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
        let found = from.or_else(|| values.first().and_then(ForeignTool::of));
        let Some(tool) = found else { return Err(ForeignError::Unknown { path: file }) };
        let malformed = |FieldProblem(problem)| ForeignError::Malformed { path: file.clone(), tool, problem };
        let runs = match tool {
            ForeignTool::AiPerf => with_records(&values, &file)?,
            ForeignTool::GuideLlm => {
                one(&values).and_then(|value| guidellm::read(&ResultFields::of(value)?)).map_err(malformed)?
            }
            ForeignTool::Vllm => each(&values, tool, vllm::read).map_err(malformed)?,
            ForeignTool::Sglang => each(&values, tool, sglang::read).map_err(malformed)?,
        };
        Ok(Some(Self { runs }))
    }
}

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

/// Why a text is not JSON.
enum NoJson {
    /// It is truncated.
    BreaksOff { line: usize, column: usize },
    /// What the parser said.
    Other(String),
}

/// The values of a file: one, a list of them, or one per line.
fn values(text: &str) -> Result<Vec<Value>, NoJson> {
    let whole = match lenient::parse(text) {
        Ok(Value::Array(items)) => return Ok(items),
        Ok(value) => return Ok(vec![value]),
        Err(error) => error,
    };
    if whole.is_eof() {
        return Err(NoJson::BreaksOff { line: whole.line(), column: whole.column() });
    }
    let mut values = Vec::new();
    for (line, number) in text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty()) {
        match lenient::parse(line) {
            Ok(value) => values.push(value),
            Err(error) if error.is_eof() && !values.is_empty() => {
                return Err(NoJson::BreaksOff { line: number, column: error.column() });
            }
            Err(_) => return Err(NoJson::Other(whole.to_string())),
        }
    }
    Ok(values)
}

fn each(
    values: &[Value],
    tool: ForeignTool,
    read: impl Fn(&ResultFields<'_>, u64) -> Result<ForeignRun, FieldProblem>,
) -> Result<Vec<ForeignRun>, FieldProblem> {
    if values.is_empty() {
        return Err(FieldProblem("it is empty".to_owned()));
    }
    let numbered = values.iter().zip(1..);
    numbered
        .map(|(value, number)| {
            let of = |FieldProblem(text)| {
                if values.len() > 1 {
                    FieldProblem(format!("in its run {number}, {text}"))
                } else {
                    FieldProblem(text)
                }
            };
            let other = ForeignTool::of(value).filter(|&other| other != tool);
            other
                .map_or(Ok(()), |other| Err(FieldProblem(format!("it is a result of {other}"))))
                .and_then(|()| read(&ResultFields::of(value)?, number))
                .map_err(of)
        })
        .collect()
}

fn one(values: &[Value]) -> Result<&Value, FieldProblem> {
    match values {
        [value] => Ok(value),
        several => Err(FieldProblem(format!("it holds {} values, and one is wanted", several.len()))),
    }
}

/// AIPerf's summary, with its records if their file is there.
fn with_records(values: &[Value], file: &Path) -> Result<Vec<ForeignRun>, ForeignError> {
    let name = file.file_name().and_then(|name| name.to_str());
    let prefix = name.and_then(|name| name.strip_suffix(AIPERF_SUFFIX));
    let beside =
        prefix.map(|prefix| file.with_file_name(format!("{prefix}.jsonl"))).filter(|file| file.is_file());
    let malformed = |path: &Path, problem| ForeignError::Malformed {
        path: path.to_owned(),
        tool: ForeignTool::AiPerf,
        problem,
    };
    let records = match &beside {
        None => None,
        Some(path) => {
            let text = std::fs::read_to_string(path)
                .map_err(|source| ForeignError::Io { path: path.clone(), source })?;
            let lines = text.lines().filter(|line| !line.trim().is_empty()).zip(1..);
            let parsed = lines.map(|(line, number)| {
                lenient::parse(line)
                    .map_err(|error| malformed(path, format!("line {number} is not JSON ({error})")))
            });
            Some(parsed.collect::<Result<Vec<_>, _>>()?)
        }
    };
    let read = || -> Result<ForeignRun, FieldProblem> {
        let records = match &records {
            Some(records) => Some(records.iter().map(ResultFields::of).collect::<Result<Vec<_>, _>>()?),
            None => None,
        };
        aiperf::read(&ResultFields::of(one(values)?)?, records.as_deref())
    };
    read().map(|run| vec![run]).map_err(|FieldProblem(problem)| malformed(file, problem))
}
