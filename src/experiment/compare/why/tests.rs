//! Figures counted by hand, and those that the tools printed in their own files.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::*;
use crate::analysis::summarise;
use crate::analysis::test_runs::{ms, record, run};
use crate::experiment::compare::ComparedSide;
use crate::foreign::ForeignFile;
use crate::record::{Phase, RequestRecord};

fn ours(records: Vec<RequestRecord>) -> AnySide {
    let log = run(1_000, records);
    let summary = summarise(&log, &[]);
    let side = ComparedSide::of_run("run".to_owned(), &log, summary, [].iter());
    AnySide::Ours(Box::new(side), Some(Box::new(log)))
}

fn foreign(file: &Path, number: usize) -> AnySide {
    let mut runs = ForeignFile::read(file, None).unwrap().unwrap().runs;
    AnySide::Foreign("other".to_owned(), Box::new(runs.swap_remove(number)))
}

fn sample(name: &str, number: usize) -> AnySide {
    foreign(&PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/foreign").join(name), number)
}

/// A result of vLLM's with these figures beside what it must have.
fn vllm(figures: &Value) -> AnySide {
    let desk = tempfile::tempdir().unwrap();
    let file = desk.path().join("vllm.json");
    let mut result = json!({"completed": 3, "failed": 0, "model_id": "m", "backend": "openai-chat", "duration": 0.5,
        "total_input_tokens": 9, "total_output_tokens": 33});
    result.as_object_mut().unwrap().extend(figures.as_object().unwrap().clone());
    std::fs::write(&file, result.to_string()).unwrap();
    foreign(&file, 0)
}

/// An answer of eleven tokens, 10 ms apart. Its stream ends 10 ms after the last. Until it was sent it waited 20 ms
/// for a slot, and 5 ms for the client.
fn answer(index: u64, scheduled: u64, headers: u64, first: u64) -> RequestRecord {
    let built = record(index).sent_at(scheduled, scheduled, scheduled + 25).paced(first, 10, 11);
    let mut record = built.usage(100, 11).build();
    record.admitted = Some(ms(scheduled + 20));
    record.headers = Some(ms(headers));
    record.ended = ms(first + 110);
    record
}

/// A warm-up request, two of the window, and one that was cut off.
fn load() -> Vec<RequestRecord> {
    let mut early = answer(0, 0, 45, 55);
    early.phase = Phase::Warmup;
    vec![
        early,
        answer(1, 100, 135, 165),
        answer(2, 200, 235, 285),
        record(3).sent_at(300, 300, 300).censored(1_000).build(),
    ]
}

/// The figures that a side reports, each as counted by these definitions.
fn counted_again(side: &AnySide, by: &Definitions) -> Vec<(FigureKey, FigureRange, FigureRange)> {
    let keys: Vec<FigureKey> = selections::under_one_name().collect();
    let found = Recount::new(side).unwrap().figures(by, keys.iter());
    let reported = keys.iter().map(|key| side.under_one_name(key));
    let both = reported.zip(found).zip(&keys);
    both.filter_map(|((reported, found), key)| Some((key.clone(), reported?.into(), found?.into()))).collect()
}

fn range(low: f64, high: f64) -> [f64; 2] {
    [low, high]
}

/// Each step with the range of a figure after it. Infinite where nothing bounds it.
fn steps(why: &Explanation, figure: &str) -> Vec<(Definition, [f64; 2])> {
    let key: FigureKey = figure.parse().unwrap();
    let after = |step: &DefinitionStep| {
        let FigureRange { low, high } = step.figures.iter().find(|moved| moved.figure == key)?.after;
        Some((step.to, range(low, high.unwrap_or(f64::INFINITY))))
    };
    why.steps.iter().filter_map(after).collect()
}

fn assert_steps(why: &Explanation, figure: &str, expected: &[(Definition, [f64; 2])]) {
    let found = steps(why, figure);
    let same = |one: f64, other: f64| one == other || (one - other).abs() < 1e-9;
    let alike = found
        .iter()
        .zip(expected)
        .all(|((step, found), (wanted, range))| step == wanted && same(found[0], range[0]) && same(found[1], range[1]));
    assert!(alike && found.len() == expected.len(), "{figure}: {found:?}");
}

#[test]
fn a_run_is_counted_as_vllm_counts_one_definition_after_the_other() {
    use Definition::{
        CompletedOnly, FirstEvent, FromSend, GapPerChunk, LastEvent, SlotLeftOut, WholeDuration, WholeRun,
    };
    let theirs = json!({"median_ttft_ms": 25.0, "p99_ttft_ms": 90.0, "median_tpot_ms": 9.0, "p99_itl_ms": 10.0,
        "p99_e2el_ms": 170.0});
    let why = Explanation::new(&ours(load()), &vllm(&theirs)).unwrap();
    assert_eq!((why.from.as_str(), why.to.as_str(), why.is_counted_again), ("run", "other", true));
    let once = |value| range(value, value);
    assert_steps(
        &why,
        "p50 ttft",
        &[
            // 55, 65, 85, over 700; then without the last; less 20 each; less 5 each; role chunks 10, 30, 50 earlier.
            (WholeRun, once(75.0)),
            (CompletedOnly, once(65.0)),
            (SlotLeftOut, once(45.0)),
            (FromSend, once(40.0)),
            (FirstEvent, range(10.0, 40.0)),
        ],
    );
    assert_steps(
        &why,
        "p50 tpot",
        &[
            (WholeRun, once(10.0)),
            (CompletedOnly, once(10.0)),
            // 10 intervals: 100 ms and 10, 30 or 50 before; then 10 after.
            (FirstEvent, range(10.0, 13.0)),
            (LastEvent, range(10.0, 14.0)),
        ],
    );
    // 130, 140, 160 from sending to the last text, the stream's end 10 later.
    assert_eq!(steps(&why, "p99 e2e").last().unwrap().0, LastEvent);
    let e2e = steps(&why, "p99 e2e").last().unwrap().1;
    assert!((e2e[0] - 159.6).abs() < 1e-9 && (e2e[1] - 169.6).abs() < 1e-9, "{e2e:?}");
    // Three answers and 33 tokens between 25 and 395 ms.
    assert_steps(&why, "request_rate", &[(WholeDuration, once(3.0 / 0.37))]);
    assert_steps(&why, "output_tokens_per_s", &[(WholeDuration, once(33.0 / 0.37))]);
    assert_steps(&why, "p99 itl", &[(WholeRun, once(10.0)), (CompletedOnly, once(10.0)), (GapPerChunk, once(10.0))]);
    let explained = |name: &str| {
        let key: FigureKey = name.parse().unwrap();
        why.figures.iter().find(|figure| figure.figure == key).unwrap().unexplained.unwrap()
    };
    assert_eq!(explained("p50 ttft"), FigureRange { low: -15.0, high: Some(15.0) });
    assert!((explained("request_rate").low - (3.0 / 0.5 - 3.0 / 0.37)).abs() < 1e-9);
    let ranges: Vec<_> = why.steps.iter().filter(|step| step.range.is_some()).map(|step| step.to).collect();
    assert_eq!(ranges, [FirstEvent, LastEvent]);
    assert!(why.steps.iter().all(|step| step.missing.is_none()));
}

#[test]
fn a_run_counted_by_its_own_definitions_says_what_it_reports() {
    let side = ours(load());
    let by = side.definitions();
    let again = counted_again(&side, &by);
    assert_eq!(again.len(), 5, "the rates of a window are no totals");
    for (key, first, found) in again {
        assert_eq!(first, found, "{key}");
    }
}

#[test]
fn gaps_of_chunks_are_not_gaps_of_tokens() {
    let one = record(0).sent_at(0, 0, 0).chunks(&[(100, 1), (110, 2), (140, 1)]).usage(100, 4).build();
    let why = Explanation::new(&ours(vec![one]), &vllm(&json!({"p99_itl_ms": 29.8}))).unwrap();
    // 5, 5 and 30 ms of tokens, 10 and 30 of chunks.
    let itl = why.figures.iter().find(|figure| figure.figure.to_string() == "p99 itl").unwrap();
    assert!((itl.first.low - 29.5).abs() < 1e-9 && (itl.counted.low - 29.8).abs() < 1e-9, "{itl:?}");
}

#[test]
fn requests_of_other_tools_counted_by_their_own_definitions_say_what_they_printed() {
    for (name, number, exact) in
        [("guidellm.json", 0, 4), ("guidellm.json", 1, 4), ("vllm.json", 0, 5), ("vllm-python.json", 0, 5)]
    {
        let side = sample(name, number);
        let again = counted_again(&side, &side.definitions());
        assert_eq!(again.len(), exact, "{name}");
        for (key, printed, found) in again {
            let (printed, found) = (printed.low, found.low);
            assert!((printed - found).abs() < 1e-6 * printed, "{name}, {key}: {printed}, {found}");
        }
    }
}

#[test]
fn what_a_file_does_not_allow_is_said() {
    use Definition::{
        EachToken, FirstEvent, FirstText, Interpolated, LastEvent, NearestRank, Overlapping, StreamEnd, WholeRun,
    };
    let (guidellm, vllm_file) = (sample("guidellm.json", 1), sample("vllm.json", 0));
    let why = Explanation::new(&guidellm, &vllm_file).unwrap();
    let missing = |why: &Explanation| -> Vec<_> {
        why.steps.iter().filter(|step| step.missing.is_some()).map(|step| step.to).collect()
    };
    assert_eq!(missing(&why), [WholeRun, FirstEvent]);
    // Its median is the seventh of twelve; ours lies between the sixth and the seventh.
    assert_steps(
        &why,
        "p50 ttft",
        &[(Interpolated, [f64::midpoint(51.244_497_299_194_336, 54.934_501_647_949_22); 2])],
    );
    // The other way round the role chunk cannot be taken back, and the rest can.
    let back = Explanation::new(&vllm_file, &guidellm).unwrap();
    assert_eq!(missing(&back), [Overlapping, FirstText, StreamEnd]);
    assert_eq!(steps(&back, "p50 tpot").iter().map(|(step, _)| *step).collect::<Vec<_>>(), [EachToken, NearestRank]);
    // AIPerf's own tokenizer counted other tokens than the server.
    let aiperf = Explanation::new(&sample("aiperf", 0), &vllm_file).unwrap();
    assert_eq!(missing(&aiperf), [FirstEvent, LastEvent]);
    assert_eq!(steps(&aiperf, "p50 tpot").len(), 1);
    // A run stands first, whichever side it is.
    let turned = Explanation::new(&vllm_file, &ours(load())).unwrap();
    assert_eq!((turned.from.as_str(), turned.to.as_str()), ("run", "other"));
    assert!(Explanation::new(&vllm_file, &sample("vllm-python.json", 0)).is_none(), "they count alike");
    let export = vllm(&json!({"skyline_version": "0.1.0", "median_ttft_ms": 40.0}));
    let of_export = Explanation::new(&ours(load()), &export).unwrap();
    let aspects: Vec<_> = of_export.steps.iter().map(|step| step.aspect).collect();
    assert_eq!(aspects, [Aspect::CutOff, Aspect::Slot, Aspect::Origin, Aspect::Itl], "written by Skyline itself");
    let alone = Explanation::new(&vllm(&json!({})), &sample("guidellm.json", 0)).unwrap();
    assert_eq!((alone.from.as_str(), alone.is_counted_again), ("other", true));
}
