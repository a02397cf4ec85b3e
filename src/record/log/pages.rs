//! Records that memory has no room for: packed into a file without a name, and read from it page by page.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::lines::unnamed;
use crate::record::request::amendment::Amendment;
use crate::record::request::packed::PackedRecords;
use crate::record::request::record::RequestRecord;

/// Memory for the records of all logs that are in use, bytes. 2.4 million of 30 tokens fit.
pub(super) const ROOM: u64 = 1 << 30;
/// Memory for the records of shards that are to be joined. It is a part of [`ROOM`]: they are read once more, the
/// joined ones often.
pub(super) const ROOM_OF_SHARDS: u64 = ROOM / 16;

/// How much of it is taken.
static TAKEN: AtomicU64 = AtomicU64::new(0);

/// Most records of a page; few in tests, so that the stored runs have several.
const LONGEST: usize = if cfg!(test) { 3 } else { 1_024 };
/// Bytes from which on a page is full.
const WIDEST: usize = 1 << 19;
/// Pages that stay in memory, 60 to 160 MB. What is near one another in the schedule, or in sessions of the same time,
/// ends near one another.
const CACHED: usize = 256;
/// Bytes of a full disk that are given back. They are room for the files of the run's figures.
const GIVEN_BACK: u64 = 16 << 20;

/// The part of [`ROOM`] that the records of a log take.
#[derive(Debug)]
pub(super) struct Room {
    /// Bytes of memory that all logs may take before this one packs its records.
    limit: u64,
    /// Bytes that its own records take.
    taken: AtomicU64,
    /// Bytes that those of all logs take.
    all: &'static AtomicU64,
}

impl Room {
    pub(super) fn from_limit(limit: u64) -> Self {
        // Tests run beside others.
        let all = if cfg!(test) { Box::leak(Box::default()) } else { &TAKEN };
        Self { limit, taken: AtomicU64::new(0), all }
    }

    /// Takes memory for so many bytes, if there is room.
    pub(super) fn takes(&self, bytes: usize) -> bool {
        let bytes = bytes as u64;
        let fits = self.all.fetch_add(bytes, Relaxed) + bytes <= self.limit;
        if fits {
            self.taken.fetch_add(bytes, Relaxed);
        } else {
            self.all.fetch_sub(bytes, Relaxed);
        }
        fits
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.all.fetch_sub(*self.taken.get_mut(), Relaxed);
    }
}

/// Packed records that follow one another in a log.
#[derive(Clone, Debug)]
struct Page {
    /// The place of its first record.
    first: usize,
    bytes: Packed,
    /// Place in the bytes where those of chunks begin.
    chunks: usize,
    /// Amendments of its records, in order.
    amended: Vec<(u16, Amendment)>,
}

/// Where packed records are.
#[derive(Clone, Debug)]
enum Packed {
    InFile(Range<u64>),
    /// There is no file for it, or the disk is full.
    InMemory(Arc<[u8]>),
}

/// A file without a name, and the length of it that is in use.
#[derive(Debug)]
struct PageFile {
    file: File,
    length: u64,
    /// Whether the disk was full once: then nothing more is written.
    is_full: bool,
}

impl PageFile {
    /// Writes `bytes` and returns where they are. It is nowhere, if the disk has no room for them.
    fn append(&mut self, bytes: &[u8]) -> Option<Range<u64>> {
        let begin = self.length;
        let end = begin + bytes.len() as u64;
        let at = SeekFrom::Start(begin);
        if self.is_full || self.file.seek(at).and_then(|_| self.file.write_all(bytes)).is_err() {
            self.is_full = true;
            return None;
        }
        self.length = end;
        Some(begin..end)
    }

    fn read(&mut self, place: Range<u64>) -> Vec<u8> {
        #[cfg(test)]
        tests::READS.set(tests::READS.get() + 1);
        let mut bytes = vec![0; (place.end - place.start) as usize];
        let sought = self.file.seek(SeekFrom::Start(place.start));
        sought.and_then(|_| self.file.read_exact(&mut bytes)).map_or_else(|error| lost(Some(error)), |()| bytes)
    }
}

/// The pages that were read last.
#[derive(Debug, Default)]
struct Cache(Mutex<Cached>);

