//! Items of files of sessions as they are read, and rows by the session that they name.

use std::collections::HashMap;

use serde::Deserialize;
use serde_ignored::Path;

use super::session::FoundSessions;
use crate::generator::datasets::error::BadRow;
use crate::generator::datasets::json_list::ItemPosition;
use crate::generator::datasets::parse::at;
use crate::generator::rows::Object;

/// Reads an item, and counts its fields that are not read, except `harmless` ones.
pub(super) fn read_item<'i, T: Deserialize<'i>>(
    item: &'i [u8],
    place: ItemPosition,
    harmless: &[&str],
    found: &mut FoundSessions,
) -> Result<T, BadRow> {
    let mut json = serde_json::Deserializer::from_slice(item);
    let read = serde_ignored::deserialize(&mut json, |path| match path {
        Path::Map { key, .. } if !harmless.contains(&key.as_str()) => found.ignore(&key),
        _ => {}
    });
    let Object(value) = read.map_err(|error| at(place, &error))?;
    json.end().map_err(|error| at(place, &error))?;
    Ok(value)
}

/// The rows of a file by the session that they name. Sessions come in the order of their first rows.
#[derive(Debug)]
pub(super) struct RowsBySession<R> {
    numbers: HashMap<String, usize>,
    sessions: Vec<NamedRows<R>>,
}

/// The rows of one session, in the order of the file.
#[derive(Debug)]
pub(super) struct NamedRows<R> {
    pub(super) name: String,
    /// The place of the first.
    pub(super) place: ItemPosition,
    pub(super) rows: Vec<R>,
}

impl<R> Default for RowsBySession<R> {
    fn default() -> Self {
        Self { numbers: HashMap::new(), sessions: Vec::new() }
    }
}

impl<R> RowsBySession<R> {
    /// The last row of a session.
    pub(super) fn last(&self, name: &str) -> Option<&R> {
        self.sessions.get(*self.numbers.get(name)?)?.rows.last()
    }

    /// Adds a row that lies at `place`.
    pub(super) fn add(&mut self, name: String, place: ItemPosition, row: R) {
        let next = self.sessions.len();
        let number = *self.numbers.entry(name.clone()).or_insert(next);
        if number == next {
            self.sessions.push(NamedRows { name, place, rows: Vec::new() });
        }
        if let Some(session) = self.sessions.get_mut(number) {
            session.rows.push(row);
        }
    }

    /// All sessions; none are left.
    pub(super) fn drain(&mut self) -> Vec<NamedRows<R>> {
        self.numbers.clear();
        std::mem::take(&mut self.sessions)
    }
}
