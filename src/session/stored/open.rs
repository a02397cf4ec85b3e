//! Says what is stored at a path: of ours, or a file of another tool.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::experiments::sweep;
use super::listing::{is_result, results_in};
use crate::experiment::Sweep;
use crate::experiment::matrix::Matrix;
use crate::experiment::tune::Tune;
use crate::foreign::{ForeignFile, ForeignRun, ForeignTool};
use crate::record::RunLog;
use crate::report::documents;
use crate::session::campaign::dir::ExperimentDir;
use crate::session::campaign::reported::Reported as _;
use crate::session::console::Stop;
use crate::session::save::SUMMARY;
use crate::session::stored_run::repeats_in;
use crate::units::{count, spoken};

/// The result that is stored at a path.
#[derive(strum::Display)]
pub(crate) enum Stored {
    /// Results of another tool.
    #[strum(to_string = "a result of another tool")]
    Foreign(Vec<ForeignRun>),
    /// A sweep.
    #[strum(to_string = "a sweep")]
    Sweep(Box<Sweep>),
    /// An A/B test.
    #[strum(to_string = "an A/B test")]
    AbTest,
    /// A table of experiments, in this folder.
    #[strum(to_string = "a table of experiments")]
    Matrix(PathBuf),
    /// A tuning, in this folder.
    #[strum(to_string = "a tuning")]
    Tune(PathBuf),
    /// Runs that repeat one another, in the order of their numbers.
    #[strum(to_string = "the folder of repeats")]
    Repeats(Vec<PathBuf>),
    /// Results in a folder that is none itself, the newest first.
    #[strum(to_string = "a folder of results")]
    Results(Vec<PathBuf>),
    /// One run, or nothing that is known: reading the run then says what is wrong.
    #[strum(to_string = "a run")]
    Run,
}

/// Finds out what is stored at `path`. With `tool` it has to be a result of that tool.
pub(crate) fn open(path: &Path, tool: Option<ForeignTool>) -> Result<Stored, Stop> {
    if !is_there(path) {
        return Err(Stop::usage(format!(
            "there is no {}\nhint: `skyline report` shows the latest result, and `skyline report results` lists all",
            path.display()
        )));
    }
    if tool.is_none() {
        if path.join(RunLog::FILE_NAME).exists() {
            return Ok(Stored::Run);
        }
        if Sweep::is_stored_in(path) {
            return sweep(path).map(Box::new).map(Stored::Sweep);
        }
    }
    if let Some(runs) = foreign_runs(path, tool)? {
        return Ok(Stored::Foreign(runs));
    }
    if is_ab_test(path) {
        return Ok(Stored::AbTest);
    }
    if let Some(folder) = folder_with(Matrix::FORM.file, path) {
        return Ok(Stored::Matrix(folder));
    }
    if let Some(folder) = folder_with(Tune::FILE_NAME, path) {
        return Ok(Stored::Tune(folder));
    }
    let runs = repeats_in(path);
    if !runs.is_empty() {
        return Ok(Stored::Repeats(runs));
    }
    let results = results_in(path);
    if !results.is_empty() {
        return Ok(Stored::Results(results));
    }
    if path.is_dir() && !is_result(path) {
        return Err(Stop::usage(format!(
            "there is no result in {}: {}\nhint: name the folder of a run, of repeats or of an experiment; `skyline \
             report results` lists those that are in results",
            path.display(),
            content(path)
        )));
    }
    Ok(Stored::Run)
}

/// Path of the only result in a folder of results; else the path itself.
pub(crate) fn one_result(path: &Path) -> Result<PathBuf, Stop> {
    let results = if is_result(path) { Vec::new() } else { results_in(path) };
    match results.as_slice() {
        [] => Ok(path.to_owned()),
        [only] => Ok(only.clone()),
        [newest, ..] => Err(Stop::usage(format!(
            "{} holds {} results, and one is needed\nhint: name it, such as {}, the newest",
            path.display(),
            count(results.len() as u64),
            newest.display()
        ))),
    }
}

