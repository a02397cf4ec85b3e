//! Keeps records as requests end: on disk at once, in memory for the analysis, off the measured thread.

use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use crate::record::{RequestRecord, RunFooter, RunLogError, RunLogWriter};

/// How long records gather before they are written together: to wake a thread costs more than to keep a record.
const GATHERING: Duration = Duration::from_millis(20);

/// Takes records from a run while it is on.
#[derive(Debug)]
pub struct Keeper {
    records: mpsc::Sender<RequestRecord>,
    thread: JoinHandle<(Vec<RequestRecord>, Result<RunLogWriter, RunLogError>)>,
}

impl Keeper {
    /// Appends to `log` on a thread of its own.
    #[must_use]
    pub fn start(log: RunLogWriter) -> Self {
        let (records, incoming) = mpsc::channel();
        Self { records, thread: std::thread::spawn(move || keep(log, &incoming)) }
    }

    /// Takes a record; never waits.
    pub fn keep(&self, record: RequestRecord) {
        // The thread lives until `finish`; were it gone, `finish` would say so.
        let _ = self.records.send(record);
    }

    /// Writes the footer and gives all the records back.
    ///
    /// # Errors
    ///
    /// Beside the records, the first error in writing the log: what is in memory is whole all the same.
    pub fn finish(self, footer: &RunFooter) -> (Vec<RequestRecord>, Result<(), RunLogError>) {
        drop(self.records);
        match self.thread.join() {
            Ok((records, log)) => (records, log.and_then(|log| log.finish(footer))),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

/// Until the sender is gone. Whatever has come is handed to the operating system before waiting for more, so that a
/// crash loses nothing that had finished some milliseconds before. After an error in writing, records are kept in
/// memory only.
fn keep(
    log: RunLogWriter,
    incoming: &mpsc::Receiver<RequestRecord>,
) -> (Vec<RequestRecord>, Result<RunLogWriter, RunLogError>) {
    let mut records = Vec::new();
    let mut log = Ok(log);
    while let Ok(first) = incoming.recv() {
        std::thread::sleep(GATHERING);
        let begin = records.len();
        records.push(first);
        records.extend(incoming.try_iter());
        if let Ok(writer) = &mut log
            && let Err(error) = write(writer, &records[begin..])
        {
            tracing::error!("{error}; records are kept in memory only from here on");
            log = Err(error);
        }
    }
    (records, log)
}

fn write(log: &mut RunLogWriter, records: &[RequestRecord]) -> Result<(), RunLogError> {
    records.iter().try_for_each(|record| log.append(record))?;
    log.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;
    use crate::record::{RunEnding, RunLog};

    #[test]
    fn what_is_kept_is_on_disk_and_in_memory() {
        let stored = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/runs/schema-1");
        let known = RunLog::read(&stored).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let keeper = Keeper::start(RunLogWriter::create(folder.path(), &known.header).unwrap());
        for record in &known.records {
            keeper.keep(record.clone());
        }
        let footer = RunFooter {
            released_until: Timestamp::from_nanos(1),
            ended: Timestamp::from_nanos(2),
            ending: RunEnding::Finished,
            present_ns: Some(1),
            sessions: None,
            client: None,
            server: None,
        };
        let (records, written) = keeper.finish(&footer);
        written.unwrap();
        assert_eq!(records, known.records);
        let log = RunLog::read(folder.path()).unwrap();
        assert_eq!((log.records, log.footer), (records, Some(footer)));
    }
}
