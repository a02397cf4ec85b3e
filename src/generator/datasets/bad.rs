//! A row that cannot be used: where it is and why.

use std::fmt;

/// A row that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRow {
    /// Its number in the file, from 1; lines without a row are not counted.
    pub row: u64,
    /// Line of the file, from 1.
    pub line: u64,
    /// Where in the line.
    pub column: Column,
    /// What is wrong, and where that is not plain, the cure.
    pub cause: String,
}

/// A place inside a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Column {
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
            Column::Byte(byte) => write!(f, ", column {byte}")?,
            Column::Named(name) => write!(f, ", column `{name}`")?,
            Column::Whole => {}
        }
        write!(f, ": {}", self.cause)
    }
}
