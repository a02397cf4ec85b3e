//! Why a file or a folder cannot be what prompts are taken from, down to the row.

use std::fmt;
use std::path::PathBuf;

/// Why a file or a folder cannot be what prompts are taken from: what happened, where, and the cure.
#[derive(Debug, thiserror::Error)]
pub enum DatasetError {
    /// It cannot be read.
    #[error("cannot read the dataset {}: {cause}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system answered.
        cause: std::io::Error,
    },
    /// It is not of its format from the beginning, or from somewhere on: nothing after that can be read.
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
    /// A row cannot be used.
    #[error(
        "{}, {row}\nhint: mend the row, or pass over such rows with skip_bad = true in the workload file or --skip-bad",
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
        /// How it was read.
        format: &'static str,
        /// Rows that the filter left out.
        filtered: u64,
        /// Rows that could not be used.
        bad: u64,
        /// The first of these.
        first: Option<BadRow>,
    },
    /// Nothing says which token ids there are.
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
    /// A file among the images is none.
    #[error("{} is not a PNG, JPEG, GIF or WebP image, by its first bytes\nhint: take it out of the folder", path.display())]
    NotAnImage {
        /// The file.
        path: PathBuf,
    },
    /// There are none.
    #[error("the folder {} holds no image\nhint: put PNG, JPEG, GIF or WebP files there", path.display())]
    NoImages {
        /// The folder.
        path: PathBuf,
    },
    /// They are too large.
    #[error(
        "the images up to {} take {found} MiB, and at most {most} MiB are possible, since they are kept in memory\n\
         hint: use fewer or smaller ones",
        path.display()
    )]
    LargeImages {
        /// The file with which they became too large.
        path: PathBuf,
        /// What they take with it, MiB.
        found: u64,
        /// What is possible, MiB.
        most: u64,
    },
    /// Requests with them are too large.
    #[error(
        "{requests} requests with images of {}, as many as lie ready ahead of their moments, take {found} MiB, and at most \
         {most} MiB are possible\nhint: use smaller images, or fewer in a request (`per_request`)",
        path.display()
    )]
    LargeRequests {
        /// The folder.
        path: PathBuf,
        /// How many requests.
        requests: u64,
        /// What they take, MiB.
        found: u64,
        /// What is possible, MiB.
        most: u64,
    },
}

/// A row that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRow {
    /// Its number in the file, from 1; lines without a row are not counted.
    pub row: u64,
    /// Line of the file, from 1.
    pub line: u64,
    /// Where in the line.
    pub column: RowPosition,
    /// What is wrong, and where that is not plain, the cure.
    pub cause: String,
}

/// A place inside a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowPosition {
    /// The byte of the line, from 1.
    Byte(u64),
    /// The column of a CSV file, by its name.
    Named(String),
    /// The line as a whole.
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
