//! Where a document goes: its usual place, standard output, or a path.

use std::path::{Path, PathBuf};

use crate::session::{Stop, try_whole_file};

/// Where a document goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Where such go.
    Usual,
    StandardOutput,
    Path(PathBuf),
}

impl Place {
    /// The name of a format, and the place that is typed after it.
    pub(super) fn typed_after(typed: &str) -> Result<(&str, Self), String> {
        match typed.split_once('=') {
            None => Ok((typed, Self::Usual)),
            Some((_, "")) => Err("after the = comes a path, or - for standard output".to_owned()),
            Some((name, "-")) => Ok((name, Self::StandardOutput)),
            Some((name, path)) => Ok((name, Self::Path(path.into()))),
        }
    }

    /// Finds out whether it can be written.
    pub(super) fn check(&self) -> Result<(), Stop> {
        let Self::Path(path) = self else { return Ok(()) };
        try_whole_file(path).map_err(|error| {
            Stop::usage(format!(
                "cannot write {}: {error}\nhint: name a place in a folder that can be written",
                path.display()
            ))
        })
    }

    /// Whether both are the same place, however it was spelled.
    pub(super) fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Path(one), Self::Path(another)) => resolved(one) == resolved(another),
            _ => self == other,
        }
    }
}

/// The path without links and detours, as far as it leads to something.
fn resolved(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new(".")).canonicalize();
        let name = path.file_name().unwrap_or_default();
        folder.map_or_else(|_| path.to_owned(), |folder| folder.join(name))
    })
}
