//! The cache of the hub's clients: contents by etag, with a link to each in the snapshot of its commit.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use super::repository::Repository;

/// The folder of the cache, in which each repository has a folder.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Cache(pub(super) PathBuf);

impl Cache {
    /// The folder of a repository.
    pub(super) fn folder(&self, repository: &Repository) -> PathBuf {
        self.0.join(repository.folder())
    }

    /// The commit that a revision stood for when it was last asked for.
    pub(super) fn commit(&self, repository: &Repository) -> Option<String> {
        let folder = self.folder(repository);
        let named = fs::read_to_string(folder.join("refs").join(&repository.revision)).ok();
        let commit = named.map_or_else(|| repository.revision.clone(), |commit| commit.trim().to_owned());
        Some(commit).filter(|commit| folder.join("snapshots").join(commit).is_dir())
    }

    /// A file of the repository, if it is there.
    pub(super) fn file(&self, repository: &Repository, file: &str) -> Option<PathBuf> {
        let snapshot = self.folder(repository).join("snapshots").join(self.commit(repository)?);
        Some(snapshot.join(file)).filter(|file| file.exists())
    }

    /// The commit of the repository, and those of its files that are there.
    pub(super) fn files(&self, repository: &Repository) -> Option<(String, Vec<String>)> {
        let commit = self.commit(repository)?;
        let snapshot = self.folder(repository).join("snapshots").join(&commit);
        let (mut folders, mut files) = (vec![snapshot.clone()], Vec::new());
        while let Some(folder) = folders.pop() {
            for path in fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()) {
                match path.strip_prefix(&snapshot) {
                    _ if path.is_dir() => folders.push(path),
                    Ok(name) if path.exists() => files.push(name.to_string_lossy().replace('\\', "/")),
                    _ => {}
                }
            }
        }
        files.sort_unstable();
        Some((commit, files))
    }

    /// Notes which commit a revision stands for.
    pub(super) fn note(&self, repository: &Repository, commit: &str) -> io::Result<()> {
        if repository.revision == commit {
            return Ok(());
        }
        let file = self.folder(repository).join("refs").join(&repository.revision);
        file.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(file, commit)
    }

    /// Keeps a file. Its content is read from `content`, unless it is there under this etag.
    pub(super) fn store(
        &self,
        repository: &Repository,
        name: &str,
        (commit, etag): (&str, &str),
        content: &mut impl Read,
    ) -> io::Result<PathBuf> {
        let folder = self.folder(repository);
        let (blobs, file) = (folder.join("blobs"), folder.join("snapshots").join(commit).join(name));
        for folder in [Some(&*blobs), file.parent()].into_iter().flatten() {
            fs::create_dir_all(folder)?;
        }
        // Two processes may fetch the same file: each writes a part of its own and moves it into place when
        // it is whole.
        let part = blobs.join(format!("{etag}.{}.part", std::process::id()));
        if !blobs.join(etag).exists() {
            let copied = File::create(&part).and_then(|mut file| io::copy(content, &mut file));
            if let Err(error) = copied {
                let _ = fs::remove_file(&part);
                return Err(error);
            }
            fs::rename(&part, blobs.join(etag))?;
        }
        // A link may point to a content that was deleted.
        if !file.exists() {
            let _ = fs::remove_file(&file);
            link(etag, &blobs, &file, name.split('/').count())
                .or_else(|error| file.exists().then_some(()).ok_or(error))?;
        }
        self.note(repository, commit)?;
        Ok(file)
    }
}

/// Whether a name that the hub gives stays inside a folder.
pub(super) fn is_inside(name: &str) -> bool {
    !name.is_empty() && Path::new(name).components().all(|part| matches!(part, Component::Normal(_)))
}

#[cfg(unix)]
fn link(etag: &str, _blobs: &Path, file: &Path, depth: usize) -> io::Result<()> {
    std::os::unix::fs::symlink(Path::new(&"../".repeat(depth + 1)).join("blobs").join(etag), file)
}

#[cfg(not(unix))]
fn link(etag: &str, blobs: &Path, file: &Path, _depth: usize) -> io::Result<()> {
    fs::copy(blobs.join(etag), file).map(drop)
}
