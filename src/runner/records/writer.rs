//! Writes records while a run is on, off the measured thread.

use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use super::collected::{CollectedRun, UncountedAnswer};
use super::judge::AnswerJudge;
use crate::engine::{CaptureText, CapturedText};
use crate::record::{ClientSample, Reading, RunLogWriter, Telemetry};
use crate::runner::checks::FinishedCheck;
use crate::runner::request_run::FinishedRequest;

/// How long records gather before they are written together: waking a thread costs more than writing a
/// record.
const GATHERING: Duration = Duration::from_millis(20);

/// Something that has ended.
#[derive(Debug)]
enum RecordItem {
    /// A request of the plan. Boxed, since its record is much larger than the rest.
    Request(Box<FinishedRequest>),
    /// A golden prompt.
    Check(Box<FinishedCheck>),
    /// A reading of a metrics page.
    Reading(Box<Reading>),
    /// A sample of this program's own use of the machine.
    Client(ClientSample),
}

/// Takes whatever ends during a run.
#[derive(Debug)]
pub struct RecordWriter {
    ended: mpsc::Sender<RecordItem>,
    thread: JoinHandle<CollectedRun>,
}

impl RecordWriter {
    /// Checks answers and appends records to `log` on its own thread. `uncounted` says whether the text of
    /// answers without a token count is kept.
    pub fn start(log: RunLogWriter, uncounted: CaptureText, judge: AnswerJudge) -> Self {
        let (ended, incoming) = mpsc::channel();
        Self { ended, thread: std::thread::spawn(move || keep(log, uncounted, &judge, &incoming)) }
    }

    /// Takes a request; never waits.
    pub fn keep(&self, finished: FinishedRequest) {
        // The thread lives until `stop`, which reports a panic in it.
        let _ = self.ended.send(RecordItem::Request(Box::new(finished)));
    }

    /// Takes a golden prompt; never waits.
    pub fn keep_check(&self, asked: FinishedCheck) {
        self.check_keeper()(asked);
    }

    /// Takes golden prompts on another thread. [`RecordWriter::stop`] returns only when every such closure is
    /// dropped.
    pub fn check_keeper(&self) -> impl FnMut(FinishedCheck) + Send + 'static {
        let ended = self.ended.clone();
        move |asked| {
            let _ = ended.send(RecordItem::Check(Box::new(asked)));
        }
    }

    /// Takes readings of metrics pages on another thread, as above.
    pub fn reading_keeper(&self) -> impl Fn(Reading) + Send + 'static {
        let ended = self.ended.clone();
        move |reading| {
            let _ = ended.send(RecordItem::Reading(Box::new(reading)));
        }
    }

    /// Takes samples of this program on another thread, as above.
    pub fn client_keeper(&self) -> impl FnMut(ClientSample) + Send + 'static {
        let ended = self.ended.clone();
        move |sample| {
            let _ = ended.send(RecordItem::Client(sample));
        }
    }

    /// Waits until everything is written and returns it.
    pub fn stop(self) -> CollectedRun {
        drop(self.ended);
        match self.thread.join() {
            Ok(collected) => collected,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

/// Runs until the sender is gone. Everything received is flushed to the operating system before waiting for
/// more, so that a crash loses at most the last few milliseconds. After a write error, records are kept in
/// memory only.
fn keep(
    log: RunLogWriter,
    uncounted: CaptureText,
    judge: &AnswerJudge,
    incoming: &mpsc::Receiver<RecordItem>,
) -> CollectedRun {
    let mut collected = CollectedRun {
        records: Vec::new(),
        checks: Vec::new(),
        telemetry: Telemetry::default(),
        answers: Vec::new(),
        log: Ok(log),
    };
    while let Ok(first) = incoming.recv() {
        std::thread::sleep(GATHERING);
        let unwritten = collected.lengths();
        for ended in std::iter::once(first).chain(incoming.try_iter()) {
            take(ended, uncounted, judge, &mut collected);
        }
        collected.write_from(unwritten);
    }
    collected
}

fn take(ended: RecordItem, uncounted: CaptureText, judge: &AnswerJudge, collected: &mut CollectedRun) {
    match ended {
        RecordItem::Request(finished) => {
            let FinishedRequest { record, captured } = *finished;
            let said = captured.as_ref().map(CapturedText::read_all);
            let record = judge.request(record, said.as_ref().and_then(|said| said.get(&0)));
            if let (CaptureText::Yes, Some(said), true) = (uncounted, said, record.is_uncounted()) {
                collected.answers.push(UncountedAnswer::new(collected.records.len(), said.into_values()));
            }
            collected.records.push(record);
        }
        RecordItem::Check(asked) => collected.checks.push(judge.check(*asked)),
        RecordItem::Reading(reading) => collected.telemetry.readings.push(*reading),
        RecordItem::Client(sample) => collected.telemetry.client.push(sample),
    }
}
