//! Writes records while a run is on, off the measured thread, and has them all when it is over.

use std::ops::ControlFlow;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use super::judge::AnswerJudge;
use crate::engine::{AnswerText, CaptureText, CapturedText};
use crate::generator::TokenCounter;
use crate::record::{
    CheckRecord, ClientSample, CountedAnswer, LogLine, Reading, RequestRecord, RunFooter, RunHeader, RunLog,
    RunLogError, RunLogWriter, Telemetry,
};
use crate::runner::checks::FinishedCheck;
use crate::runner::request_run::FinishedRequest;

/// How long records gather before they are written together: waking a thread costs more than writing a
/// record.
const GATHERING: Duration = Duration::from_millis(20);

/// Something that has ended.
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
        for ended in std::iter::once(first).chain(incoming.try_iter()) {
            take(ended, uncounted, judge, &mut collected);
        }
        collected.write(RunLogWriter::flush);
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
            collected.write(|log| log.append(LogLine::Request(&record)));
            collected.records.push(record);
        }
        RecordItem::Check(asked) => {
            let check = judge.check(*asked);
            collected.write(|log| log.append(LogLine::Check(&check)));
            collected.checks.push(check);
        }
        RecordItem::Reading(reading) => {
            collected.write(|log| log.append(LogLine::Reading(&reading)));
            collected.telemetry.readings.push(*reading);
        }
        RecordItem::Client(sample) => {
            collected.write(|log| log.append(LogLine::Client(&sample)));
            collected.telemetry.client.push(sample);
        }
    }
}

/// Answers counted together, on all cores, between two progress reports.
const BATCH: usize = 256;

/// Everything that ended in a run. Its log lacks only the counts of answers and the footer.
#[derive(Debug)]
pub struct CollectedRun {
    /// The records, in the order in which requests ended.
    records: Vec<RequestRecord>,
    /// Results of golden prompts, in the order in which they ended.
    checks: Vec<CheckRecord>,
    /// Telemetry, in order of time.
    telemetry: Telemetry,
    answers: Vec<UncountedAnswer>,
    /// The log, or the first error in writing it.
    log: Result<RunLogWriter, RunLogError>,
}

/// An answer whose tokens the server did not count.
#[derive(Debug)]
struct UncountedAnswer {
    /// Index of its record.
    index: usize,
    /// All texts of the answer. A model generates each in one go, so they are counted one by one.
    texts: Vec<String>,
}

impl UncountedAnswer {
    /// The answer of the record at `index`: one text set for each choice (`n`).
    fn new(index: usize, said: impl IntoIterator<Item = AnswerText>) -> Self {
        let texts = said.into_iter().flat_map(|said| {
            let calls = said.tool_calls.into_iter().flat_map(|call| [call.name, call.arguments]);
            [said.reasoning, said.content].into_iter().chain(calls)
        });
        Self { index, texts: texts.filter(|text| !text.is_empty()).collect() }
    }
}

impl CollectedRun {
    /// Writes to the log; after an error, records are kept in memory only.
    fn write(&mut self, lines: impl FnOnce(&mut RunLogWriter) -> Result<(), RunLogError>) {
        let Ok(log) = &mut self.log else { return };
        if let Err(error) = lines(log) {
            tracing::error!("{error}; from now on records are kept in memory only");
            self.log = Err(error);
        }
    }

    /// Answers that are still to be counted.
    pub fn uncounted(&self) -> usize {
        self.answers.len()
    }

    /// Counts their tokens on all cores: the sum over the texts of an answer (reasoning, content, names and
    /// arguments of tool calls), without special tokens. `go_on` gets the number counted so far and may stop
    /// the count; what is left stays as it was.
    pub fn count(&mut self, counter: &TokenCounter, mut go_on: impl FnMut(usize) -> ControlFlow<()>) {
        let answers = std::mem::take(&mut self.answers);
        let mut done = 0;
        for batch in answers.chunks(BATCH) {
            let texts: Vec<&str> =
                batch.iter().flat_map(|answer| &answer.texts).map(String::as_str).collect();
            let mut counts = counter.count_all(&texts).into_iter().map(u64::from);
            for answer in batch {
                self.counted(answer.index, counts.by_ref().take(answer.texts.len()).sum());
            }
            done += batch.len();
            if go_on(done).is_break() {
                return;
            }
        }
    }

    fn counted(&mut self, index: usize, tokens: u64) {
        let record = &mut self.records[index];
        record.count(tokens);
        let line = CountedAnswer { index: record.index, tokens };
        self.write(|log| log.append(LogLine::Counted(&line)));
    }

