//! The log of ended requests: in memory for readers, and in a file.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;

use serde_json::json;

use super::record::{MockStatistics, MockTally, Record};
use crate::clock::{RunClock, start_thread};

/// Bytes of records kept in memory, about 10,000 answers of 64 tokens. Older ones are dropped, and the header
/// says how many. A file gets all.
const KEPT: usize = 64 << 20;

/// Log of ended requests. It has a header line, then one line per request, in order of their ends.
#[derive(Debug)]
pub(crate) struct TruthLog {
    clock: RunClock,
    model: String,
    kept: Mutex<Kept>,
    file: Mutex<Option<FileLog>>,
}

#[derive(Debug, Default)]
struct Kept {
    lines: VecDeque<String>,
    bytes: usize,
    dropped: u64,
    tally: MockTally,
}

/// A thread that writes, so that no answer waits for the disk.
#[derive(Debug)]
struct FileLog {
    lines: mpsc::Sender<String>,
    thread: JoinHandle<()>,
}

impl TruthLog {
    pub(crate) fn new(clock: RunClock, model: String) -> Self {
        Self { clock, model, kept: Mutex::default(), file: Mutex::default() }
    }

    /// Writes to the file at `path` too from now on, replacing what is there.
    pub(crate) fn write_to(&self, path: &Path) -> io::Result<()> {
        let mut file = BufWriter::new(File::create(path)?);
        writeln!(file, "{}", self.header(0))?;
        file.flush()?;
        *lock(&self.file) = Some(FileLog::start(file)?);
        Ok(())
    }

    /// The first line.
    fn header(&self, dropped: u64) -> String {
        let header = json!({
            "schema": 1,
            "skyline_version": env!("CARGO_PKG_VERSION"),
            "model": self.model,
            // Wall-clock time of the clock's zero.
            "clock_zero": self.clock.started_at(),
            // Records missing because memory keeps only so many.
            "dropped": dropped,
        });
        json!({ "header": header }).to_string()
    }

    /// Adds a request that has ended.
    pub(crate) fn add(&self, record: &Record) {
        let line = serde_json::to_string(record).unwrap_or_default();
        if let Some(file) = &*lock(&self.file) {
            let _ = file.lines.send(line.clone());
        }
        let mut kept = lock(&self.kept);
        kept.tally.add(record);
        kept.keep(line);
    }

    /// Header and records as NDJSON.
    pub(crate) fn text(&self) -> String {
        let kept = lock(&self.kept);
        let mut text = self.header(kept.dropped);
        text.push('\n');
        for line in &kept.lines {
            text.push_str(line);
            text.push('\n');
        }
        text
    }

    /// Clears what is in memory, statistics too; a file stays as it is.
    pub(crate) fn clear(&self) {
        *lock(&self.kept) = Kept::default();
    }

    pub(crate) fn statistics(&self) -> MockStatistics {
        lock(&self.kept).tally.statistics()
    }

    /// Waits until everything is in the file; nothing is written after it.
    pub(crate) fn close(&self) {
        if let Some(FileLog { lines, thread }) = lock(&self.file).take() {
            drop(lines);
            let _ = thread.join();
        }
    }
}

impl Kept {
    fn keep(&mut self, line: String) {
        self.bytes += line.len();
        self.lines.push_back(line);
        while self.bytes > KEPT
            && let Some(oldest) = self.lines.pop_front()
        {
            self.bytes -= oldest.len();
            self.dropped += 1;
        }
    }
}

impl FileLog {
    fn start(mut file: BufWriter<File>) -> io::Result<Self> {
        let (lines, coming) = mpsc::channel::<String>();
        let thread = start_thread("mock truth", move || {
            while let Ok(line) = coming.recv() {
                let mut result = writeln!(file, "{line}");
                while let Ok(line) = coming.try_recv() {
                    result = result.and_then(|()| writeln!(file, "{line}"));
                }
                if let Err(error) = result.and_then(|()| file.flush()) {
                    tracing::error!("the truth log cannot be written any more: {error}");
                    return;
                }
            }
        })?;
        Ok(Self { lines, thread })
    }
}

/// A panic elsewhere leaves the records valid.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_keeps_the_newest() {
        let mut kept = Kept::default();
        for name in ["a", "b", "c"] {
            kept.keep(name.repeat(KEPT / 2));
        }
        assert_eq!((kept.lines.len(), kept.dropped, kept.bytes), (2, 1, KEPT / 2 * 2));
        assert!(kept.lines[0].starts_with('b'));
    }
}
