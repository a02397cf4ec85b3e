//! Detects which tool wrote a file, and reads it.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde_json::Value;
use strum::IntoEnumIterator;

use super::lenient::{self, NoJson, values};
use super::results;
use super::run::ForeignRun;
use super::tool::ForeignTool;
use crate::record::RunLog;

/// The runs in a file of another tool, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignFile {
    /// The runs, at least one.
    pub runs: Vec<ForeignRun>,
}

fn unreadable(path: &Path, problem: impl std::fmt::Display) -> String {
    format!("cannot read {}: {problem}", path.display())
}

/// A file with something wrong in it, and what is to be said to that.
fn wrong(path: &Path, problem: impl std::fmt::Display, hint: impl std::fmt::Display) -> String {
    format!("{} {problem}\nhint: {hint}", path.display())
}

/// A field is missing or invalid.
fn malformed(path: &Path, tool: ForeignTool, problem: impl std::fmt::Display) -> String {
    let problem = format!("cannot be read as a result of {tool}: {problem}");
    wrong(path, problem, format!("expected is {}", tool.looks_like()))
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
    /// The text names the file, the field and what is wrong with it.
    pub fn read(path: &Path, from: Option<ForeignTool>) -> Result<Option<Self>, String> {
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
                let most = LARGEST >> 20;
                let problem = format!("it is larger than {most} MiB, as no result of a known tool is");
                return Err(unreadable(&file, problem));
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::InvalidData && from.is_none() => return Ok(None),
            Err(error) => return Err(unreadable(&file, error)),
        }
        if text.trim().is_empty() && !file.ends_with(RunLog::FILE_NAME) {
            let hint = "the tool that should have written it did not finish";
            return Err(wrong(&file, "is empty", hint));
        }
        let values = match (values(&text), from) {
            (Ok(values), _) => values,
            (Err(NoJson::BreaksOff { line, column }), _) => {
                let problem = format!("is JSON up to line {line}, column {column} and breaks off");
                return Err(wrong(&file, problem, "it was not written or copied to its end"));
            }
            (Err(NoJson::Other(problem)), Some(tool)) => {
                let problem = format!("is no result of {tool}: it is not JSON ({problem})");
                return Err(wrong(&file, problem, format!("expected is {}", tool.looks_like())));
            }
            (Err(NoJson::Other(_)), None) => return Ok(None),
        };
        let Some(tool) = from.or_else(|| values.first().and_then(ForeignTool::from_value)) else {
            let problem = format!("is JSON, but not the result of a known tool. Known are{}", looks());
            let hint = "--from vllm (sglang, guidellm, aiperf) says what is missing for it to be that; a run of \
                        Skyline is named by its folder";
            return Err(wrong(&file, problem, hint));
        };
        let beside = if tool == ForeignTool::AiPerf { records_beside(&file)? } else { None };
        let runs =
            results::runs(tool, &values, beside.as_deref()).map_err(|problem| malformed(&file, tool, problem))?;
        Ok(Some(Self { runs }))
    }
}

/// Largest file that is read, bytes.
const LARGEST: u64 = 128 << 20;

/// Returns whether a file is a run log of Skyline. Such a log may be too long to read twice. A pipe cannot be inspected
/// before it is read.
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

/// The records of AIPerf's requests, if their file is beside its summary.
fn records_beside(summary: &Path) -> Result<Option<Vec<Value>>, String> {
    let name = summary.file_name().and_then(|name| name.to_str());
    let prefix = name.and_then(|name| name.strip_suffix(AIPERF_SUFFIX));
    let beside = prefix.map(|prefix| summary.with_file_name(format!("{prefix}.jsonl")));
    let Some(path) = beside.filter(|file| file.is_file()) else { return Ok(None) };
    let text = std::fs::read_to_string(&path).map_err(|error| unreadable(&path, error))?;
    let lines = text.lines().filter(|line| !line.trim().is_empty()).zip(1..);
    let parsed = lines.map(|(line, number)| {
        lenient::parse(line).map_err(|error| {
            let problem = format!("line {number} is not JSON ({error})");
            malformed(&path, ForeignTool::AiPerf, problem)
        })
    });
    parsed.collect::<Result<_, _>>().map(Some)
}
