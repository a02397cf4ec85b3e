//! The rows of a dataset that are sent: where they lie in the file, how long they are, and in which order they leave.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex, PoisonError};

use super::answer_key::AnswerKey;
use super::json_list::ItemPosition;
use super::parse::RowParser;
use super::sessions::{SessionStart, SessionStore};
use crate::generator::graph::session::SessionGraph;
use crate::generator::request::Prompt;
use crate::random::RandomStream;
use crate::workload::RowOrder;

/// Position and lengths of one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RowEntry {
    pub(super) offset: u64,
    pub(super) bytes: u32,
    /// Tokens of its prompt, as counted.
    pub(super) input_tokens: u32,
    /// Requested answer tokens; 0 where the row does not say.
    pub(super) output_tokens: u32,
    /// The number of its tags among those of the file, or [`RowEntry::NO_TAGS`].
    pub(super) tags: u16,
}

impl RowEntry {
    /// Stands where the rows of a file have no tags.
    pub(super) const NO_TAGS: u16 = u16::MAX;
}

/// The rows of a file that are sent.
#[derive(Debug)]
pub(crate) struct Index {
    pub(super) path: String,
    pub(super) entries: Vec<RowEntry>,
    pub(super) rows: RowStore,
    /// Expected answers of rows, where these are scored.
    pub(super) key: Option<Arc<AnswerKey>>,
}

/// Place where the prompts of rows are.
#[derive(Debug)]
pub(super) enum RowStore {
    /// Rows read from the file, where each is one stretch of bytes.
    File {
        parser: RowParser,
        /// Seeked and read under the lock, by one thread of a run.
        file: Mutex<File>,
    },
    /// Rows held in memory.
    Held(Vec<Prompt>),
    /// Sessions, held in memory.
    Sessions(SessionStore),
}

impl Index {
    /// The prompt of row number `row`. The file stays open, so replacing it is harmless; if it is overwritten, the
    /// prompt is empty and a warning says so.
    pub(crate) fn prompt(&self, row: u64) -> Prompt {
        match self.read(row) {
            Ok(prompt) => prompt,
            Err(error) => {
                let (number, path) = (row + 1, &self.path);
                tracing::warn!("row {number} of {path} cannot be read again: {error}; was the file changed?");
                Prompt::default()
            }
        }
    }

    /// The sessions that the rows are, if they are some.
    pub(crate) fn sessions(&self) -> Option<&SessionStore> {
        match &self.rows {
            RowStore::Sessions(sessions) => Some(sessions),
            RowStore::File { .. } | RowStore::Held(_) => None,
        }
    }

    fn read(&self, row: u64) -> io::Result<Prompt> {
        let (parser, file) = match &self.rows {
            RowStore::File { parser, file } => (parser, file),
            RowStore::Held(prompts) => return Ok(prompts.get(row as usize).ok_or(io::ErrorKind::NotFound)?.clone()),
            RowStore::Sessions(_) => return Err(io::ErrorKind::Unsupported.into()),
        };
        let entry = self.entries.get(row as usize).ok_or(io::ErrorKind::NotFound)?;
        let mut bytes = vec![0; entry.bytes as usize];
        {
            let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
            file.seek(SeekFrom::Start(entry.offset))?;
            file.read_exact(&mut bytes)?;
        }
        let place = ItemPosition { offset: entry.offset, row: row + 1, ..ItemPosition::FIRST };
        let parsed = parser.parse(&bytes, place).map_err(|bad| io::Error::other(bad.to_string()))?;
        Ok(parsed.prompt)
    }
}

/// An endless sequence of rows in sending order. After the last comes the first again, or another shuffle.
#[derive(Clone, Debug)]
pub(crate) struct RowDraws {
    index: Arc<Index>,
    next: u64,
    shuffle: Option<Box<Shuffle>>,
}

