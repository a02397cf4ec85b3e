//! The files of a table: one of this machine, or those of a dataset on the hub, fetched when their turn comes.

use std::fs;
use std::path::{Path, PathBuf};

use super::choice::{choose, with_rows};
use crate::generator::datasets::error::DatasetError;
use crate::generator::hub::{Hub, Repository};
use crate::workload::Dataset;

/// The files of a table, in order.
pub(super) struct TableFiles<'d> {
    on_hub: Option<(&'d str, Hub, Repository)>,
    pub(super) names: Vec<String>,
}

impl<'d> TableFiles<'d> {
    /// Finds the files of `dataset`. Where they were found before they are those, of the same commit.
    pub(super) fn find(dataset: &'d Dataset) -> Result<Self, DatasetError> {
        let Some(name) = dataset.on_hub() else {
            return Ok(Self { on_hub: None, names: local(&dataset.path)? });
        };
        let fault = |cause: String, cure: String| DatasetError::NoTable { what: dataset.path.clone(), cause, cure };
        let (repository, split) = named(name).ok_or_else(|| {
            let cure = "write hf:ORG/NAME, with @REVISION or #SPLIT after it where they are needed";
            fault("this names no dataset of the hub".to_owned(), cure.to_owned())
        })?;
        let hub = Hub::from_env().map_err(|cause| fault(cause, "set HF_HOME to a folder".to_owned()))?;
        let found = dataset.found.as_ref();
        if let Some((commit, files)) = found.and_then(|found| Some((found.revision.as_ref()?, &found.files))) {
            return Ok(Self { on_hub: Some((name, hub, repository.at(commit))), names: files.clone() });
        }
        let (commit, files) = hub.files(&repository).map_err(|cause| fault(cause, NO_FILES.to_owned()))?;
        let names = choose(&files, split).map_err(|(cause, names)| match names.first() {
            Some(first) => {
                let first = typed(name, first);
                fault(format!("{cause}: {}", names.join(", ")), format!("name one of them, as in --dataset {first}"))
            }
            None => fault(
                cause,
                "the hub may have turned it into Parquet: try the revision @refs/convert/parquet".to_owned(),
            ),
        })?;
        Ok(Self { on_hub: Some((name, hub, repository.at(&commit))), names })
    }

    /// The commit that the files are of.
    pub(super) fn revision(&self) -> Option<String> {
        self.on_hub.as_ref().map(|(.., repository)| repository.revision.clone())
    }

    /// The name of a file as a user types it.
    pub(super) fn shown(&self, file: &str) -> String {
        self.on_hub.as_ref().map_or_else(|| file.to_owned(), |(name, ..)| typed(name, file))
    }

    /// A file of them on this machine, fetched if need be.
    pub(super) fn path(&self, file: &str) -> Result<PathBuf, DatasetError> {
        let Some((_, hub, repository)) = &self.on_hub else { return Ok(PathBuf::from(file)) };
        let fault = |cause| DatasetError::NoTable { what: self.shown(file), cause, cure: NO_FILES.to_owned() };
        hub.file(repository, file).map_err(fault)
    }

    /// The cure of a damaged file.
    pub(super) fn cure(&self, path: &Path) -> String {
        if self.on_hub.is_none() {
            return "copy or write it again".to_owned();
        }
        let content = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        format!("delete {}, and it is fetched again", content.display())
    }
}

const NO_FILES: &str =
    "check the name and the revision; set HF_TOKEN if it is private or gated, HF_ENDPOINT for a mirror";

/// The name of a file, or of a set, as a user types it.
fn typed(name: &str, split: &str) -> String {
    let repository = name.split('#').next().unwrap_or_default();
    format!("hf:{repository}#{split}")
}

/// Reads `ORG/NAME[@REVISION][#SPLIT]`.
fn named(name: &str) -> Option<(Repository, Option<&str>)> {
    let (name, split) = name.split_once('#').map_or((name, None), |(name, split)| (name, Some(split)));
    let (id, revision) = name.split_once('@').unwrap_or((name, "main"));
    let fits = Repository::is_id(id) && Repository::is_revision(revision) && split != Some("");
    fits.then(|| (Repository::dataset(id, revision), split))
}

/// The names of the files at `path`. In a folder they are those that have rows.
pub(in crate::generator::datasets) fn local(path: &str) -> Result<Vec<String>, DatasetError> {
    if !Path::new(path).is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let unreadable = |cause| DatasetError::Unreadable { path: path.into(), cause };
    let mut all = Vec::new();
    for entry in fs::read_dir(path).map_err(unreadable)? {
        let file = entry.map_err(unreadable)?.path();
        all.extend(file.to_str().map(str::to_owned));
    }
    let mut names: Vec<_> = with_rows(&all).into_iter().cloned().collect();
    names.sort_unstable();
    if names.is_empty() {
        let cause = "the folder has no .parquet, .jsonl or .json file, and none of these with .gz or .zst".to_owned();
        return Err(DatasetError::NoTable { what: path.to_owned(), cause, cure: "name the file".to_owned() });
    }
    Ok(names)
}

/// Bytes of the files that a dataset was read from, if all are here.
pub(in crate::generator) fn bytes_here(dataset: &Dataset) -> Option<u64> {
    let size = |path: &Path| fs::metadata(path).ok().map(|facts| facts.len());
    let Some(name) = dataset.on_hub() else {
        return local(&dataset.path).ok()?.iter().map(|file| size(Path::new(file))).sum();
    };
    let found = dataset.found.as_ref()?;
    let (hub, repository) = (Hub::from_env().ok()?, named(name)?.0.at(found.revision.as_ref()?));
    found.files.iter().map(|file| size(&hub.cached(&repository, file)?)).sum()
}