    /// Writes the footer. Returns the whole run, and the first error in writing the log; what is in memory is whole
    /// all the same.
    pub fn finish(self, header: RunHeader, footer: RunFooter) -> (RunLog, Result<(), RunLogError>) {
        let Self { records, checks, telemetry, log, .. } = self;
        let written = log.and_then(|log| log.finish(&footer));
        (RunLog { header, records, checks, telemetry, footer: Some(footer), plan_check: None }, written)
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::clock::Timestamp;
    use crate::engine::{Secrets, ToolCall};
    use crate::record::{Outcome, RunEnding, TokenSource};

    const FOOTER: RunFooter = RunFooter {
        released_until: Timestamp::from_nanos(1),
        ended: Timestamp::from_nanos(2),
        ending: RunEnding::Finished,
        present_ns: Some(1),
        sessions: None,
        client: None,
        server: None,
    };

    fn known() -> RunLog {
        RunLog::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/runs/schema-1")).unwrap()
    }

    fn tokenizer() -> TokenCounter {
        let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/tiny-tokenizer.json");
        TokenCounter::open(path.to_str()).unwrap()
    }

    #[test]
    fn what_is_kept_is_on_disk_and_in_memory() {
        let known = known();
        let folder = tempfile::tempdir().unwrap();
        let keeper = RecordWriter::start(
            RunLogWriter::create(folder.path(), &known.header).unwrap(),
            CaptureText::No,
            AnswerJudge::new(&known.header.workload, Secrets::default()),
        );
        for record in &known.records {
            keeper.keep(FinishedRequest::from(record.clone()));
        }
        let sample = ClientSample { at: Timestamp::from_nanos(1), cpu_ns: 2, ..ClientSample::default() };
        keeper.client_keeper()(sample);
        let (RunLog { records, telemetry, .. }, written) = keeper.stop().finish(known.header, FOOTER);
        written.unwrap();
        assert_eq!((&records, telemetry.client.as_slice()), (&known.records, [sample].as_slice()));
        let log = RunLog::read(folder.path()).unwrap();
        assert_eq!((log.records, log.telemetry, log.footer), (records, telemetry, Some(FOOTER)));
    }

    #[test]
    fn every_text_of_an_answer_is_counted_and_the_log_gives_the_same_counts() {
        let mut known = known();
        let folder = tempfile::tempdir().unwrap();
        let texts = ["the river", "Explain how photosynthesis works.", "lookup", "{\"city\": \"Oslo\"}"];
        let said = AnswerText {
            reasoning: texts[0].into(),
            content: texts[1].into(),
            tool_calls: vec![ToolCall { name: texts[2].into(), arguments: texts[3].into() }],
        };
        let index = known.records.iter().position(|record| record.outcome == Outcome::Completed).unwrap();
        known.records[index].output_tokens_source = TokenSource::Chunks;
        let mut log = RunLogWriter::create(folder.path(), &known.header).unwrap();
        known.records.iter().for_each(|record| log.append(LogLine::Request(record)).unwrap());
        let answers = vec![UncountedAnswer::new(index, [said])];
        let mut collected = CollectedRun {
            records: known.records.clone(),
            checks: Vec::new(),
            telemetry: Telemetry::default(),
            answers,
            log: Ok(log),
        };
        let mut counted = Vec::new();
        collected.count(&tokenizer(), |done| {
            counted.push(done);
            ControlFlow::Continue(())
        });
        assert_eq!(counted, [1]);
        let (RunLog { records, .. }, written) = collected.finish(known.header, FOOTER);
        written.unwrap();
        let expected: u32 = texts.iter().map(|text| tokenizer().count(text)).sum();
        assert_eq!(records[index].output_tokens, u64::from(expected));
        assert_eq!(records[index].output_tokens_source, TokenSource::Tokenizer);
        assert_eq!(RunLog::read(folder.path()).unwrap().records, records);
    }

    #[test]
    fn a_count_that_is_ended_leaves_the_rest_as_it_was() {
        let mut known = known();
        known.records.truncate(1);
        let one = known.records[0].clone();
        let records: Vec<_> =
            (0..=BATCH as u64).map(|index| RequestRecord { index, ..one.clone() }).collect();
        let said = || AnswerText { content: "the river".into(), ..AnswerText::default() };
        let answers = (0..records.len()).map(|index| UncountedAnswer::new(index, [said()])).collect();
        let folder = tempfile::tempdir().unwrap();
        let log = RunLogWriter::create(folder.path(), &known.header);
        let telemetry = Telemetry::default();
        let mut collected = CollectedRun { records, checks: Vec::new(), telemetry, answers, log };
        collected.count(&tokenizer(), |_| ControlFlow::Break(()));
        let by_tokenizer = |record: &&RequestRecord| record.output_tokens_source == TokenSource::Tokenizer;
        assert_eq!(collected.records.iter().filter(by_tokenizer).count(), BATCH);
        assert!(!by_tokenizer(&collected.records.last().unwrap()));
    }
}
