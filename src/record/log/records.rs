//! The records of a log: in memory as long as there is room, beyond that packed in a file.

use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::pages::{Pages, ROOM, Room};
use crate::record::request::record::RequestRecord;

/// The records of a log, in order. Those that memory has no room for are unpacked each time that they are asked for.
///
/// It derefs to a list that is wholly in memory, for whoever changes records: figures are computed with the
/// methods here.
#[derive(Clone, Debug, Default)]
pub struct Records {
    /// The first of them, or all.
    held: Vec<RequestRecord>,
    rest: Rest,
    /// All of them, once somebody has asked for a list of those that are not held.
    whole: OnceLock<Vec<RequestRecord>>,
    /// What those that are held take of the room.
    rooms: Vec<Arc<Room>>,
    /// Where those that are not held go.
    folder: PathBuf,
}

/// The records that are not held.
#[derive(Clone, Debug, Default)]
enum Rest {
    #[default]
    None,
    Pages(Pages),
    Joined(Arc<Joined>),
}

/// The records of several logs, in another order.
#[derive(Clone, Debug)]
struct Joined {
    parts: Vec<Records>,
    /// The log of each, and its place there.
    order: Vec<(u32, u32)>,
}

/// A record of a log.
#[derive(Clone, Debug)]
pub enum RecordRef<'a> {
    /// In memory.
    Held(&'a RequestRecord),
    /// At a place of a page that was unpacked.
    Read(Arc<[RequestRecord]>, usize),
}

impl Deref for RecordRef<'_> {
    type Target = RequestRecord;

    fn deref(&self) -> &RequestRecord {
        match self {
            Self::Held(record) => record,
            Self::Read(page, place) => &page[*place],
        }
    }
}

impl Records {
    /// None yet, of the log that is read from `folder`, with `room` for them.
    pub(super) fn within(room: Room, folder: &Path) -> Self {
        Self { rooms: vec![Arc::new(room)], folder: folder.to_owned(), ..Self::default() }
    }

    /// Adds a record that was read.
    pub(super) fn keep(&mut self, record: RequestRecord) {
        let fits = || self.rooms.iter().all(|room| room.takes(record.bytes()));
        if matches!(self.rest, Rest::None) && !fits() {
            self.rest = Rest::Pages(Pages::beside(&self.folder));
        }
        match &mut self.rest {
            Rest::Pages(pages) => pages.add(record),
            _ => self.held.push(record),
        }
    }

    /// Changes the record at `place` by what comes after it.
    pub(super) fn amend(&mut self, place: usize, by: Option<u64>) {
        match (self.held.get_mut(place), &mut self.rest) {
            (Some(record), _) => record.amend(by),
            (None, Rest::Pages(pages)) => pages.amend(place - self.held.len(), by),
            (None, _) => {}
        }
    }

    /// Puts the clock of all of them later.
    pub(super) fn put_later(&mut self, by: Duration) {
        self.held.iter_mut().for_each(|record| record.put_later(by));
        match &mut self.rest {
            Rest::None => {}
            Rest::Pages(pages) => pages.put_later(by),
            Rest::Joined(joined) => {
                Arc::make_mut(joined).parts.iter_mut().for_each(|part| part.put_later(by));
            }
        }
        self.whole.take();
    }

    /// Those of all logs, in order of their ends.
    pub(super) fn join(parts: Vec<Self>) -> Self {
        let rooms = parts.iter().flat_map(|part| part.rooms.clone()).collect();
        if parts.iter().all(|part| matches!(part.rest, Rest::None)) {
            let mut held: Vec<_> = parts.into_iter().flat_map(|part| part.held).collect();
            held.sort_by_key(|record| (record.ended, record.index));
            return Self { held, rooms, ..Self::default() };
        }
        let keys = parts.iter().enumerate().flat_map(|(number, part)| {
            let key = move |(place, record): (usize, RecordRef<'_>)| {
                (record.ended, record.index, (number as u32, place as u32))
            };
            part.iter().enumerate().map(key)
        });
        let mut keys: Vec<_> = keys.collect();
        keys.sort_unstable();
        let order = keys.into_iter().map(|(_, _, place)| place).collect();
        Self { rest: Rest::Joined(Arc::new(Joined { parts, order })), rooms, ..Self::default() }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        let rest = match &self.rest {
            Rest::None => 0,
            Rest::Pages(pages) => pages.len(),
            Rest::Joined(joined) => joined.order.len(),
        };
        self.held.len() + rest
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The record at `place`.
    ///
    /// # Panics
    ///
    /// When there are fewer.
    pub fn at(&self, place: usize) -> RecordRef<'_> {
        match &self.rest {
            Rest::Pages(pages) if place >= self.held.len() => {
                let (page, place) = pages.get(place - self.held.len());
                RecordRef::Read(page, place)
            }
            Rest::Joined(joined) => {
                let (part, place) = joined.order[place];
                joined.parts[part as usize].at(place as usize)
            }
            _ => RecordRef::Held(&self.held[place]),
        }
    }

