//! Reads a sweep that was kept.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::Sweep;

/// A sweep that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum UnreadableSweep {
    /// There is no such file, or it may not be read.
    #[error("cannot read {}: {error}\nhint: name the folder of a sweep, or its sweep.json", path.display())]
    NoFile {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// A later Skyline wrote it.
    #[error("{} has schema {schema}, and this Skyline reads up to {}\nhint: read it with a newer one", path.display(), Sweep::SCHEMA)]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version of the format.
        schema: u32,
    },
    /// It is no sweep.
    #[error("{} holds no sweep: {error}", path.display())]
    NoSweep {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        error: serde_json::Error,
    },
}

#[derive(Deserialize)]
struct Versioned {
    schema: u32,
}

impl Sweep {
    /// The sweep whose folder or file this is.
    ///
    /// # Errors
    ///
    /// When there is none, or this program cannot read it.
    pub fn read(path: &Path) -> Result<Self, UnreadableSweep> {
        let path = if path.is_dir() { path.join(Self::FILE_NAME) } else { path.to_path_buf() };
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) => return Err(UnreadableSweep::NoFile { path, error }),
        };
        match serde_json::from_str::<Versioned>(&text) {
            Ok(Versioned { schema }) if schema > Self::SCHEMA => Err(UnreadableSweep::Newer { path, schema }),
            Ok(_) => serde_json::from_str(&text).map_err(|error| UnreadableSweep::NoSweep { path, error }),
            Err(error) => Err(UnreadableSweep::NoSweep { path, error }),
        }
    }

    /// Whether a sweep is kept here: in this folder, or in this file by its name.
    #[must_use]
    pub fn is_kept_in(path: &Path) -> bool {
        path.join(Self::FILE_NAME).is_file() || (path.is_file() && path.ends_with(Self::FILE_NAME))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_sweep_is_refused_with_its_reason() {
        let folder = tempfile::tempdir().unwrap();
        let refusal = |text: Option<&str>| {
            let file = folder.path().join(Sweep::FILE_NAME);
            if let Some(text) = text {
                std::fs::write(&file, text).unwrap();
            }
            (Sweep::is_kept_in(folder.path()), Sweep::read(folder.path()).unwrap_err().to_string())
        };
        let (kept, nothing) = refusal(None);
        assert!(!kept && nothing.contains("hint: name the folder of a sweep"), "{nothing}");
        let (kept, newer) = refusal(Some("{\"schema\": 9, \"what\": 1}"));
        assert!(kept && newer.contains("has schema 9, and this Skyline reads up to 1"), "{newer}");
        let (_, other) = refusal(Some("{\"schema\": 1}"));
        assert!(other.contains("holds no sweep: missing field"), "{other}");
    }
}
