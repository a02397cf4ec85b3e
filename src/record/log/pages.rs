//! Records that memory has no room for: packed into a file without a name, and read from it page by page.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::lines::unnamed;
use crate::record::request::packed::PackedRecords;
use crate::record::request::record::RequestRecord;

/// Memory for the records of all logs that are in use, bytes: 2.4 million of 30 tokens fit.
pub(super) const ROOM: u64 = 1 << 30;

/// How much of it is taken.
static TAKEN: AtomicU64 = AtomicU64::new(0);

/// Most records of a page; few in tests, so that the stored runs have several.
const LONGEST: usize = if cfg!(test) { 3 } else { 1_024 };
/// Bytes from which on a page is full.
const WIDEST: usize = 1 << 20;
/// Pages that stay in memory: requests that are near one another in the schedule end near one another.
const CACHED: usize = 16;

/// What the records of a log take of [`ROOM`].
#[derive(Debug)]
pub(super) struct Room {
    /// Bytes of memory that all logs may take before this one packs its records.
    limit: u64,
    /// Bytes that its own records take.
    taken: AtomicU64,
}

impl Room {
    pub(super) const fn of(limit: u64) -> Self {
        Self { limit, taken: AtomicU64::new(0) }
    }

    /// Takes memory for so many bytes, if there is room.
    pub(super) fn takes(&self, bytes: usize) -> bool {
        let bytes = bytes as u64;
        let fits = TAKEN.fetch_add(bytes, Relaxed) + bytes <= self.limit;
        if fits {
            self.taken.fetch_add(bytes, Relaxed);
        } else {
            TAKEN.fetch_sub(bytes, Relaxed);
        }
        fits
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        TAKEN.fetch_sub(*self.taken.get_mut(), Relaxed);
    }
}

/// Packed records that follow one another in a log.
#[derive(Clone, Debug)]
struct Page {
    /// The place of its first record.
    first: usize,
    bytes: Packed,
    /// Counts of answers that came after their records.
    counted: Vec<(u16, u64)>,
}

/// Where packed records are.
#[derive(Clone, Debug)]
enum Packed {
    InFile(Range<u64>),
    /// There is no file for it, or the disk is full.
    InMemory(Arc<[u8]>),
}

/// A file without a name, and its length.
#[derive(Debug)]
struct PageFile(File, u64);

impl PageFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<Range<u64>> {
        self.0.seek(SeekFrom::Start(self.1))?;
        self.0.write_all(bytes)?;
        let begin = self.1;
        self.1 += bytes.len() as u64;
        Ok(begin..self.1)
    }

    fn read(&mut self, place: &Range<u64>) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; (place.end - place.start) as usize];
        self.0.seek(SeekFrom::Start(place.start))?;
        self.0.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

/// The pages that were read last, the newest first.
#[derive(Debug, Default)]
struct Cache(Mutex<Vec<(usize, Arc<[RequestRecord]>)>>);

