//! The folder in which a run is kept.
//!
//! Inside an experiment's folder a run has the name that the experiment gives it
//! ([`RunRequest::name`](crate::experiment::RunRequest::name)): `run-1` of repeats, `run-001` of a sweep.

use std::io;
use std::path::{Path, PathBuf};

use crate::session::console::Stop;

/// How the moment of a run is written in the name of its folder.
const STAMP: &str = "%Y%m%dT%H%M%SZ";

/// Most runs of one name in one second.
const TRIES: u32 = 100;

/// Creates the folder of all runs. One that cannot be written is thus found before anything is sent.
pub(crate) fn base(base: &Path) -> Result<(), Stop> {
    let tried = base.join(format!(".{}.tmp", std::process::id()));
    let created = std::fs::create_dir_all(base).and_then(|()| std::fs::create_dir(&tried));
    created.and_then(|()| std::fs::remove_dir(&tried)).map_err(|error| cannot(base, &error))
}

/// Refuses what [`base`] refuses, and leaves nothing behind.
pub(crate) fn check_base(base: &Path) -> Result<(), Stop> {
    let is_new = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
    let new: Vec<_> = base.ancestors().take_while(is_new).collect();
    let checked = self::base(base);
    for folder in new {
        let _ = std::fs::remove_dir(folder);
    }
    checked
}

fn cannot(path: &Path, error: &io::Error) -> Stop {
    Stop::usage(format!(
        "cannot create {}: {error}\nhint: name a folder that can be written with --out",
        path.display()
    ))
}

/// Creates `<base>/<workload>-<engine>-<UTC time>`; a second run in the same second gets `-2`.
pub(crate) fn create(base: &Path, workload: &str, engine: &str, at: jiff::Timestamp) -> Result<PathBuf, Stop> {
    let name = format!("{workload}-{engine}-{}", at.strftime(STAMP));
    for run in 1..=TRIES {
        let folder = base.join(if run == 1 { name.clone() } else { format!("{name}-{run}") });
        match std::fs::create_dir(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(cannot(&folder, &error)),
        }
    }
    Err(Stop::impossible(format!("{} runs called {name} are in {} already", TRIES, base.display())))
}

/// The moment in the name of a folder that [`create`] made.
pub(crate) fn stamp(name: &str) -> Option<jiff::Timestamp> {
    let read = |text: &str| jiff::civil::DateTime::strptime(STAMP, text).ok()?.to_zoned(jiff::tz::TimeZone::UTC).ok();
    name.split('-').rev().take(2).find_map(read).map(|at| at.timestamp())
}

/// Returns the folder of what is kept at `path`. The path is a folder itself, or a file in it.
pub(crate) fn of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !path.is_dir() => parent,
        _ => path,
    }
}

/// Creates the folder of one of several runs, with those above it. One that is there is refused, so that no run is
/// written over another.
pub(crate) fn inside(parent: &Path, name: &str) -> Result<PathBuf, Stop> {
    let folder = parent.join(name);
    folder.parent().map_or(Ok(()), base)?;
    std::fs::create_dir(&folder).map_err(|error| cannot(&folder, &error))?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_the_same_second_do_not_meet() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().join("results");
        super::base(&base).unwrap();
        let at: jiff::Timestamp = "2026-11-21T04:05:06.7Z".parse().unwrap();
        let names: Vec<_> = (0..3)
            .map(|_| create(&base, "short_chat", "vllm", at).unwrap())
            .map(|folder| folder.file_name().unwrap().to_str().unwrap().to_owned())
            .collect();
        let name = "short_chat-vllm-20261121T040506Z";
        for named in &names {
            assert_eq!(stamp(named), "2026-11-21T04:05:06Z".parse().ok());
        }
        assert_eq!(stamp("my-run"), None);
        assert_eq!(names, [name.to_owned(), format!("{name}-2"), format!("{name}-3")]);
    }

    #[test]
    fn a_folder_is_checked_without_a_trace() {
        let folder = tempfile::tempdir().unwrap();
        assert!(check_base(&folder.path().join("a/b")).is_ok() && check_base(folder.path()).is_ok());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert!(check_base(&file.join("c")).unwrap_err().message().contains("file/c: Not a directory"));
        assert!(check_base(&file).unwrap_err().message().contains("File exists"));
    }

    #[test]
    fn no_run_is_written_over_another() {
        let folder = tempfile::tempdir().unwrap();
        let round = inside(folder.path(), "round-1/a").unwrap();
        assert!(round.is_dir() && inside(folder.path(), "round-1/b").is_ok());
        let refusal = inside(folder.path(), "round-1/a").unwrap_err();
        assert!(refusal.message().contains("round-1/a: File exists"), "{}", refusal.message());
    }
}