#[derive(Debug, Default)]
struct Cached {
    /// How often a page was asked for.
    turn: u64,
    /// Pages by their numbers, each with the turn of its last request.
    pages: HashMap<usize, (u64, Arc<[RequestRecord]>)>,
}

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
    last_amended: Vec<(u16, Amendment)>,
    /// How many records full pages have.
    in_full: usize,
    cache: Cache,
    /// Most pages in it.
    cached: usize,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pages {
    /// Makes pages for a log in `folder`, with none yet. Its disk has room for the log, which is several times as
    /// large.
    pub(super) fn beside(folder: &Path) -> Self {
        let file = unnamed(folder).or_else(|_| unnamed(&std::env::temp_dir()));
        let file = file.inspect_err(|error| {
            tracing::warn!("memory holds all records of a long run: no temporary file can be created: {error}");
        });
        Self::from_file(file.ok())
    }

    fn from_file(file: Option<File>) -> Self {
        let file = file.map(|file| PageFile { file, length: 0, is_full: false });
        let file = file.map(|file| Arc::new(Mutex::new(file)));
        Self {
            file,
            full: Vec::new(),
            last: PackedRecords::default(),
            last_amended: Vec::new(),
            in_full: 0,
            cache: Cache::default(),
            cached: CACHED,
        }
    }

    /// Keeps fewer pages in memory, where so many logs are read together.
    pub(super) fn share_cache(&mut self, logs: usize) {
        self.cached = (CACHED / logs.max(1)).max(2);
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
        let (page, amended) = (std::mem::take(&mut self.last), std::mem::take(&mut self.last_amended));
        let (first, (bytes, chunks)) = (self.in_full, page.to_bytes());
        self.in_full += page.len();
        let in_file = self.file.as_ref().and_then(|file| locked(file).append(&bytes));
        if in_file.is_none() {
            self.make_room_on_disk();
        }
        let bytes = in_file.map_or_else(|| Packed::InMemory(bytes.into()), Packed::InFile);
        self.full.push(Page { first, bytes, chunks, amended });
    }

    /// Takes the last pages of a file that has filled its disk into memory.
    fn make_room_on_disk(&mut self) {
        let Some(mut file) = self.file.as_deref().map(locked) else { return };
        let floor = file.length.saturating_sub(GIVEN_BACK);
        for page in self.full.iter_mut().rev() {
            let Packed::InFile(place) = page.bytes.clone() else { break };
            if place.start < floor {
                break;
            }
            file.length = place.start;
            page.bytes = Packed::InMemory(file.read(place).into());
        }
        if file.file.metadata().is_ok_and(|facts| facts.len() > file.length) {
            tracing::warn!("memory holds the rest of the records of a long run: the disk is full");
            // Where it fails, the disk stays full.
            let _ = file.file.set_len(file.length);
        }
    }

    /// Returns the number of the page that has the record at `place`. It also returns the place of that page's first.
    fn page_of(&self, place: usize) -> (usize, usize) {
        if place >= self.in_full {
            return (self.full.len(), self.in_full);
        }
        let number = self.full.partition_point(|page| page.first <= place) - 1;
        (number, self.full[number].first)
    }

    /// Changes the record at `place` by what comes after it.
    pub(super) fn amend(&mut self, place: usize, by: Amendment) {
        let (number, first) = self.page_of(place);
        let amended = self.full.get_mut(number).map_or(&mut self.last_amended, |page| &mut page.amended);
        amended.push(((place - first) as u16, by));
    }

    /// The page with the record at `place`, and the record's place in it.
    pub(super) fn get(&self, place: usize) -> (Arc<[RequestRecord]>, usize) {
        let (number, first) = self.page_of(place);
        let mut cache = locked(&self.cache.0);
        let Cached { turn, pages } = &mut *cache;
        *turn += 1;
        if let Some((last, records)) = pages.get_mut(&number) {
            *last = *turn;
            return (Arc::clone(records), place - first);
        }
        let records: Arc<[_]> = self.read(number).into();
        let oldest = pages.iter().min_by_key(|(_, (last, _))| *last).map(|(number, _)| *number);
        if let Some(oldest) = oldest.filter(|_| pages.len() >= self.cached) {
            pages.remove(&oldest);
        }
        pages.insert(number, (*turn, Arc::clone(&records)));
        (records, place - first)
    }

    /// The records of the page of this number.
    fn read(&self, number: usize) -> Vec<RequestRecord> {
        let (mut records, amended) = match self.full.get(number) {
            Some(page) => (self.unpacked(page).unwrap_or_else(|| lost(None)), &page.amended),
            None => (self.last.to_records(), &self.last_amended),
        };
        for &(place, by) in amended {
            records[usize::from(place)].amend(by);
        }
        records
    }

    fn unpacked(&self, page: &Page) -> Option<Vec<RequestRecord>> {
        match &page.bytes {
            Packed::InMemory(bytes) => {
                let (all, middle) = (Arc::clone(bytes), page.chunks);
                PackedRecords::unpack(&bytes[..middle], move || all[middle..].to_vec())
            }
            Packed::InFile(place) => {
                let (file, middle) = (Arc::clone(self.file.as_ref()?), place.start + page.chunks as u64);
                let (numbers, chunks) = (place.start..middle, middle..place.end);
                let numbers = locked(&file).read(numbers);
                PackedRecords::unpack(&numbers, move || locked(&file).read(chunks))
            }
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
pub(super) mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::clock::Timestamp;

    thread_local! {
        /// How often a test has read from a file of pages.
        pub(in crate::record::log) static READS: Cell<usize> = const { Cell::new(0) };
    }

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
        let nowhere = Pages::from_file(None);
        let on_full_disk = Pages::from_file(File::options().write(true).open("/dev/full").ok());
        for pages in [beside, nowhere, on_full_disk].map(filled) {
            assert_eq!((pages.len(), pages.full.len()), (7, 2));
            for index in [6, 0, 4, 5, 1] {
                let (page, place) = pages.get(index);
                assert_eq!(page[place], record(index as u64));
            }
        }
    }

    #[test]
    fn a_file_that_has_filled_its_disk_gives_some_back() {
        let folder = tempfile::tempdir().unwrap();
        let mut pages = filled(Pages::beside(folder.path()));
        let written = |pages: &Pages| {
            let file = locked(pages.file.as_ref().unwrap());
            (file.length, file.file.metadata().unwrap().len())
        };
        assert!(written(&pages).0 > 0);
        locked(pages.file.as_ref().unwrap()).is_full = true;
        (7..20).for_each(|index| pages.add(record(index)));
        assert_eq!(written(&pages), (0, 0));
        assert!((0..20).all(|place| pages.get(place).0[place % LONGEST].index == place as u64));
    }

    #[test]
    fn what_comes_after_a_record_is_put_into_it() {
        let folder = tempfile::tempdir().unwrap();
        let mut pages = filled(Pages::beside(folder.path()));
        pages.amend(1, Amendment::Counted(70));
        pages.amend(6, Amendment::Counted(80));
        let got = |place| {
            let (page, place) = pages.get(place);
            (page[place].output_tokens, page[place].scheduled.as_nanos())
        };
        assert_eq!([0, 1, 5, 6].map(got), [(0, 0), (70, 10), (0, 50), (80, 60)]);
    }

    #[test]
    fn no_more_pages_than_a_few_stay_in_memory() {
        let folder = tempfile::tempdir().unwrap();
        let mut pages = Pages::beside(folder.path());
        (0..1_000).for_each(|index| pages.add(record(index)));
        for place in (0..1_000).chain([0, 999, 500]) {
            assert_eq!(pages.get(place).0[place % LONGEST].index, place as u64);
        }
        let cache = locked(&pages.cache.0);
        assert_eq!(cache.pages.len(), CACHED);
        assert!([0, 333, 500 / 3].iter().all(|page| cache.pages.contains_key(page)), "the newest stay");
    }

    #[test]
    #[should_panic(expected = "the temporary file with the records of a long run cannot be read")]
    fn records_that_are_gone_are_not_made_up() {
        let folder = tempfile::tempdir().unwrap();
        let pages = filled(Pages::beside(folder.path()));
        locked(pages.file.as_ref().unwrap()).file.set_len(0).unwrap();
        pages.get(0);
    }
}
