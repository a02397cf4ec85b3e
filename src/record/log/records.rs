//! The records of a log: in memory as long as there is room, beyond that packed in a file.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::pages::{Pages, ROOM, Room};
use crate::record::request::amendment::Amendment;
use crate::record::request::record::RequestRecord;

/// The records of a log, in order. Those that memory has no room for are unpacked each time that they are asked for.
///
/// It derefs to a list that is wholly in memory, for whoever changes records: figures are computed with the
/// methods here.
#[derive(Clone, Debug, Default)]
pub struct Records {
    /// The first of them, or all.
    held: Vec<RequestRecord>,
    /// Records that are not held.
    rest: Option<Pages>,
    /// List of all records, once somebody has asked for one. It is made where some of them are not held.
    whole: OnceLock<Vec<RequestRecord>>,
    /// The room that held records take; absent where they were never in a log.
    room: Option<Arc<Room>>,
    /// Where those that are not held go.
    folder: PathBuf,
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
        Self { room: Some(Arc::new(room)), folder: folder.to_owned(), ..Self::default() }
    }

    /// Adds a record that was read.
    pub(super) fn keep(&mut self, mut record: RequestRecord) {
        let fits = || self.room.as_ref().is_none_or(|room| room.takes(record.bytes()));
        if self.rest.is_none() && !fits() {
            self.rest = Some(Pages::beside(&self.folder));
        }
        if let Some(pages) = &mut self.rest {
            return pages.add(record);
        }
        record.chunks.shrink_to_fit();
        self.held.push(record);
    }

    /// Changes the record at `place` by what comes after it.
    pub(super) fn amend(&mut self, place: usize, by: Amendment) {
        match (self.held.get_mut(place), &mut self.rest) {
            (Some(record), _) => record.amend(by),
            (None, Some(pages)) => pages.amend(place - self.held.len(), by),
            (None, None) => {}
        }
    }

    /// Joins the records of all logs, in order of their ends. Each has its clock put later by so much. It is changed as
    /// one of its log.
    pub(super) fn join(mut parts: Vec<(Self, Duration)>, change: impl Fn(usize, &mut RequestRecord)) -> Self {
        let logs = parts.len();
        parts.iter_mut().filter_map(|(records, _)| records.rest.as_mut()).for_each(|pages| pages.share_cache(logs));
        let in_order = |(records, _): &(Self, Duration)| records.places_by(|record| Some((record.ended, record.index)));
        let orders: Vec<Vec<u32>> = parts.iter().map(in_order).collect();
        let record_of = |part: usize, rank: usize| {
            let place = orders[part].get(rank)?;
            Some(parts[part].0.at(*place as usize))
        };
        // The next record of each part, the first of them on top.
        let key = |part, rank| {
            let record = record_of(part, rank)?;
            Some(Reverse((record.ended.after(parts[part].1), record.index, part, rank)))
        };
        let mut next: BinaryHeap<_> = (0..parts.len()).filter_map(|part| key(part, 0)).collect();
        let temporary = std::env::temp_dir();
        let beside = parts.iter().map(|(records, _)| &records.folder).find(|folder| folder.is_dir());
        let mut all = Self::within(Room::from_limit(ROOM), beside.unwrap_or(&temporary));
        while let Some(Reverse((.., part, rank))) = next.pop() {
            if let Some(record) = record_of(part, rank) {
                let mut record = record.deref().clone();
                record.put_later(parts[part].1);
                change(part, &mut record);
                all.keep(record);
            }
            next.extend(key(part, rank + 1));
        }
        all
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.held.len() + self.rest.as_ref().map_or(0, Pages::len)
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
            Some(pages) if place >= self.held.len() => {
                let (page, place) = pages.get(place - self.held.len());
                RecordRef::Read(page, place)
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

    /// Returns the records at `places`.
    pub(crate) fn in_places<'a>(&'a self, places: &'a [u32]) -> impl ExactSizeIterator<Item = RecordRef<'a>> + Clone {
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
            None => &self.held,
            Some(_) => self.whole.get_or_init(|| self.copies()),
        }
    }
}

impl DerefMut for Records {
    fn deref_mut(&mut self) -> &mut Vec<RequestRecord> {
        if self.rest.is_some() {
            self.held = self.whole.take().unwrap_or_else(|| self.copies());
            self.rest = None;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;
    use crate::record::log::pages::tests::READS;
    use crate::record::request::chunks::TokenChunk;

    /// Logs whose records end nearly in their order, as those of a run do. Each has more pages than stay in memory.
    #[test]
    fn logs_are_joined_by_reading_each_page_twice() {
        let folder = tempfile::tempdir().unwrap();
        let log = |part: u64| {
            let mut records = Records::within(Room::from_limit(0), folder.path());
            for index in (part..4_000).step_by(4) {
                let chunk = TokenChunk { at: Timestamp::from_nanos(index), tokens: 1, choice: 0 };
                let ended = Timestamp::from_nanos(10 * (index ^ 31));
                let chunks = [chunk].into_iter().collect();
                records.keep(RequestRecord { index, chunks, ended, ..RequestRecord::default() });
            }
            (records, Duration::ZERO)
        };
        let logs: Vec<_> = (0..4).map(log).collect();
        let pages = 4 * 1_000_usize.div_ceil(3);
        READS.set(0);
        let joined = Records::join(logs, |_, _| {});
        // Once for the order, and once with their chunks.
        assert!(READS.get() <= 3 * pages, "{} reads of {pages} pages", READS.get());
        assert_eq!((joined.len(), joined.iter().is_sorted_by_key(|record| record.ended)), (4_000, true));
        assert!(joined.iter().all(|record| record.chunks.last_at() == Some(Timestamp::from_nanos(record.index))));
    }

    #[test]
    fn records_take_their_room_until_the_last_list_of_them_is_gone() {
        let mut records = Records::within(Room::from_limit(1 << 20), Path::new("."));
        records.keep(RequestRecord::default());
        let room = Arc::downgrade(records.room.as_ref().unwrap());
        let copy = records.clone();
        drop(records);
        assert!(room.upgrade().is_some(), "what is held counts");
        drop(copy);
        assert!(room.upgrade().is_none());
    }
}
