//! Records that memory has no room for: they stay in their log and are read again, page by page.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use super::line::StoredLine;
use super::seal::unseal;
use crate::record::request::record::RequestRecord;

/// Memory for the records of all logs that are in use, bytes: 2.4 million of 30 tokens fit. Each figure reads the others again,
/// which takes a run of twice as many several times as long.
pub(super) const ROOM: u64 = 1 << 30;

/// How much of it is taken.
static TAKEN: AtomicU64 = AtomicU64::new(0);

/// Most records of a page; few in tests, so that the stored runs have several.
const LONGEST: usize = if cfg!(test) { 3 } else { 1_024 };
/// Bytes of the log that a page covers, unless one line is longer.
const WIDEST: u64 = 8 << 20;
/// Pages that stay in memory: requests that are near one another in the schedule end near one another.
const CACHED: usize = 16;

/// The file of a log whose records are in use.
#[derive(Debug)]
pub(super) struct LogSource {
    /// `None` where it cannot be read twice, as a pipe: then memory holds all.
    file: Option<Mutex<File>>,
    path: PathBuf,
    /// Bytes of memory that all logs may take before this one leaves records in its file.
    room: u64,
    /// Bytes that its own records take.
    taken: AtomicU64,
    /// Why records could not be read again.
    fault: OnceLock<String>,
}

impl LogSource {
    /// The source of a log that is read from `file`, which lies at `path`.
    pub(super) fn of(file: io::Result<File>, path: &Path, room: u64) -> Self {
        let regular = |file: &File| file.metadata().is_ok_and(|facts| facts.is_file());
        let file = file.ok().filter(regular).map(Mutex::new);
        Self { file, path: path.to_owned(), room, taken: AtomicU64::new(0), fault: OnceLock::new() }
    }

    /// Takes memory for so many bytes, if there is room.
    pub(super) fn takes(&self, bytes: usize) -> bool {
        let bytes = bytes as u64;
        let fits = TAKEN.fetch_add(bytes, Relaxed) + bytes <= self.room || self.file.is_none();
        if fits {
            self.taken.fetch_add(bytes, Relaxed);
        } else {
            TAKEN.fetch_sub(bytes, Relaxed);
        }
        fits
    }

    /// Where it lies and why records could not be read again, if they could not.
    pub(super) fn fault(&self) -> Option<(&Path, &str)> {
        Some((self.path.as_path(), self.fault.get()?.as_str()))
    }

    fn read(&self, place: &Range<u64>) -> io::Result<Vec<u8>> {
        let file = self.file.as_ref().ok_or(io::ErrorKind::NotFound)?;
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = vec![0; (place.end - place.start) as usize];
        file.seek(SeekFrom::Start(place.start))?;
        file.read_exact(&mut text)?;
        Ok(text)
    }
}

impl Drop for LogSource {
    fn drop(&mut self) {
        TAKEN.fetch_sub(*self.taken.get_mut(), Relaxed);
    }
}

/// Records that follow one another in a log.
#[derive(Clone, Debug)]
struct Page {
    /// The place of its first record.
    first: usize,
    /// Its bytes in the log.
    bytes: Range<u64>,
    /// Where the line of each record begins, from the first byte on.
    lines: Vec<u32>,
    /// CRC-32 of these lines.
    checksum: u32,
    /// Counts of answers that came after their records.
    counted: Vec<(u16, u64)>,
}

impl Page {
    fn has_room_for(&self, line: &Range<u64>) -> bool {
        self.lines.len() < LONGEST && line.end - self.bytes.start <= WIDEST
    }
}

/// The pages that were read again last, the newest first.
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
    source: Arc<LogSource>,
    all: Vec<Page>,
    len: usize,
    /// By how much their clock is to be put later.
    late: Duration,
    cache: Cache,
}

impl Pages {
    /// No page yet.
    pub(super) fn of(source: &Arc<LogSource>) -> Self {
        let source = Arc::clone(source);
        Self { source, all: Vec::new(), len: 0, late: Duration::ZERO, cache: Cache::default() }
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// Adds the record in `text`, a line without its seal that has the bytes `line` of the log.
    pub(super) fn add(&mut self, line: &Range<u64>, text: &[u8]) {
        if !self.all.last().is_some_and(|page| page.has_room_for(line)) {
            let bytes = line.clone();
            let (first, lines, counted) = (self.len, Vec::new(), Vec::new());
            self.all.push(Page { first, bytes, lines, checksum: 0, counted });
        }
        let Some(page) = self.all.last_mut() else { return };
        page.lines.push((line.start - page.bytes.start) as u32);
        page.bytes.end = line.end;
        let mut sum = crc32fast::Hasher::new_with_initial(page.checksum);
        sum.update(text);
        page.checksum = sum.finalize();
        self.len += 1;
    }

    /// The number of the page that has the record at `place`.
    fn page_of(&self, place: usize) -> usize {
        self.all.partition_point(|page| page.first <= place) - 1
    }

    /// Sets the token count of the answer at `place`.
    pub(super) fn count(&mut self, place: usize, tokens: u64) {
        let number = self.page_of(place);
        let page = &mut self.all[number];
        page.counted.push(((place - page.first) as u16, tokens));
    }

    /// Puts the clock of all records later.
    pub(super) fn put_later(&mut self, by: Duration) {
        self.late += by;
        self.cache = Cache::default();
    }

    /// The page with the record at `place`, and the record's place in it. Where the log no longer has it, a page of records
    /// that say nothing: the source remembers that.
    pub(super) fn get(&self, place: usize) -> (Arc<[RequestRecord]>, usize) {
        let number = self.page_of(place);
        let page = &self.all[number];
        let mut cache = self.cache.0.lock().unwrap_or_else(PoisonError::into_inner);
        let records = if let Some(at) = cache.iter().position(|(cached, _)| *cached == number) {
            cache[..=at].rotate_right(1);
            Arc::clone(&cache[0].1)
        } else {
            let records: Arc<[_]> = self.read(page).unwrap_or_else(|error| {
                self.source.fault.get_or_init(|| error.to_string());
                vec![RequestRecord::default(); page.lines.len()].into()
            });
            cache.truncate(CACHED - 1);
            cache.insert(0, (number, Arc::clone(&records)));
            records
        };
        (records, place - page.first)
    }

    fn read(&self, page: &Page) -> io::Result<Arc<[RequestRecord]>> {
        let changed = || io::Error::other("it was changed");
        let text = self.source.read(&page.bytes)?;
        let (mut sum, mut line) = (crc32fast::Hasher::new(), Vec::new());
        let mut records = Vec::with_capacity(page.lines.len());
        for &begin in &page.lines {
            let rest = &text[begin as usize..];
            line.clear();
            line.extend_from_slice(&rest[..memchr::memchr(b'\n', rest).unwrap_or(rest.len())]);
            unseal(&mut line);
            sum.update(&line);
            let Ok(StoredLine::Request(record)) = serde_json::from_slice(&line) else {
                return Err(changed());
            };
            records.push(*record);
        }
        if sum.finalize() != page.checksum {
            return Err(changed());
        }
        for &(place, tokens) in &page.counted {
            records[usize::from(place)].count(tokens);
        }
        if !self.late.is_zero() {
            for record in &mut records {
                record.put_later(self.late);
            }
        }
        Ok(records.into())
    }
}
