//! Keeps what ends while a run is on: judged, on disk at once, in memory for the analysis, off the measured thread.

use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use super::collected::{CollectedRun, Uncounted};
use super::judge::Judge;
use crate::engine::{Keep, Kept};
use crate::record::{ClientSample, Reading, RunLogWriter, Telemetry};
use crate::runner::checks::FinishedCheck;
use crate::runner::request_run::Landed;

/// How long records gather before they are written together: to wake a thread costs more than to keep a record.
const GATHERING: Duration = Duration::from_millis(20);

/// Something that has ended.
#[derive(Debug)]
enum Ended {
    /// A request of the plan. Boxed, for its record is far larger than the rest.
    Request(Box<Landed>),
    /// A golden prompt.
    Check(Box<FinishedCheck>),
    /// The reading of a page of metrics.
    Reading(Box<Reading>),
    /// A look at what this program uses.
    Client(ClientSample),
}

/// Takes what ended from a run while it is on.
#[derive(Debug)]
pub struct RecordWriter {
    ended: mpsc::Sender<Ended>,
    thread: JoinHandle<CollectedRun>,
}

impl RecordWriter {
    /// Appends to `log` on a thread of its own what `judge` makes of answers, and holds this of those whose tokens
    /// nobody counts.
    #[must_use]
    pub fn start(log: RunLogWriter, uncounted: Keep, judge: Judge) -> Self {
        let (ended, incoming) = mpsc::channel();
        Self { ended, thread: std::thread::spawn(move || keep(log, uncounted, &judge, &incoming)) }
    }

    /// Takes a request; never waits.
    pub fn keep(&self, landed: Landed) {
        // The thread lives until `stop`; were it gone, `stop` would say so.
        let _ = self.ended.send(Ended::Request(Box::new(landed)));
    }

    /// Takes a golden prompt; never waits.
    pub fn keep_check(&self, asked: FinishedCheck) {
        self.check_keeper()(asked);
    }

    /// Takes golden prompts from elsewhere. All that ever was given away must be gone for [`RecordWriter::stop`] to return.
    pub fn check_keeper(&self) -> impl FnMut(FinishedCheck) + Send + 'static {
        let ended = self.ended.clone();
        move |asked| {
            // As above.
            let _ = ended.send(Ended::Check(Box::new(asked)));
        }
    }

    /// Takes readings of pages of metrics from elsewhere, as above.
    pub fn reading_keeper(&self) -> impl Fn(Reading) + Send + 'static {
        let ended = self.ended.clone();
        move |reading| {
            // As above.
            let _ = ended.send(Ended::Reading(Box::new(reading)));
        }
    }

    /// Takes from elsewhere what this program is seen to use, as above.
    pub fn client_keeper(&self) -> impl FnMut(ClientSample) + Send + 'static {
        let ended = self.ended.clone();
        move |sample| {
            // As above.
            let _ = ended.send(Ended::Client(sample));
        }
    }

    /// Gives back all that came, when all is kept.
    #[must_use]
    pub fn stop(self) -> CollectedRun {
        drop(self.ended);
        match self.thread.join() {
            Ok(gathered) => gathered,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

/// Until the sender is gone. Whatever has come is handed to the operating system before waiting for more, so that a
/// crash loses nothing that had finished some milliseconds before. After an error in writing, records are kept in
/// memory only.
fn keep(log: RunLogWriter, uncounted: Keep, judge: &Judge, incoming: &mpsc::Receiver<Ended>) -> CollectedRun {
    let mut gathered = CollectedRun {
        records: Vec::new(),
        checks: Vec::new(),
        telemetry: Telemetry::default(),
        answers: Vec::new(),
        log: Ok(log),
    };
    while let Ok(first) = incoming.recv() {
        std::thread::sleep(GATHERING);
        let unwritten = gathered.lengths();
        for ended in std::iter::once(first).chain(incoming.try_iter()) {
            take(ended, uncounted, judge, &mut gathered);
        }
        gathered.write_from(unwritten);
    }
    gathered
}

fn take(ended: Ended, uncounted: Keep, judge: &Judge, gathered: &mut CollectedRun) {
    match ended {
        Ended::Request(landed) => {
            let Landed { record, kept } = *landed;
            let said = kept.as_ref().map(Kept::read_all);
            let record = judge.request(record, said.as_ref().and_then(|said| said.get(&0)));
            if let (Keep::Words, Some(said), true) = (uncounted, said, record.is_uncounted()) {
                gathered.answers.push(Uncounted::new(gathered.records.len(), said.into_values()));
            }
            gathered.records.push(record);
        }
        Ended::Check(asked) => gathered.checks.push(judge.check(*asked)),
        Ended::Reading(reading) => gathered.telemetry.readings.push(*reading),
        Ended::Client(sample) => gathered.telemetry.client.push(sample),
    }
}
