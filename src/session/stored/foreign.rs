//! Files of other tools, named on the command line.

use std::path::{Path, PathBuf};

use crate::foreign::{ForeignFile, ForeignRun, ForeignTool};
use crate::report::documents;
use crate::session::console::Stop;

/// A path, and which run of it is meant: `FILE` or `FILE:N`.
struct Named {
    path: PathBuf,
    number: Option<usize>,
}

impl Named {
    fn of(typed: &Path) -> Self {
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
pub(crate) fn exists(typed: &Path) -> bool {
    Named::of(typed).path.exists()
}

/// The runs of another tool that are kept there, all or the one that is named; `None` where it is nothing of another
/// tool's.
pub(crate) fn runs_in(typed: &Path, from: Option<ForeignTool>) -> Result<Option<Vec<ForeignRun>>, Stop> {
    let Named { path, number } = Named::of(typed);
    let Some(ForeignFile { mut runs }) = ForeignFile::read(&path, from).map_err(Stop::usage)? else {
        return match from {
            Some(tool) => Err(Stop::usage(format!(
                "{} holds no file of {tool}\nhint: name the file itself",
                path.display()
            ))),
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
pub(crate) fn only_run(typed: &Path, mut runs: Vec<ForeignRun>) -> Result<ForeignRun, Stop> {
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
    let lines = runs.iter().zip(1..).map(|(run, number)| {
        format!("\n  {}:{number}  {}", path.display(), documents::foreign_in_words(run))
    });
    format!("{}\nhint: name one of these", lines.collect::<String>())
}
