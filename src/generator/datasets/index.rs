//! Position and lengths of every row of a dataset.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::{Mutex, PoisonError};

use super::json_list::ItemPosition;
use super::parse::{DatasetRow, RowParser};
use crate::generator::request::Prompt;

/// Position and lengths of one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RowEntry {
    pub(super) offset: u64,
    pub(super) bytes: u32,
    /// Tokens of its prompt, as counted.
    pub(super) input_tokens: u32,
    /// Requested answer tokens; 0 where the row does not say.
    pub(super) output_tokens: u32,
}

/// The rows of a file that are sent.
#[derive(Debug)]
pub(crate) struct Index {
    pub(super) path: String,
    pub(super) entries: Vec<RowEntry>,
    pub(super) parser: RowParser,
    /// Seeked and read under the lock, by one thread of a run.
    pub(super) file: Mutex<File>,
}

impl Index {
    pub(super) fn len(&self) -> u64 {
        self.entries.len() as u64
    }

    /// Tokens of the prompt of row number `row`, and of the answer if the row says.
    pub(super) fn lengths(&self, row: u64) -> (u32, Option<u32>) {
        let entry = self.entries.get(row as usize);
        entry.map_or((1, None), |entry| {
            (entry.input_tokens, (entry.output_tokens > 0).then_some(entry.output_tokens))
        })
    }

    /// The prompt of row number `row`. The file stays open, so replacing it is harmless; if it is overwritten, the
    /// prompt is empty and a warning says so.
    pub(crate) fn prompt(&self, row: u64) -> Prompt {
        match self.read(row) {
            Ok(row) => row.prompt,
            Err(error) => {
                tracing::warn!(
                    "row {} of {} cannot be read again: {error}; was the file changed?",
                    row + 1,
                    self.path
                );
                Prompt::default()
            }
        }
    }

    fn read(&self, row: u64) -> io::Result<DatasetRow> {
        let entry = self.entries.get(row as usize).ok_or(io::ErrorKind::NotFound)?;
        let mut bytes = vec![0; entry.bytes as usize];
        {
            let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
            file.seek(SeekFrom::Start(entry.offset))?;
            file.read_exact(&mut bytes)?;
        }
        let place = ItemPosition { offset: entry.offset, row: row + 1, ..ItemPosition::FIRST };
        self.parser.parse(&bytes, place).map_err(|bad| io::Error::other(bad.to_string()))
    }
}
