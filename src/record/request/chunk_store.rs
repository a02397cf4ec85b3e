//! Where the chunks of a log's answers are while its figures are computed: in memory as long as there is room, and in the
//! log itself beyond that.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Memory for the chunks of all logs that are in use, bytes: 250,000 answers of 200 tokens fit.
pub(crate) const ROOM: u64 = 256 << 20;

/// How much of it is taken.
static TAKEN: AtomicU64 = AtomicU64::new(0);

/// A log whose chunks are in use.
#[derive(Debug)]
pub(crate) struct ChunkStore {
    /// Its file; `None` where it cannot be read twice, as a pipe: then memory holds all.
    file: Option<Mutex<File>>,
    path: PathBuf,
    /// Bytes of the file that can be read.
    readable: u64,
    /// Bytes of memory that all logs may take before this one leaves chunks in its file.
    room: u64,
    /// Bytes that its own chunks take.
    taken: AtomicU64,
    /// Why chunks could not be read again.
    fault: OnceLock<String>,
}

impl ChunkStore {
    /// The store of a log that is read from the first `readable` bytes of `file`, which lies at `path`.
    pub(crate) fn of(file: io::Result<File>, path: &Path, readable: u64, room: u64) -> Self {
        let regular = |file: &File| file.metadata().is_ok_and(|facts| facts.is_file());
        let file = file.ok().filter(regular).map(Mutex::new);
        let (path, taken) = (path.to_owned(), AtomicU64::new(0));
        Self { file, path, readable, room, taken, fault: OnceLock::new() }
    }

    /// Takes memory for so many bytes, if there is room.
    pub(super) fn takes(&self, bytes: u64) -> bool {
        let fits = TAKEN.fetch_add(bytes, Relaxed) + bytes <= self.room || self.file.is_none();
        if fits {
            self.taken.fetch_add(bytes, Relaxed);
        } else {
            TAKEN.fetch_sub(bytes, Relaxed);
        }
        fits
    }
}

/// The stores of the logs that a run was read from. They say nothing of the run.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChunkStores(Vec<Arc<ChunkStore>>);

impl PartialEq for ChunkStores {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl From<Arc<ChunkStore>> for ChunkStores {
    fn from(store: Arc<ChunkStore>) -> Self {
        Self(vec![store])
    }
}

impl ChunkStores {
    /// Those of both.
    pub(crate) fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// The first that could not be read again, and why: then no figure that was computed since is right.
    pub(crate) fn fault(&self) -> Option<(&Path, &str)> {
        self.0.iter().find_map(|store| Some((store.path.as_path(), store.fault.get()?.as_str())))
    }
}

impl Drop for ChunkStore {
    fn drop(&mut self) {
        TAKEN.fetch_sub(*self.taken.get_mut(), Relaxed);
    }
}

/// Where the chunks of an answer stand in a log.
#[derive(Clone, Debug)]
pub(super) struct Place {
    store: Arc<ChunkStore>,
    begin: u64,
    bytes: u32,
    checksum: u32,
}

impl Place {
    /// The place of `text`, which begins at byte `begin` of the log, unless the file does not hold it.
    pub(super) fn of(store: &Arc<ChunkStore>, begin: u64, text: &[u8]) -> Option<Self> {
        if begin + text.len() as u64 > store.readable {
            return None;
        }
        let (bytes, checksum) = (u32::try_from(text.len()).ok()?, crc32fast::hash(text));
        Some(Self { store: Arc::clone(store), begin, bytes, checksum })
    }

    /// What stands there. Where that is gone or not the same any more, the store remembers it.
    pub(super) fn read(&self) -> Option<Vec<u8>> {
        let read = || {
            let file = self.store.file.as_ref().ok_or(io::ErrorKind::NotFound)?;
            let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
            let mut text = vec![0; self.bytes as usize];
            file.seek(SeekFrom::Start(self.begin))?;
            file.read_exact(&mut text)?;
            if crc32fast::hash(&text) != self.checksum {
                return Err(io::Error::other("it was changed"));
            }
            Ok(text)
        };
        let noted = |error: io::Error| self.store.fault.get_or_init(|| error.to_string()).len();
        read().map_err(noted).ok()
    }

    /// Why the log could not be read again, if it could not.
    pub(super) fn fault(&self) -> Option<&String> {
        self.store.fault.get()
    }
}
