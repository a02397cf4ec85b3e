//! Rows of JSON files, one after another.

use std::io::{BufReader, Read};
use std::ops::ControlFlow;
use std::path::Path;

use super::error::{BadRow, DatasetError};
use super::json_list::{ItemPosition, JsonList, LONGEST_ROW, ListError};
use super::parse::DatasetRow;
use crate::generator::rows::{FileLines, LineError};

/// Bytes read at once.
pub(super) const BUFFER: usize = 256 << 10;

/// A row found by the pass.
pub(super) struct FoundRow {
    pub(super) place: ItemPosition,
    /// Bytes from there to the end of the row.
    pub(super) length: u32,
    pub(super) row: Result<DatasetRow, BadRow>,
}

/// Takes a row, and says whether more are wanted.
pub(super) type Visit<'v> = &'v mut dyn FnMut(FoundRow) -> Result<ControlFlow<()>, DatasetError>;

/// Takes the bytes of an item, and says whether more are wanted.
pub(super) type TakeItem<'v> = &'v mut dyn FnMut(&[u8], ItemPosition) -> Result<ControlFlow<()>, DatasetError>;

/// Cure where one JSON format is mistaken for the other.
const SHAREGPT_CURE: &str =
    "the format sharegpt is one JSON list of conversations; for an object a line, the format is jsonl";
const JSONL_CURE: &str = "the format jsonl is one JSON object a line; for a single list, the format is sharegpt";

pub(super) fn malformed(path: &Path, line: u64, cause: &str, cure: &'static str) -> DatasetError {
    DatasetError::Malformed { path: path.to_owned(), line, cause: cause.to_owned(), cure }
}

/// Passes the items of a JSON list to `take`.
pub(super) fn items(path: &Path, file: impl Read, take: TakeItem<'_>) -> Result<ControlFlow<()>, DatasetError> {
    let mut list = JsonList::new(BufReader::with_capacity(BUFFER, file));
    loop {
        let next = list.next().map_err(|error| match error {
            ListError::Read(cause) => DatasetError::Unreadable { path: path.to_owned(), cause },
            ListError::Shape { line, cause } => malformed(path, line, cause, SHAREGPT_CURE),
        })?;
        let Some((place, bytes)) = next else { return Ok(ControlFlow::Continue(())) };
        if take(bytes, place)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
}

/// Passes the lines of a file to `take`.
pub(super) fn lines(path: &Path, file: impl Read, take: TakeItem<'_>) -> Result<ControlFlow<()>, DatasetError> {
    let mut lines = FileLines::new(BufReader::with_capacity(BUFFER, file), LONGEST_ROW as u64);
    for row in 1.. {
        let more = lines.advance().map_err(|error| match error {
            LineError::Io(cause) => DatasetError::Unreadable { path: path.to_owned(), cause },
            LineError::TooLong => malformed(path, lines.number, "the line is longer than 64 MiB", JSONL_CURE),
        })?;
        if !more {
            break;
        }
        let place = ItemPosition { offset: lines.offset, line: lines.number, row, ..ItemPosition::FIRST };
        if take(&lines.line, place)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}
