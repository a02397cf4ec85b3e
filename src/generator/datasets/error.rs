//! Why prompts cannot be taken from a file or a folder, down to the row.

use std::io;
use std::path::PathBuf;

/// Reason why prompts cannot be taken from a file or a folder. It says what happened, where, and the cure.
#[derive(Debug, thiserror::Error)]
pub enum DatasetError {
    #[error("cannot read the dataset {}: {cause}", path.display())]
    Unreadable { path: PathBuf, cause: io::Error },
    /// The file breaks its format, and nothing after that point can be read.
    #[error("{}, line {line}: {cause}\nhint: {cure}", path.display())]
    Malformed { path: PathBuf, line: u64, cause: String, cure: &'static str },
    /// A dataset, or a file of it, that cannot be read as a table.
    #[error("{what}: {cause}\nhint: {cure}")]
    NoTable { what: String, cause: String, cure: String },
    #[error("{}: {cause}\nhint: correct `metadata` of the dataset in the workload file", path.display())]
    NoTag { path: PathBuf, cause: String },
    #[error("{}, {row}{}", path.display(), if row.of_options { "" } else { BadRow::CURE })]
    BadRow { path: PathBuf, row: BadRow },
    /// No row is left; `first` is the first of the bad ones.
    #[error(
        "the dataset {} has no row to send: {filtered} left out by the filter, {bad} that cannot be used\n\
         hint: check that its format is {format}{}",
        path.display(),
        first.as_ref().map(|row| format!("; the first bad one: {row}")).unwrap_or_default()
    )]
    Empty { path: PathBuf, format: &'static str, filtered: u64, bad: u64, first: Option<Box<BadRow>> },
    #[error(
        "the prompts of class `{class}` are random token ids, and nothing says how many ids the model has\n\
         hint: add `vocabulary` to its prompt in the workload file, or give --tokenizer"
    )]
    NoVocabulary { class: String },
    #[error("cannot read the images in {}: {cause}", path.display())]
    UnreadableImages { path: PathBuf, cause: io::Error },
    #[error(
        "{} is not a PNG, JPEG, GIF or WebP image, by its first bytes\nhint: take it out of the folder",
        path.display()
    )]
    NotAnImage { path: PathBuf },
    #[error("the folder {} holds no image\nhint: put PNG, JPEG, GIF or WebP files there", path.display())]
    NoImages { path: PathBuf },
    #[error(
        "the images up to {} take {found} MiB, and at most {most} MiB are possible, because they stay in memory\nhint: \
         use fewer or smaller ones",
        path.display()
    )]
    LargeImages { path: PathBuf, found: u64, most: u64 },
    #[error(
        "{requests} requests with images of {}, as many as lie ready ahead of their moments, take {found} MiB, and at \
         most {most} MiB are possible\nhint: use smaller images, or fewer in a request (`per_request`)",
        path.display()
    )]
    LargeRequests { path: PathBuf, requests: u64, found: u64, most: u64 },
}

/// An unusable row.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("row {row}{}{column}: {cause}", if *line > 0 { format!(", line {line}") } else { String::new() })]
pub struct BadRow {
    /// Number of the row in the file, from 1. Lines without a row do not count.
    pub(super) row: u64,
    /// Line of the file, from 1; 0 where it has no lines.
    pub(super) line: u64,
    /// Place in the line, after a comma: `, column 3`; empty for the whole line.
    pub(super) column: String,
    /// Fault of the row, with a cure where it is not obvious.
    pub(super) cause: String,
    /// Whether options do not go with the row, which is sound. Their cure is in the cause.
    pub(super) of_options: bool,
}

impl BadRow {
    /// Cure of a row that is at fault.
    const CURE: &str =
        "\nhint: correct the row, or skip such rows with skip_bad = true in the workload file or --skip-bad";
}
