//! Whatever is written can be read: the writer and the reader of logs keep the same rules.

use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;
use skyline::clock::Timestamp;
use skyline::record::{
    CheckRecord, CheckResult, ChunkTrain, CountedAnswer, Counter, Failure, FailureKind, FinishReason, Gauge,
    LateStamps, LogLine, Outcome, Phase, Reading, RequestRecord, RunHeader, RunLog, RunLogError, RunLogWriter,
    ServerTime, SharedPrefix, TimeHistogram, TokenChunk, TokenSource, Turn, UnendedRequest, Usage, Validity,
};
use skyline::workload::{Conversation, Distribution, Priority, ThinkTime};

/// The header of a stored run, with a metrics page; its one class has conversations where `talks`.
fn header(talks: bool) -> RunHeader {
    let stored = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/runs/schema-8");
    let mut header = RunLog::read(&stored).unwrap().header;
    header.workload.classes[0].conversation = talks.then(|| Conversation {
        turns: Distribution::Constant { value: 3 },
        think_time_s: ThinkTime::default(),
        first_input_tokens: None,
        max_context_tokens: None,
    });
    header
}

/// A count that is usual, at the limit, beyond it, or absurd.
fn tokens() -> impl Strategy<Value = u64> {
    prop_oneof![8 => 0..10_000_u64, 1 => Usage::MOST - 1..=Usage::MOST + 1, 1 => any::<u64>()]
}

/// A moment of the run, or any.
fn moment() -> impl Strategy<Value = Timestamp> {
    prop_oneof![20 => 0..3_000_000_000_u64, 1 => any::<u64>()].prop_map(Timestamp::from_nanos)
}

fn usage() -> impl Strategy<Value = Usage> {
    (tokens(), tokens(), prop::option::of(tokens()), prop::option::of(tokens())).prop_map(
        |(prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens)| Usage {
            prompt_tokens,
            completion_tokens,
            cached_tokens,
            reasoning_tokens,
        },
    )
}

fn chunks() -> impl Strategy<Value = ChunkTrain> {
    let chunk = (moment(), prop_oneof![9 => 0..9_u32, 1 => any::<u32>()]);
    prop::collection::vec(chunk, 0..30).prop_map(|mut chunks| {
        chunks.sort_unstable();
        chunks.into_iter().map(|(at, tokens)| TokenChunk { at, tokens, choice: 0 }).collect()
    })
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        4 => Just(Outcome::Completed),
        1 => Just(Outcome::Censored),
        1 => Just(Outcome::Cancelled),
        1 => (any::<u16>(), any::<String>())
            .prop_map(|(status, text)| Outcome::Failed(Failure::new(FailureKind::HttpStatus(status), text).into())),
    ]
}

type Moments = (Timestamp, Timestamp, [Option<Timestamp>; 5], Timestamp);

fn moments() -> impl Strategy<Value = Moments> {
    let optional = || prop::option::of(moment());
    let other = [optional(), optional(), optional(), optional(), optional()];
    // In order more often than not.
    (moment(), moment(), other, moment(), prop::bool::weighted(0.8)).prop_map(|(a, b, mut other, c, ordered)| {
        let mut all = [a, b, c];
        if ordered {
            all.sort_unstable();
            other.iter_mut().flatten().for_each(|at| *at = (*at).clamp(all[1], all[2]));
        }
        (all[0], all[1], other, all[2])
    })
}

fn record() -> impl Strategy<Value = RequestRecord> {
    let plan = (0..40_u64, prop::bool::weighted(0.95), prop::option::weighted(0.1, (0..3_u32, 0..40_u32)), 0..6_u32);
    let answer = (chunks(), outcome(), prop::option::of(usage()), tokens(), any::<bool>(), any::<String>());
    (plan, moments(), answer, any::<bool>()).prop_map(|(plan, moments, answer, flag)| {
        let (index, of_plan, prefix, number) = plan;
        let (scheduled, dispatched, other, ended) = moments;
        let [admitted, sent, headers, first_answer, whole_answer] = other;
        let (chunks, outcome, usage, output_tokens, chunks_counted, word) = answer;
        let mut late_stamps = LateStamps::default();
        late_stamps.add(chunks.len(), std::time::Duration::from_nanos(output_tokens));
        let turn =
            flag.then_some(Turn { session: index, number, of: Some(6), history_tokens: number, ..Turn::default() });
        RequestRecord {
            index: turn.map_or(index, |turn| Turn::index_of(turn.session, turn.number)),
            phase: if of_plan { Phase::Measured } else { Phase::Cooldown },
            class: u16::from(!of_plan && flag),
            priority: if of_plan { Priority::Medium } else { Priority::High },
            prefix: prefix.map(|(number, tokens)| SharedPrefix { number, tokens }),
            turn: turn.map(Box::new),
            input_tokens_asked: 8,
            output_tokens_asked: 4,
            scheduled,
            dispatched,
            admitted,
            sent,
            headers,
            chunks,
            chunks_counted,
            first_answer,
            whole_answer,
            ended,
            outcome,
            finish_reason: flag.then_some(FinishReason::Other(word)),
            usage,
            output_tokens,
            output_tokens_source: if usage.is_some() { TokenSource::Usage } else { TokenSource::Chunks },
            merged_reads: number,
            late_stamps: (late_stamps.count > 0).then(|| late_stamps.into()),
            validity: flag.then_some(Validity::CutAtLimit),
            ..RequestRecord::default()
        }
    })
}