/// Waits until each of these folders has a run with its summary. It is written last.
pub(crate) fn await_runs(folders: &[PathBuf], limit: Duration) -> Result<(), Stop> {
    let end = Instant::now() + limit;
    for folder in folders {
        while !one_result(folder)?.join(SUMMARY).is_file() {
            if Instant::now() >= end {
                let (folder, limit) = (folder.display(), spoken(limit));
                return Err(Stop::impossible(format!(
                    "no whole run is in {folder} after {limit}\n\
                     hint: look at the output of the worker that should have stored it, or give it a longer --wait"
                )));
            }
            std::thread::sleep(Duration::from_secs(1).min(limit));
        }
    }
    Ok(())
}

/// Most names of files in a message.
const NAMED: usize = 5;

/// Names of the files in a folder, in words.
fn content(folder: &Path) -> String {
    let inside = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<_> = inside.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    match (names.is_empty(), more) {
        (true, _) => "it is empty".to_owned(),
        (false, 0) => format!("it holds {}", names.join(", ")),
        (false, more) => format!("it holds {} and {} more", names.join(", "), count(more as u64)),
    }
}

/// Whether the manifest in this folder says so.
fn is_ab_test(folder: &Path) -> bool {
    let manifest = ExperimentDir::manifest_in(folder);
    manifest.is_ok_and(|manifest| manifest.get("kind") == Some(&Value::from("ab")))
}

/// The folder with this file that is meant: by itself, or by the file.
fn folder_with(file: &str, path: &Path) -> Option<PathBuf> {
    let is_file = path.file_name().is_some_and(|name| name == file);
    let folder = if is_file { path.parent()? } else { path };
    folder.join(file).exists().then(|| folder.to_path_buf())
}

/// A path, and which run of it is meant: `FILE` or `FILE:N`.
struct Named {
    path: PathBuf,
    number: Option<usize>,
}

impl Named {
    fn new(typed: &Path) -> Self {
        let whole = || Self { path: typed.to_owned(), number: None };
        let text = typed.to_string_lossy();
        let Some((path, number)) = text.rsplit_once(':').filter(|_| !typed.exists()) else { return whole() };
        match number.parse::<usize>() {
            Ok(number) if Path::new(path).exists() => Self { path: path.into(), number: Some(number) },
            _ => whole(),
        }
    }
}

/// Whether there is something under this name.
pub(crate) fn is_there(typed: &Path) -> bool {
    Named::new(typed).path.exists()
}

/// Returns the runs of another tool kept there, all or the one named. `None` where it is nothing of another tool's.
pub(crate) fn foreign_runs(typed: &Path, from: Option<ForeignTool>) -> Result<Option<Vec<ForeignRun>>, Stop> {
    let Named { path, number } = Named::new(typed);
    let Some(ForeignFile { mut runs }) = ForeignFile::read(&path, from).map_err(Stop::usage)? else {
        return match from {
            Some(tool) => {
                Err(Stop::usage(format!("{} holds no file of {tool}\nhint: name the file itself", path.display())))
            }
            None => Ok(None),
        };
    };
    let Some(number) = number else { return Ok(Some(runs)) };
    if (1..=runs.len()).contains(&number) {
        Ok(Some(vec![runs.swap_remove(number - 1)]))
    } else {
        Err(Stop::usage(format!(
            "{} has no run {number}: it holds {}{}",
            path.display(),
            runs.len(),
            listed(&path, &runs)
        )))
    }
}

/// The one run of `runs`, which are stored there.
pub(crate) fn only_foreign_run(typed: &Path, mut runs: Vec<ForeignRun>) -> Result<ForeignRun, Stop> {
    match runs.pop() {
        Some(run) if runs.is_empty() => Ok(run),
        last => {
            runs.extend(last);
            Err(Stop::usage(format!(
                "{} holds {} runs, and one is compared{}",
                typed.display(),
                runs.len(),
                listed(typed, &runs)
            )))
        }
    }
}

/// How each of the runs of a file is named.
fn listed(path: &Path, runs: &[ForeignRun]) -> String {
    let lines = runs
        .iter()
        .zip(1..)
        .map(|(run, number)| format!("\n  {}:{number}  {}", path.display(), documents::foreign_in_words(run)));
    format!("{}\nhint: name one of these", lines.collect::<String>())
}
