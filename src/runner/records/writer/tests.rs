//! What the writer stores of a run.

use std::path::{Path, PathBuf};

use std::ops::ControlFlow;

use super::super::collected::BATCH;
use super::*;
use crate::clock::Timestamp;
use crate::engine::{AnswerText, Secrets, ToolCall};
use crate::generator::{Datasets, TokenCounter};
use crate::record::{Outcome, Phase, RecordRef, RequestRecord, RunEnding, RunFooter, RunHeader, RunLog, TokenSource};
use crate::workload::WorkloadSpec;

const FOOTER: RunFooter = RunFooter {
    released_until: Timestamp::from_nanos(1),
    ended: Timestamp::from_nanos(2),
    ending: RunEnding::Finished,
    breaker: None,
    present_ns: Some(1),
    sessions: None,
    client: None,
    server: None,
    addresses: Vec::new(),
    profile: None,
};

fn known() -> RunLog {
    RunLog::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/runs/schema-1")).unwrap()
}

fn tokenizer() -> TokenCounter {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/tiny-tokenizer.json");
    TokenCounter::open(path.to_str()).unwrap()
}

fn collected(header: &RunHeader, records: &[RequestRecord], folder: &Path) -> CollectedRun {
    let log = RunLogWriter::create(folder, header).unwrap();
    let mut collected = CollectedRun::new(log);
    for record in records {
        collected.append(LogLine::Request(record));
    }
    collected
}

#[test]
fn what_is_kept_is_on_disk_and_read_back() {
    let known = known();
    let folder = tempfile::tempdir().unwrap();
    let keeper = RecordWriter::start(
        RunLogWriter::create(folder.path(), &known.header).unwrap(),
        CaptureText::No,
        AnswerJudge::new(&known.header.workload, Secrets::default(), true),
    )
    .unwrap();
    for record in known.records.iter() {
        keeper.keep(FinishedRequest::from(RequestRecord::clone(&record)));
    }
    let sample = ClientSample { at: Timestamp::from_nanos(1), cpu_ns: 2, ..ClientSample::default() };
    keeper.client_keeper()(sample);
    let (log, written) = keeper.stop().finish(known.header, &FOOTER).unwrap();
    written.unwrap();
    assert_eq!(log.records, known.records);
    assert_eq!((&log.telemetry.client, &log.footer), (&vec![sample], &Some(FOOTER)));
    assert_eq!(RunLog::read(folder.path()).unwrap(), log);
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
    let place = known.records.iter().position(|record| record.outcome == Outcome::Completed).unwrap();
    known.records[place].output_tokens_source = TokenSource::Chunks;
    let mut collected = collected(&known.header, &known.records, folder.path());
    collected.set_aside(known.records[place].index, [said]);
    let mut counted = Vec::new();
    collected.count(&tokenizer(), |done| {
        counted.push(done);
        ControlFlow::Continue(())
    });
    assert_eq!(counted, [1]);
    let (log, written) = collected.finish(known.header, &FOOTER).unwrap();
    written.unwrap();
    let expected: u32 = texts.iter().map(|text| tokenizer().count(text)).sum();
    assert_eq!(log.records[place].output_tokens, u64::from(expected));
    assert_eq!(log.records[place].output_tokens_source, TokenSource::Tokenizer);
    assert_eq!(RunLog::read(folder.path()).unwrap().records, log.records);
}

#[test]
fn a_count_that_is_ended_leaves_the_rest_as_it_was() {
    let known = known();
    let mut one = known.records.as_slice().iter().find(|record| record.outcome == Outcome::Completed).unwrap().clone();
    one.output_tokens_source = TokenSource::Chunks;
    let records: Vec<_> = (0..=BATCH as u64).map(|index| RequestRecord { index, ..one.clone() }).collect();
    let folder = tempfile::tempdir().unwrap();
    let mut collected = collected(&known.header, &records, folder.path());
    for record in &records {
        let said = AnswerText { content: "the river".into(), ..AnswerText::default() };
        collected.set_aside(record.index, [said]);
    }
    collected.count(&tokenizer(), |_| ControlFlow::Break(()));
    let (log, _) = collected.finish(known.header, &FOOTER).unwrap();
    let by_tokenizer = |record: &RecordRef<'_>| record.output_tokens_source == TokenSource::Tokenizer;
    assert_eq!(log.records.iter().filter(by_tokenizer).count(), BATCH);
    assert!(!by_tokenizer(&log.records.last().unwrap()));
}

