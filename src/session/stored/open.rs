//! Says what is stored at a path.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::foreign;
use super::run::repeats_in;
use crate::experiment::Sweep;
use crate::foreign::{ForeignRun, ForeignTool};
use crate::record::RunLog;
use crate::session::campaign::dir::{ExperimentDir, MANIFEST};
use crate::session::campaign::matrix::FILES;
use crate::session::console::Stop;

/// What is stored at a path.
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
    /// Runs that repeat one another, in the order of their numbers.
    #[strum(to_string = "the folder of repeats")]
    Repeats(Vec<PathBuf>),
    /// One run, or nothing that is known: reading the run then says what is wrong.
    #[strum(to_string = "a run")]
    Run,
}

/// Finds out what is stored at `path`; with `tool` it has to be a result of that tool.
pub(crate) fn open(path: &Path, tool: Option<ForeignTool>) -> Result<Stored, Stop> {
    if tool.is_none() {
        if path.join(RunLog::FILE_NAME).exists() {
            return Ok(Stored::Run);
        }
        if Sweep::is_stored_in(path) {
            return Sweep::read(path).map(Box::new).map(Stored::Sweep).map_err(Stop::usage);
        }
    }
    if (tool.is_some() || foreign::exists(path))
        && let Some(runs) = foreign::runs_in(path, tool)?
    {
        return Ok(Stored::Foreign(runs));
    }
    if is_ab_test(path) {
        return Ok(Stored::AbTest);
    }
    if let Some(folder) = matrix_folder(path) {
        return Ok(Stored::Matrix(folder));
    }
    let runs = repeats_in(path);
    Ok(if runs.is_empty() { Stored::Run } else { Stored::Repeats(runs) })
}

/// Whether the manifest in this folder says so.
fn is_ab_test(folder: &Path) -> bool {
    let is_there = folder.join(MANIFEST).exists();
    is_there
        && ExperimentDir::manifest_in(folder)
            .is_ok_and(|manifest| manifest.get("kind") == Some(&Value::from("ab")))
}

/// The folder of the table that is meant: itself, or its `matrix.json`.
fn matrix_folder(path: &Path) -> Option<PathBuf> {
    let is_file = path.file_name().is_some_and(|name| name == FILES[0]);
    let folder = if is_file { path.parent()? } else { path };
    folder.join(FILES[0]).exists().then(|| folder.to_path_buf())
}