    /// The first.
    pub fn first(&self) -> Option<RecordRef<'_>> {
        self.iter().next()
    }

    /// The last.
    pub fn last(&self) -> Option<RecordRef<'_>> {
        self.iter().next_back()
    }

    /// All of them in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = RecordRef<'_>> + Clone {
        let rest = (self.held.len()..self.len()).map(|place| self.at(place));
        self.held.iter().map(RecordRef::Held).chain(rest)
    }

    /// The places of those that `wanted` takes, in the order of their keys.
    pub(crate) fn places_by<K: Ord>(&self, mut wanted: impl FnMut(&RequestRecord) -> Option<K>) -> Vec<u32> {
        let keys = self.iter().zip(0_u32..).filter_map(|(record, place)| Some((wanted(&record)?, place)));
        let mut keys: Vec<_> = keys.collect();
        keys.sort_unstable();
        keys.into_iter().map(|(_, place)| place).collect()
    }

    /// Those at `places`.
    pub(crate) fn in_places<'a>(
        &'a self,
        places: &'a [u32],
    ) -> impl ExactSizeIterator<Item = RecordRef<'a>> + Clone {
        places.iter().map(|&place| self.at(place as usize))
    }

    /// Whether somebody has asked for a list of all of those that are not held.
    #[cfg(test)]
    pub(crate) fn is_listed(&self) -> bool {
        self.whole.get().is_some()
    }

    /// How many are in memory.
    #[cfg(test)]
    pub(crate) fn held(&self) -> usize {
        self.held.len()
    }

    fn copies(&self) -> Vec<RequestRecord> {
        self.iter().map(|record| record.deref().clone()).collect()
    }
}

impl Deref for Records {
    type Target = Vec<RequestRecord>;

    fn deref(&self) -> &Vec<RequestRecord> {
        match self.rest {
            Rest::None => &self.held,
            _ => self.whole.get_or_init(|| self.copies()),
        }
    }
}

impl DerefMut for Records {
    fn deref_mut(&mut self) -> &mut Vec<RequestRecord> {
        if !matches!(self.rest, Rest::None) {
            self.held = self.whole.take().unwrap_or_else(|| self.copies());
            self.rest = Rest::None;
        }
        &mut self.held
    }
}

impl From<Vec<RequestRecord>> for Records {
    fn from(held: Vec<RequestRecord>) -> Self {
        Self { held, ..Self::default() }
    }
}

impl FromIterator<RequestRecord> for Records {
    fn from_iter<I: IntoIterator<Item = RequestRecord>>(records: I) -> Self {
        let mut all = Self::within(Room::from_limit(ROOM), &std::env::temp_dir());
        records.into_iter().for_each(|record| all.keep(record));
        all
    }
}

impl IntoIterator for Records {
    type Item = RequestRecord;
    type IntoIter = std::vec::IntoIter<RequestRecord>;

    fn into_iter(mut self) -> Self::IntoIter {
        std::mem::take(&mut *self).into_iter()
    }
}

impl<'a> IntoIterator for &'a mut Records {
    type Item = &'a mut RequestRecord;
    type IntoIter = std::slice::IterMut<'a, RequestRecord>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl PartialEq for Records {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().zip(other.iter()).all(|(one, other)| *one == *other)
    }
}

impl PartialEq<[RequestRecord]> for Records {
    fn eq(&self, other: &[RequestRecord]) -> bool {
        self.len() == other.len() && self.iter().zip(other).all(|(one, other)| *one == *other)
    }
}

impl PartialEq<Vec<RequestRecord>> for Records {
    fn eq(&self, other: &Vec<RequestRecord>) -> bool {
        *self == **other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_take_their_room_until_the_last_list_of_them_is_gone() {
        let read = || {
            let mut records = Records::within(Room::from_limit(1 << 20), Path::new("."));
            records.keep(RequestRecord::default());
            records
        };
        let parts = [read(), read()];
        let rooms: Vec<_> = parts.iter().map(|part| Arc::downgrade(&part.rooms[0])).collect();
        let joined = Records::join(parts.into());
        assert_eq!(joined.len(), 2);
        assert!(rooms.iter().all(|room| room.upgrade().is_some()), "what is held counts");
        drop(joined);
        assert!(rooms.iter().all(|room| room.upgrade().is_none()));
    }
}
