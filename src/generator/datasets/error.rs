//! Why prompts cannot be taken from a file or a folder, down to the row.

use std::fmt;
use std::path::PathBuf;

/// Why prompts cannot be taken from a file or a folder: what happened, where, and the cure.
#[derive(Debug, thiserror::Error)]
pub enum DatasetError {
    /// The file cannot be read.
    #[error("cannot read the dataset {}: {cause}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system answered.
        cause: std::io::Error,
    },
    /// The file breaks its format, and nothing after that point can be read.
    #[error("{}, line {line}: {cause}\nhint: {cure}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is wrong.
        cause: String,
        /// What to do.
        cure: &'static str,
    },
    /// A row is unusable.
    #[error(
        "{}, {row}\nhint: correct the row, or skip such rows with skip_bad = true in the workload file or --skip-bad",
        path.display()
    )]
    BadRow {
        /// The file.
        path: PathBuf,
        /// Which row it is, and what is wrong with it.
        row: BadRow,
    },
    /// No row is left.
    #[error(
        "the dataset {} has no row to send: {filtered} left out by the filter, {bad} that cannot be used\n\
         hint: check that its format is {format}{}",
        path.display(),
        first.as_ref().map(|row| format!("; the first bad one: {row}")).unwrap_or_default()
    )]
    Empty {
        /// The file.
        path: PathBuf,
        /// The format it was read as.
        format: &'static str,
        /// Rows that the filter left out.
        filtered: u64,
        /// Rows that could not be used.
        bad: u64,
        /// The first of these.
        first: Option<BadRow>,
    },
    /// The number of token ids is unknown.
    #[error(
        "the prompts of class `{class}` are random token ids, and nothing says how many ids the model has\n\
         hint: add `vocabulary` to its prompt in the workload file, or give --tokenizer"
    )]
    NoVocabulary {
        /// The class.
        class: String,
    },
    /// The folder of images cannot be read.
    #[error("cannot read the images in {}: {cause}", path.display())]
    UnreadableImages {
        /// The folder or one of its files.
        path: PathBuf,
        /// What the system answered.
        cause: std::io::Error,
    },
    /// A file in the folder is not an image.
    #[error("{} is not a PNG, JPEG, GIF or WebP image, by its first bytes\nhint: take it out of the folder", path.display())]
    NotAnImage {
        /// The file.
        path: PathBuf,
    },
    /// The folder has no images.
    #[error("the folder {} holds no image\nhint: put PNG, JPEG, GIF or WebP files there", path.display())]
    NoImages {
        /// The folder.
        path: PathBuf,
    },
    /// The images are too large.
    #[error(
        "the images up to {} take {found} MiB, and at most {most} MiB are possible, since they are kept in memory\n\
         hint: use fewer or smaller ones",
        path.display()
    )]
    LargeImages {
        /// The file that exceeded the limit.
        path: PathBuf,
        /// Size including it, MiB.
        found: u64,
        /// The limit, MiB.
        most: u64,
    },
    /// Requests with images are too large.
    #[error(
        "{requests} requests with images of {}, as many as lie ready ahead of their moments, take {found} MiB, and at most \
         {most} MiB are possible\nhint: use smaller images, or fewer in a request (`per_request`)",
        path.display()
    )]
    LargeRequests {
        /// The folder.
        path: PathBuf,
        /// Number of requests.
        requests: u64,
        /// Their size, MiB.
        found: u64,
        /// The limit, MiB.
        most: u64,
    },
}

/// An unusable row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRow {
    /// Its number in the file, from 1; lines without a row do not count.
    pub row: u64,
    /// Line of the file, from 1.
    pub line: u64,
    /// Where in the line.
    pub column: RowPosition,
    /// What is wrong, with a cure where it is not obvious.
    pub cause: String,
}

/// A position inside a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowPosition {
    /// The byte of the line, from 1.
    Byte(u64),
    /// The column of a CSV file, by its name.
    Named(String),
    /// The whole line.
    Whole,
}

impl fmt::Display for BadRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "row {}, line {}", self.row, self.line)?;
        match &self.column {
            RowPosition::Byte(byte) => write!(f, ", column {byte}")?,
            RowPosition::Named(name) => write!(f, ", column `{name}`")?,
            RowPosition::Whole => {}
        }
        write!(f, ": {}", self.cause)
    }
}