fn value() -> impl Strategy<Value = f64> {
    prop_oneof![9 => 0.0..1e6, 1 => any::<f64>(), 1 => Just(Reading::LARGEST)]
}

fn reading() -> impl Strategy<Value = Reading> {
    (0..2_u16, moment(), moment(), value(), value(), value()).prop_map(|(source, asked, answered, a, b, c)| Reading {
        source,
        asked,
        answered,
        gauges: BTreeMap::from([(Gauge::Running, a), (Gauge::KvUsage, b)]),
        counters: BTreeMap::from([(Counter::EnergyJ, b), (Counter::PromptTokens, c)]),
        histograms: BTreeMap::from([(ServerTime::Ttft, TimeHistogram { count: a, sum_s: b, buckets: vec![(c, a)] })]),
        ..Reading::default()
    })
}

fn check() -> impl Strategy<Value = CheckRecord> {
    (0..2_u16, prop::option::of(moment()), any::<String>(), prop::option::of(usage())).prop_map(
        |(check, released, text, usage)| CheckRecord {
            check,
            released,
            result: CheckResult::Unmet { why: text.clone() },
            excerpt: Some(text),
            usage,
        },
    )
}

proptest! {
    /// Whatever a run hands to the writer, the reader finds no fault with the log, and reads all that was taken as it was.
    #[test]
    fn whatever_is_written_is_read_back(
        records in prop::collection::vec(record(), 0..12),
        readings in prop::collection::vec(reading(), 0..4),
        checks in prop::collection::vec(check(), 0..3),
        counts in prop::collection::vec((0..40_u64, tokens()), 0..3),
        talks in any::<bool>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mut expected = RunLog::begun(header(talks));
        let mut writer = RunLogWriter::create(folder.path(), &expected.header).unwrap();
        let mut taken = |line: LogLine<'_>| match writer.append(line) {
            Ok(()) => true,
            Err(RunLogError::Impossible { .. }) => false,
            Err(error) => panic!("{error}"),
        };
        for record in records {
            let begun = UnendedRequest { index: record.index, phase: record.phase, dispatched: record.dispatched };
            prop_assert!(taken(LogLine::InFlight(&[begun])));
            let mut record = record.possible();
            // A server that ends some answers with a reason ends all good ones so.
            if record.outcome == Outcome::Completed {
                record.finish_reason.get_or_insert(FinishReason::Stop);
            }
            if taken(LogLine::Request(&record)) {
                expected.records.push(record);
            }
        }
        for reading in readings.into_iter().map(Reading::possible) {
            if taken(LogLine::Reading(&reading)) {
                expected.telemetry.readings.push(reading);
            }
        }
        for check in checks.into_iter().map(CheckRecord::possible) {
            if taken(LogLine::Check(&check)) {
                expected.checks.push(check);
            }
        }
        for (index, tokens) in counts {
            let uncounted = expected.records.iter_mut().rfind(|record| record.index == index && record.is_uncounted());
            if let Some(record) = uncounted
                && taken(LogLine::Counted(&CountedAnswer { index, tokens }))
            {
                record.count(tokens);
            }
        }
        writer.flush().unwrap();
        let mut log = RunLog::read(folder.path()).unwrap();
        log.unended.clear();
        prop_assert_eq!(&log.damage.first, &Vec::<String>::new());
        prop_assert_eq!(log, expected);
    }

    /// What a run can have is stored as it is.
    #[test]
    fn what_is_possible_stays_as_it_is(record in record()) {
        let possible = record.clone().possible();
        let folder = tempfile::tempdir().unwrap();
        let mut writer = RunLogWriter::create(folder.path(), &header(record.turn.is_some())).unwrap();
        if writer.append(LogLine::Request(&record)).is_ok() && record.output_tokens_source == TokenSource::Usage {
            prop_assert_eq!(possible, record);
        }
    }
}

/// A count from 2^36 on: the reader refused it, and the log with it.
#[test]
fn counts_that_are_too_large_are_left_out() {
    let stored = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/runs/schema-8");
    let sound = RunLog::read(&stored).unwrap().records.remove(0);
    let usage = |completion_tokens| Usage { completion_tokens, ..sound.usage.unwrap() };
    let with = |usage: Usage| {
        RequestRecord { usage: Some(usage), output_tokens: usage.completion_tokens, ..sound.clone() }.possible()
    };
    assert_eq!(with(usage(Usage::MOST)).output_tokens, Usage::MOST);
    let left = with(usage(Usage::MOST + 1));
    assert_eq!((left.usage, left.output_tokens, left.output_tokens_source), (None, 4, TokenSource::ChunkCounts));
    assert_eq!(left.outcome, Outcome::Completed);
}

/// Moments that no request can have are not stored; the request failed by a fault of this program.
#[test]
fn a_request_of_impossible_moments_has_failed() {
    let stored = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/runs/schema-8");
    let sound = RunLog::read(&stored).unwrap().records.remove(0);
    let broken = RequestRecord { headers: Some(Timestamp::from_nanos(u64::MAX)), ..sound.clone() }.possible();
    let Outcome::Failed(failure) = &broken.outcome else { panic!("{:?}", broken.outcome) };
    assert_eq!(failure.reason, FailureKind::Internal);
    assert!(failure.message.starts_with("its moments are impossible: it ended at"), "{}", failure.message);
    assert_eq!((broken.scheduled, broken.ended, broken.headers), (sound.scheduled, sound.dispatched, None));
}