/// Requests that ended before anything was written are not named as in flight. Those that were dispatched and did not
/// end are.
#[test]
fn the_log_names_what_is_in_flight_and_not_what_has_ended() {
    let known = known();
    let folder = tempfile::tempdir().unwrap();
    let mut collected = collected(&known.header, &[], folder.path());
    let judge = AnswerJudge::new(&known.header.workload, Secrets::default(), true);
    let mut in_flight = Vec::new();
    let mut take = |item| take(item, CaptureText::No, &judge, &mut collected, &mut in_flight);
    for index in [3, 4, 5] {
        let at = Timestamp::from_nanos(index);
        take(RecordItem::Dispatched(UnendedRequest { index, phase: Phase::Measured, dispatched: at }));
    }
    let ended = RequestRecord { index: 4, ..RequestRecord::default() };
    take(RecordItem::Request(Box::new(FinishedRequest::from(ended))));
    assert_eq!(in_flight.iter().map(|request| request.index).collect::<Vec<_>>(), [3, 5]);
}

/// Answers that a program scores are in the log at once. Their scores come after the run.
#[test]
fn a_program_scores_after_the_run_and_the_log_has_the_score() {
    let mut known = known();
    let text = r#"
        name = "scored"
        arrival = { kind = "poisson", rate_per_s = 1 }
        [[classes]]
        name = "c"
        output_tokens = { kind = "constant", value = 9 }
        [classes.prompt]
        kind = "dataset"
        path = "PATH"
        score = { rule = "command", column = "answer", command = "grep -q right" }
    "#;
    let folder = tempfile::tempdir().unwrap();
    let rows = folder.path().join("a.jsonl");
    std::fs::write(&rows, "{\"prompt\": \"a\", \"answer\": 1}\n{\"prompt\": \"b\", \"answer\": 2}\n").unwrap();
    let spec = WorkloadSpec::from_toml(&text.replace("PATH", rows.to_str().unwrap()), "a test").unwrap();
    let (spec, datasets) = Datasets::open(spec, &TokenCounter::Estimate).unwrap();
    let priority = spec.classes[0].priorities[0].priority;
    known.header.workload = spec;
    let judge = AnswerJudge::new(&known.header.workload, Secrets::default(), true).scoring_by(datasets.answer_keys());
    let mut collected = collected(&known.header, &[], folder.path());
    let complete = known.records.as_slice().iter().find(|record| record.outcome == Outcome::Completed).unwrap().clone();
    for (index, said) in [(0, "right"), (1, "wrong")] {
        let record = RequestRecord { index, class: 0, priority, prefix: None, ..complete.clone() };
        let said = AnswerText { content: said.to_owned(), ..AnswerText::default() };
        let record = judge.request(record, Some(index), Some(&said));
        assert_eq!(record.score, None, "not yet");
        collected.append(LogLine::Request(&record));
        collected.set_aside_unscored(&judge.unscored(&record, Some(index), Some(&said)).unwrap());
    }
    assert_eq!(collected.unscored(), 2);
    let program = known.header.workload.classes[0].scoring().unwrap().program();
    assert_eq!(collected.score(&[program], |_| ControlFlow::Continue(())), None);
    let (log, written) = collected.finish(known.header, &FOOTER).unwrap();
    written.unwrap();
    let scores: Vec<_> = log.records.iter().map(|record| record.score.map(|score| (score.row, score.right))).collect();
    assert_eq!(scores, [Some((0, true)), Some((1, false))]);
    assert_eq!(RunLog::read(folder.path()).unwrap().records, log.records);
}