/// The current order of the rows, and the random numbers for the next.
#[derive(Clone, Debug)]
struct Shuffle {
    rows: Vec<u32>,
    stream: RandomStream,
}

/// A drawn row and its lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DrawnRow {
    /// Number among the rows that are sent, from 0.
    pub(crate) row: u64,
    /// Tokens of its prompt.
    pub(crate) input_tokens: u32,
    /// Tokens of its answer, where the row says.
    pub(crate) output_tokens: Option<u32>,
    /// The number of its tags among those of the file, where it has some.
    pub(crate) tags: Option<u16>,
    /// Requests of the session that it is, if it is one.
    pub(crate) requests: Option<u32>,
    /// The number of the model of its first request among those of the file.
    pub(crate) model: Option<u16>,
}

impl RowDraws {
    pub(crate) fn new(index: Arc<Index>, order: RowOrder, stream: RandomStream) -> Self {
        let shuffle = match order {
            RowOrder::File => None,
            RowOrder::Shuffled => Some(Box::new(Shuffle { rows: Vec::new(), stream })),
        };
        Self { index, next: 0, shuffle }
    }

    fn count(&self) -> u64 {
        self.index.entries.len().max(1) as u64
    }

    fn shuffle(&mut self) {
        let count = self.count() as u32;
        if let Some(shuffle) = &mut self.shuffle {
            shuffle.rows = (0..count).collect();
            shuffle.stream.shuffle(&mut shuffle.rows);
        }
    }

    /// Returns the draws with the first shuffle fixed.
    pub(crate) fn in_order(mut self) -> Self {
        self.shuffle();
        self
    }

    /// Whether the rows are sessions.
    pub(crate) fn are_sessions(&self) -> bool {
        self.index.sessions().is_some()
    }

    /// The sessions that the rows are, if they are some.
    pub(crate) fn sessions(&self) -> Option<&SessionStore> {
        self.index.sessions()
    }

    /// The beginnings of the sessions that the rows are, where the file says when.
    pub(crate) fn starts(&self) -> Vec<SessionStart> {
        self.index.sessions().map(SessionStore::starts).unwrap_or_default()
    }

    /// The graph of the session that a row is, if it is one.
    pub(crate) fn graph(&self, row: u64) -> Option<&Arc<SessionGraph>> {
        self.index.sessions()?.graph(row)
    }

    /// Returns the row so many places after another in the current order. Each round begins one place later, so that
    /// one who takes every so many rows comes to all of them.
    pub(crate) fn after(&self, row: u64, places: u64) -> DrawnRow {
        let place = self.shuffle.as_ref().map_or(Some(row), |shuffle| {
            shuffle.rows.iter().position(|other| u64::from(*other) == row).map(|place| place as u64)
        });
        let next = place.unwrap_or(row) + places;
        self.at(next + u64::from(next >= self.count()))
    }

    /// Returns the row at a position of the current order. It wraps around in the same order.
    pub(crate) fn at(&self, place: u64) -> DrawnRow {
        let place = place % self.count();
        let shuffled = self.shuffle.as_ref().map(|shuffle| shuffle.rows.get(place as usize).copied().unwrap_or(0));
        let row = shuffled.map_or(place, u64::from);
        let entry = self.index.entries.get(row as usize);
        DrawnRow {
            row,
            input_tokens: entry.map_or(1, |entry| entry.input_tokens),
            output_tokens: entry.map(|entry| entry.output_tokens).filter(|tokens| *tokens > 0),
            tags: entry.map(|entry| entry.tags).filter(|tags| *tags != RowEntry::NO_TAGS),
            requests: self.graph(row).map(|graph| graph.len()),
            model: self.graph(row).and_then(|graph| graph.nodes.first()?.model),
        }
    }

    /// The next row.
    pub(crate) fn draw(&mut self) -> DrawnRow {
        if self.next.is_multiple_of(self.count()) {
            self.shuffle();
        }
        self.next += 1;
        self.at(self.next - 1)
    }
}
