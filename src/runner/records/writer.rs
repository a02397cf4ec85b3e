//! Checks answers and writes records while a run is on, off the measured thread.

use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use super::collected::{CollectedRun, UncountedAnswer};
use crate::engine::{AnswerText, CaptureText, CapturedText, Secrets};
use crate::record::{
    CheckRecord, CheckResult, ClientSample, FinishReason, LogLine, Outcome, Reading, RequestRecord,
    RunLogWriter, Telemetry, Validity,
};
use crate::runner::checks::FinishedCheck;
use crate::runner::request_run::FinishedRequest;
use crate::units::cut;
use crate::workload::{AnswerShape, GoldenCheck, WorkloadSpec};

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

/// What the answers of a run must contain.
#[derive(Clone, Debug)]
pub struct AnswerJudge {
    shapes: Vec<Option<AnswerShape>>,
    checks: Vec<GoldenCheck>,
    /// Secrets that no excerpt may repeat.
    secrets: Secrets,
}

impl AnswerJudge {
    /// The judge of a workload's answers.
    pub fn new(workload: &WorkloadSpec, secrets: Secrets) -> Self {
        let shapes = workload.classes.iter().map(|class| class.answer.clone()).collect();
        Self { shapes, checks: workload.checks.clone(), secrets }
    }

    /// The record of a request, with the validity of its answer where its class has an answer format.
    pub fn request(&self, mut record: RequestRecord, said: Option<&AnswerText>) -> RequestRecord {
        if let Some(Some(shape)) = self.shapes.get(usize::from(record.class)) {
            record.validity = Some(validity(shape, &record, said));
        }
        record
    }

    /// The record of a golden prompt.
    pub fn check(&self, asked: FinishedCheck) -> CheckRecord {
        let FinishedCheck { check, released, end } = asked;
        let usage = end.as_ref().and_then(|end| end.usage);
        let (result, excerpt) = match end.map(|end| (end.result, end.captured)) {
            None => (CheckResult::CutOff, None),
            Some((Err(failure), _)) => (CheckResult::Unanswered(failure), None),
            Some((Ok(()), captured)) => {
                let excerpt = |text| cut(self.secrets.hide(text), CheckRecord::EXCERPT_LIMIT);
                let said = captured.map(|captured| captured.read().content).unwrap_or_default();
                let expect = self.checks.get(usize::from(check)).map(|check| &check.expect);
                let result = match expect.and_then(|expect| expect.unmet(&said)) {
                    None => CheckResult::Passed,
                    Some(why) => CheckResult::Unmet { why: excerpt(why) },
                };
                (result, Some(excerpt(said)))
            }
        };
        CheckRecord { check, released, result, excerpt, usage }
    }
}

fn validity(shape: &AnswerShape, record: &RequestRecord, said: Option<&AnswerText>) -> Validity {
    let (Outcome::Completed, Some(said)) = (&record.outcome, said) else { return Validity::NotCompleted };
    let calls = said.tool_calls.iter().map(|call| (call.name.as_str(), call.arguments.as_str()));
    match shape.judge(&said.content, calls) {
        Ok(()) => Validity::Valid,
        Err(_) if record.finish_reason == Some(FinishReason::Length) => Validity::CutAtLimit,
        Err(fault) => Validity::Invalid { fault },
    }
}
