//! Writes records to the log while a run is on, off the measured thread, and reads them back when it is over:
//! until then memory does not grow with the number of requests.

use std::io::{self, BufRead};
use std::ops::ControlFlow;
use std::sync::mpsc::{self, TryRecvError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::judge::AnswerJudge;
use crate::clock::start_thread;
use crate::engine::{AnswerText, CaptureText, CapturedText};
use crate::generator::TokenCounter;
use crate::record::{
    ClientSample, CountedAnswer, LineFile, LogLine, Reading, RunFooter, RunHeader, RunLog, RunLogError, RunLogWriter,
    UnendedRequest,
};
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
    let mut collected = CollectedRun { log, error: None, answers: None };
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
        let flushed = collected.log.flush();
        collected.note(flushed);
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
            let FinishedRequest { record, captured } = *finished;
            in_flight.retain(|request| request.index != record.index);
            let said = captured.as_ref().map(CapturedText::read_all);
            let record = judge.request(record, said.as_ref().and_then(|said| said.get(&0))).possible();
            let stored = collected.append(LogLine::Request(&record));
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

/// Answers counted together, on all cores, between two progress reports.
const BATCH: usize = 256;

/// Everything that ended in a run. Its log lacks only the counts of answers and the footer.
#[derive(Debug)]
pub struct CollectedRun {
    log: RunLogWriter,
    /// The first error in writing it.
    error: Option<RunLogError>,
    /// Answers whose tokens the server did not count, and their number. It is absent without any.
    answers: Option<(LineFile, usize)>,
}

/// The index of a request, and all texts of its answer. A model generates each in one go, so they are counted
/// one by one.
type UncountedAnswer = (u64, Vec<String>);

impl CollectedRun {
    /// Appends a line; false where no run can have what it says. That is a fault of this program, and the
    /// verdict finds that the record is missing.
    fn append(&mut self, line: LogLine<'_>) -> bool {
        match self.log.append(line) {
            Err(error @ RunLogError::Impossible { .. }) => {
                tracing::error!("{error}");
                false
            }
            written => {
                self.note(written);
                true
            }
        }
    }

    /// Keeps the first error in writing the log.
    fn note(&mut self, written: Result<(), RunLogError>) {
        if let Err(error) = written {
            tracing::error!("{error}; from now on records are kept in memory only");
            self.error.get_or_insert(error);
        }
    }

    /// Keeps what was `said` in an answer until its tokens can be counted. It is kept for each choice (`n`) of the
    /// request's answer.
    fn set_aside(&mut self, index: u64, said: impl IntoIterator<Item = AnswerText>) {
        let texts = said.into_iter().flat_map(|said| {
            let calls = said.tool_calls.into_iter().flat_map(|call| [call.name, call.arguments]);
            [said.reasoning, said.content].into_iter().chain(calls)
        });
        let answer: UncountedAnswer = (index, texts.filter(|text| !text.is_empty()).collect());
        let kept = self.answers.take().map_or_else(|| Ok((LineFile::unnamed(self.log.folder())?, 0)), Ok);
        match kept {
            Ok((mut answers, number)) => {
                if let Err(error) = answers.append(&answer) {
                    tracing::error!("answers are kept in memory from now on: {error}");
                }
                self.answers = Some((answers, number + 1));
            }
            Err::<_, io::Error>(error) => tracing::error!("an answer stays uncounted: {error}"),
        }
    }

    /// Answers that are still to be counted.
    pub fn uncounted(&self) -> usize {
        self.answers.as_ref().map_or(0, |(_, number)| *number)
    }

    /// Counts their tokens on all cores, without special tokens. An answer's count is the sum over its texts
    /// (reasoning, content, names and arguments of tool calls). `go_on` gets the number counted so far and may stop the
    /// count; what is left stays as it was.
    pub fn count(&mut self, counter: &TokenCounter, mut go_on: impl FnMut(usize) -> ControlFlow<()>) {
        let Some((answers, _)) = self.answers.take() else { return };
        let mut answers = match answers.read_back() {
            Ok(lines) => lines.lines().map_while(Result::ok),
            Err(error) => return tracing::error!("answers stay uncounted: {error}"),
        };
        let mut done = 0;
        loop {
            let batch: Vec<UncountedAnswer> =
                answers.by_ref().take(BATCH).filter_map(|line| serde_json::from_str(&line).ok()).collect();
            if batch.is_empty() {
                return;
            }
            let texts: Vec<&str> = batch.iter().flat_map(|(_, texts)| texts).map(String::as_str).collect();
            let mut counts = counter.count_all(&texts).into_iter().map(u64::from);
            for (index, texts) in &batch {
                let tokens = counts.by_ref().take(texts.len()).sum();
                self.append(LogLine::Counted(&CountedAnswer { index: *index, tokens }));
            }
            done += batch.len();
            if go_on(done).is_break() {
                return;
            }
        }
    }

    /// Writes the footer, and reads the whole run back. Returns it, and the first error in writing the log;
    /// what could not be written is in the run all the same.
    ///
    /// # Errors
    ///
    /// When the log cannot be read back.
    pub fn finish(
        mut self,
        header: RunHeader,
        footer: &RunFooter,
    ) -> Result<(RunLog, Result<(), RunLogError>), RunLogError> {
        self.append(LogLine::Footer(footer));
        let flushed = self.log.flush();
        self.note(flushed);
        let log = self.log.read_back()?;
        Ok((RunLog { header, ..log }, self.error.map_or(Ok(()), Err)))
    }
}

#[cfg(test)]
mod tests;