impl Clone for Cache {
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// The records of a log from a place on.
#[derive(Clone, Debug)]
pub(super) struct Pages {
    file: Option<Arc<Mutex<PageFile>>>,
    full: Vec<Page>,
    /// The page that is not full.
    last: PackedRecords,
    last_counted: Vec<(u16, u64)>,
    /// How many records full pages have.
    in_full: usize,
    /// By how much their clock is to be put later.
    late: Duration,
    cache: Cache,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pages {
    /// No page yet, of a log in `folder`: its disk has room for the log, which is several times as large.
    pub(super) fn beside(folder: &Path) -> Self {
        let file = unnamed(folder).or_else(|_| unnamed(&std::env::temp_dir())).ok();
        let file = file.map(|file| Arc::new(Mutex::new(PageFile(file, 0))));
        Self {
            file,
            full: Vec::new(),
            last: PackedRecords::default(),
            last_counted: Vec::new(),
            in_full: 0,
            late: Duration::ZERO,
            cache: Cache::default(),
        }
    }

    pub(super) const fn len(&self) -> usize {
        self.in_full + self.last.len()
    }

    /// Adds a record.
    pub(super) fn add(&mut self, record: RequestRecord) {
        self.last.add(record);
        if self.last.len() < LONGEST && self.last.bytes() < WIDEST {
            return;
        }
        let (page, counted) = (std::mem::take(&mut self.last), std::mem::take(&mut self.last_counted));
        let (first, bytes) = (self.in_full, page.to_bytes());
        self.in_full += page.len();
        let in_file = self.file.as_ref().and_then(|file| locked(file).append(&bytes).ok());
        let bytes = in_file.map_or_else(|| Packed::InMemory(bytes.into()), Packed::InFile);
        self.full.push(Page { first, bytes, counted });
    }

    /// The number of the page that has the record at `place`, and the place of that page's first.
    fn page_of(&self, place: usize) -> (usize, usize) {
        if place >= self.in_full {
            return (self.full.len(), self.in_full);
        }
        let number = self.full.partition_point(|page| page.first <= place) - 1;
        (number, self.full[number].first)
    }

    /// Sets the token count of the answer at `place`.
    pub(super) fn count(&mut self, place: usize, tokens: u64) {
        let (number, first) = self.page_of(place);
        let counted = self.full.get_mut(number).map_or(&mut self.last_counted, |page| &mut page.counted);
        counted.push(((place - first) as u16, tokens));
    }

    /// Puts the clock of all records later.
    pub(super) fn put_later(&mut self, by: Duration) {
        self.late += by;
        self.cache = Cache::default();
    }

    /// The page with the record at `place`, and the record's place in it.
    pub(super) fn get(&self, place: usize) -> (Arc<[RequestRecord]>, usize) {
        let (number, first) = self.page_of(place);
        let mut cache = locked(&self.cache.0);
        let records = if let Some(at) = cache.iter().position(|(cached, _)| *cached == number) {
            cache[..=at].rotate_right(1);
            Arc::clone(&cache[0].1)
        } else {
            let records: Arc<[_]> = self.read(number).into();
            cache.truncate(CACHED - 1);
            cache.insert(0, (number, Arc::clone(&records)));
            records
        };
        (records, place - first)
    }

    /// The records of the page of this number.
    fn read(&self, number: usize) -> Vec<RequestRecord> {
        let (mut records, counted) = match self.full.get(number) {
            Some(page) => (self.unpacked(&page.bytes), &page.counted),
            None => (self.last.to_records(), &self.last_counted),
        };
        for &(place, tokens) in counted {
            records[usize::from(place)].count(tokens);
        }
        if !self.late.is_zero() {
            for record in &mut records {
                record.put_later(self.late);
            }
        }
        records
    }

    fn unpacked(&self, packed: &Packed) -> Vec<RequestRecord> {
        let bytes = match (packed, &self.file) {
            (Packed::InMemory(bytes), _) => Ok(PackedRecords::unpack(bytes)),
            (Packed::InFile(place), Some(file)) => {
                locked(file).read(place).map(|bytes| PackedRecords::unpack(&bytes))
            }
            (Packed::InFile(_), None) => Ok(None),
        };
        match bytes {
            Ok(Some(records)) => records,
            other => lost(other.err()),
        }
    }
}

/// Ends the program: a figure without these records would be wrong.
#[expect(clippy::panic, reason = "a file of this program, which no other can open, has failed")]
fn lost(error: Option<io::Error>) -> ! {
    let why = error.map_or_else(|| "its bytes have changed".to_owned(), |error| error.to_string());
    panic!("the temporary file with the records of a long run cannot be read: {why}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;

    fn record(index: u64) -> RequestRecord {
        RequestRecord { index, scheduled: Timestamp::from_nanos(10 * index), ..RequestRecord::default() }
    }

    /// Pages of seven records, of which the last two make no full page.
    fn filled(mut pages: Pages) -> Pages {
        (0..7).for_each(|index| pages.add(record(index)));
        pages
    }

    #[test]
    fn records_come_back_from_a_file_and_without_one() {
        let folder = tempfile::tempdir().unwrap();
        let beside = Pages::beside(folder.path());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "the file has no name");
        let nowhere = Pages { file: None, ..Pages::beside(folder.path()) };
        let full = File::options().write(true).open("/dev/full").ok();
        let on_full_disk =
            Pages { file: full.map(|file| Arc::new(Mutex::new(PageFile(file, 0)))), ..nowhere.clone() };
        for pages in [beside, nowhere, on_full_disk].map(filled) {
            assert_eq!((pages.len(), pages.full.len()), (7, 2));
            for index in [6, 0, 4, 5, 1] {
                let (page, place) = pages.get(index);
                assert_eq!(page[place], record(index as u64));
            }
        }
    }

    #[test]
    fn what_comes_after_a_record_is_put_into_it() {
        let folder = tempfile::tempdir().unwrap();
        let mut pages = filled(Pages::beside(folder.path()));
        pages.count(1, 70);
        pages.count(6, 80);
        pages.put_later(Duration::from_nanos(5));
        let got = |place| {
            let (page, place) = pages.get(place);
            (page[place].output_tokens, page[place].scheduled.as_nanos())
        };
        assert_eq!([0, 1, 5, 6].map(got), [(0, 5), (70, 15), (0, 55), (80, 65)]);
    }

    #[test]
    fn no_more_pages_than_a_few_stay_in_memory() {
        let folder = tempfile::tempdir().unwrap();
        let mut pages = Pages::beside(folder.path());
        (0..300).for_each(|index| pages.add(record(index)));
        (0..300).for_each(|place| assert_eq!(pages.get(place).0[place % LONGEST].index, place as u64));
        assert_eq!(locked(&pages.cache.0).len(), CACHED);
    }

    #[test]
    #[should_panic(expected = "the temporary file with the records of a long run cannot be read")]
    fn records_that_are_gone_are_not_made_up() {
        let folder = tempfile::tempdir().unwrap();
        let pages = filled(Pages::beside(folder.path()));
        locked(pages.file.as_ref().unwrap()).0.set_len(0).unwrap();
        pages.get(0);
    }
}
