//! Keeps records as requests end: judged, on disk at once, in memory for the analysis, off the measured thread.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use super::{AskedCheck, Judge, Overheard};
use crate::engine::Kept;
use crate::record::{CheckRecord, RequestRecord, RunFooter, RunLogError, RunLogWriter};

/// How long records gather before they are written together: to wake a thread costs more than to keep a record.
const GATHERING: Duration = Duration::from_millis(20);

/// What the keeper is told.
#[derive(Debug)]
pub(super) enum Item {
    /// What was kept of an answer whose record comes next under this place of the schedule.
    Words { index: u64, kept: Kept },
    /// A request has ended. Boxed, for a record is far larger than the rest.
    Request(Box<RequestRecord>),
    /// So has a golden prompt.
    Check(Box<AskedCheck>),
    /// There is no more.
    Over,
}

/// What was kept of a run.
#[derive(Debug)]
pub struct KeptRun {
    /// The records of its requests, in the order in which they ended.
    pub records: Vec<RequestRecord>,
    /// Those of its golden prompts.
    pub checks: Vec<CheckRecord>,
    /// The first error in writing the log: what is in memory is whole all the same.
    pub written: Result<(), RunLogError>,
}

/// Takes records from a run while it is on.
#[derive(Debug)]
pub struct Keeper {
    items: mpsc::Sender<Item>,
    thread: JoinHandle<Keeping>,
}

impl Keeper {
    /// Appends to `log` on a thread of its own what `judge` makes of answers.
    #[must_use]
    pub fn start(log: RunLogWriter, judge: Judge) -> Self {
        let (items, incoming) = mpsc::channel();
        let keeping =
            Keeping { log: Ok(log), judge, words: HashMap::new(), records: Vec::new(), checks: Vec::new() };
        Self { items, thread: std::thread::spawn(move || keeping.keep(&incoming)) }
    }

    /// The engine with this keeper listening, so that answers can be judged.
    #[must_use]
    pub fn overhear<E>(&self, engine: Arc<E>) -> Overheard<E> {
        Overheard::new(engine, self.items.clone())
    }

    /// Takes a record; never waits.
    pub fn keep(&self, record: RequestRecord) {
        self.tell(Item::Request(Box::new(record)));
    }

    /// Takes a golden prompt; never waits.
    pub fn keep_check(&self, asked: AskedCheck) {
        self.tell(Item::Check(Box::new(asked)));
    }

    /// Takes golden prompts from elsewhere, until [`Keeper::finish`].
    pub fn check_keeper(&self) -> impl FnMut(AskedCheck) + Send + 'static {
        let items = self.items.clone();
        move |asked| {
            // As above.
            let _ = items.send(Item::Check(Box::new(asked)));
        }
    }

    /// Writes the footer and gives all back.
    #[must_use]
    pub fn finish(self, footer: &RunFooter) -> KeptRun {
        self.tell(Item::Over);
        match self.thread.join() {
            Ok(Keeping { log, records, checks, .. }) => {
                KeptRun { records, checks, written: log.and_then(|log| log.finish(footer)) }
            }
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }

    fn tell(&self, item: Item) {
        // The thread lives until `finish`; were it gone, `finish` would say so.
        let _ = self.items.send(item);
    }
}

/// The work of the keeper's thread.
#[derive(Debug)]
struct Keeping {
    /// After an error in writing, records are kept in memory only.
    log: Result<RunLogWriter, RunLogError>,
    judge: Judge,
    /// What was said in answers whose records are still to come.
    words: HashMap<u64, Kept>,
    records: Vec<RequestRecord>,
    checks: Vec<CheckRecord>,
}

impl Keeping {
    /// Until there is no more. Whatever has come is handed to the operating system before waiting for more, so that a
    /// crash loses nothing that had finished some milliseconds before.
    fn keep(mut self, incoming: &mpsc::Receiver<Item>) -> Self {
        let mut open = true;
        while open && let Ok(first) = incoming.recv() {
            if !matches!(first, Item::Over) {
                std::thread::sleep(GATHERING);
            }
            let (records, checks) = (self.records.len(), self.checks.len());
            for item in std::iter::once(first).chain(incoming.try_iter()) {
                open &= !matches!(item, Item::Over);
                self.take(item);
            }
            if let Ok(log) = &mut self.log
                && let Err(error) = write(log, &self.records[records..], &self.checks[checks..])
            {
                tracing::error!("{error}; records are kept in memory only from here on");
                self.log = Err(error);
            }
        }
        self
    }

    fn take(&mut self, item: Item) {
        match item {
            Item::Words { index, kept } => _ = self.words.insert(index, kept),
            Item::Request(record) => {
                let kept = self.words.remove(&record.index);
                self.records.push(self.judge.request(*record, kept.as_ref()));
            }
            Item::Check(asked) => self.checks.push(self.judge.check(*asked)),
            Item::Over => {}
        }
    }
}

fn write(
    log: &mut RunLogWriter,
    records: &[RequestRecord],
    checks: &[CheckRecord],
) -> Result<(), RunLogError> {
    checks.iter().try_for_each(|check| log.append_check(check))?;
    records.iter().try_for_each(|record| log.append(record))?;
    log.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;
    use crate::engine::Secrets;
    use crate::record::{RunEnding, RunLog};

    #[test]
    fn what_is_kept_is_on_disk_and_in_memory() {
        let stored = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/runs/schema-1");
        let known = RunLog::read(&stored).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let keeper = Keeper::start(
            RunLogWriter::create(folder.path(), &known.header).unwrap(),
            Judge::new(&known.header.workload, Secrets::default()),
        );
        for record in &known.records {
            keeper.keep(record.clone());
        }
        let footer = RunFooter {
            released_until: Timestamp::from_nanos(1),
            ended: Timestamp::from_nanos(2),
            ending: RunEnding::Finished,
            present_ns: Some(1),
            client: None,
            server: None,
        };
        let KeptRun { records, written, .. } = keeper.finish(&footer);
        written.unwrap();
        assert_eq!(records, known.records);
        let log = RunLog::read(folder.path()).unwrap();
        assert_eq!((log.records, log.footer), (records, Some(footer)));
    }
}
