//! Writes records to the log while a run is on, off the measured thread, and reads them back when it is over:
//! until then memory does not grow with the number of requests.

use std::io;
use std::sync::mpsc::{self, TryRecvError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::collected::CollectedRun;
use super::judge::AnswerJudge;
use crate::clock::start_thread;
use crate::engine::{CaptureText, CapturedText};
use crate::record::{ClientSample, LogLine, Reading, RunLogWriter, UnendedRequest};
use crate::runner::checks::FinishedCheck;
use crate::runner::request_run::FinishedRequest;

/// Time for which records gather before they are written together. Waking a thread costs more than writing a record, so
/// nothing that ends wakes the one that writes. What ended 20 ms before a crash is written, with some time to write it.
const GATHERING: Duration = Duration::from_millis(15);
/// Most that is written before it is flushed.
const MOST_GATHERED: usize = 256;

/// Something that has ended.
enum RecordItem {
    /// A request was dispatched.
    Dispatched(UnendedRequest),
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
    ///
    /// # Errors
    ///
    /// When there is no thread for it.
    pub fn start(log: RunLogWriter, uncounted: CaptureText, judge: AnswerJudge) -> io::Result<Self> {
        let (ended, incoming) = mpsc::channel();
        let thread = start_thread("run log", move || keep(log, uncounted, &judge, &incoming))?;
        Ok(Self { ended, thread })
    }

    /// Takes requests as they are dispatched, on another thread, as below.
    pub fn dispatch_keeper(&self) -> Box<dyn FnMut(UnendedRequest) + Send> {
        let ended = self.ended.clone();
        Box::new(move |request| {
            let _ = ended.send(RecordItem::Dispatched(request));
        })
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

/// Runs until the senders are gone. Whatever was received is flushed to the operating system every
/// [`GATHERING`], so that a crash loses only what ended after that, and the log names every request that was
/// in flight. After a write error, records are kept in memory only.
fn keep(
    log: RunLogWriter,
    uncounted: CaptureText,
    judge: &AnswerJudge,
    incoming: &mpsc::Receiver<RecordItem>,
) -> CollectedRun {
    let mut collected = CollectedRun::new(log);
    let mut in_flight = Vec::new();
    loop {
        let mut taken = 0;
        let pause = loop {
            match incoming.try_recv() {
                Ok(item) => take(item, uncounted, judge, &mut collected, &mut in_flight),
                Err(pause) => break Some(pause),
            }
            taken += 1;
            if taken == MOST_GATHERED {
                break None;
            }
        };
        if !in_flight.is_empty() {
            collected.append(LogLine::InFlight(&in_flight));
            in_flight.clear();
        }
        collected.flush();
        match pause {
            Some(TryRecvError::Disconnected) => return collected,
            Some(TryRecvError::Empty) => std::thread::sleep(GATHERING),
            None => {}
        }
    }
}

/// Keeps what has ended, which is no more `in_flight`.
fn take(
    item: RecordItem,
    uncounted: CaptureText,
    judge: &AnswerJudge,
    collected: &mut CollectedRun,
    in_flight: &mut Vec<UnendedRequest>,
) {
    match item {
        RecordItem::Dispatched(request) => in_flight.push(request),
        RecordItem::Request(finished) => {
            let FinishedRequest { record, captured, row } = *finished;
            in_flight.retain(|request| request.index != record.index);
            let said = captured.as_ref().map(CapturedText::read_all);
            let first = said.as_ref().and_then(|said| said.get(&0));
            let record = judge.request(record, row, first).possible();
            let stored = collected.append(LogLine::Request(&record));
            if let Some(answer) = judge.unscored(&record, row, first).filter(|_| stored) {
                collected.set_aside_unscored(&answer);
            }
            if let (CaptureText::Yes, Some(said), true) = (uncounted, said, stored && record.is_uncounted()) {
                collected.set_aside(record.index, said.into_values());
            }
        }
        RecordItem::Check(asked) => {
            collected.append(LogLine::Check(&judge.check(*asked).possible()));
        }
        RecordItem::Reading(reading) => {
            collected.append(LogLine::Reading(&reading.possible()));
        }
        RecordItem::Client(sample) => {
            collected.append(LogLine::Client(&sample));
        }
    }
}

#[cfg(test)]
mod tests;
