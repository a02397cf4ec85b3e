//! Keeps what ends while a run is on: on disk at once, in memory for the analysis, off the measured thread.

use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use super::gathered::Gathered;
use super::{Landed, gathered};
use crate::engine::Keep;
use crate::record::{RequestRecord, RunLogError, RunLogWriter};

/// How long records gather before they are written together: to wake a thread costs more than to keep a record.
const GATHERING: Duration = Duration::from_millis(20);

/// Takes requests that ended from a run while it is on.
#[derive(Debug)]
pub struct Keeper {
    landed: mpsc::Sender<Landed>,
    thread: JoinHandle<Gathered>,
}

impl Keeper {
    /// Appends to `log` on a thread of its own, and holds this of the answers whose tokens nobody counts.
    #[must_use]
    pub fn start(log: RunLogWriter, uncounted: Keep) -> Self {
        let (landed, incoming) = mpsc::channel();
        Self { landed, thread: std::thread::spawn(move || keep(log, uncounted, &incoming)) }
    }

    /// Takes a request; never waits.
    pub fn keep(&self, landed: Landed) {
        // The thread lives until `stop`; were it gone, `stop` would say so.
        let _ = self.landed.send(landed);
    }

    /// Gives back all that came, when all is kept.
    #[must_use]
    pub fn stop(self) -> Gathered {
        drop(self.landed);
        match self.thread.join() {
            Ok(gathered) => gathered,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

/// Until the sender is gone. Whatever has come is handed to the operating system before waiting for more, so that a
/// crash loses nothing that had finished some milliseconds before. After an error in writing, records are kept in
/// memory only.
fn keep(log: RunLogWriter, uncounted: Keep, incoming: &mpsc::Receiver<Landed>) -> Gathered {
    let (mut records, mut answers) = (Vec::new(), Vec::new());
    let mut log = Ok(log);
    while let Ok(first) = incoming.recv() {
        std::thread::sleep(GATHERING);
        let begin = records.len();
        for Landed { record, kept } in std::iter::once(first).chain(incoming.try_iter()) {
            if let (Keep::Words, Some(kept), true) = (uncounted, kept, record.is_uncounted()) {
                answers.push(gathered::Uncounted::new(records.len(), kept.read()));
            }
            records.push(record);
        }
        if let Ok(writer) = &mut log
            && let Err(error) = write(writer, &records[begin..])
        {
            tracing::error!("{error}; records are kept in memory only from here on");
            log = Err(error);
        }
    }
    Gathered { records, answers, log }
}

fn write(log: &mut RunLogWriter, records: &[RequestRecord]) -> Result<(), RunLogError> {
    records.iter().try_for_each(|record| log.append(record))?;
    log.flush()
}
