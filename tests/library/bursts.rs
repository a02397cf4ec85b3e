//! Loads that are over before most of their answers: what is counted of them, and that the report makes sense.

use std::fmt::Write as _;

use crate::virtual_time::header;
use skyline::analysis::{Rule, Status, VerdictOutcome};
use skyline::experiment::{Limit, Prediction, Regime, predict};
use skyline::generator::{Schedule, survey};
use skyline::record::RunLog;
use skyline::report::{Extent, Style, documents, render};
use skyline::simulator::{BatchingConfig, Deployment, Efficiency, EngineModel, Fleet};
use skyline::workload::{Trace, WorkloadSpec};

/// A trace whose requests come at these moments, milliseconds, with the usual warm-up.
fn trace(moments: impl Iterator<Item = u64>) -> WorkloadSpec {
    trace_of(moments.map(|at| (at, 64)))
}

/// The same with the tokens of each answer.
fn trace_of(lines: impl Iterator<Item = (u64, u64)>) -> WorkloadSpec {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("burst.jsonl");
    let mut text = String::new();
    for (at, tokens) in lines {
        let hash_ids = "[]";
        writeln!(
            text,
            "{{\"timestamp\":{at},\"input_length\":512,\"output_length\":{tokens},\"hash_ids\":{hash_ids}}}"
        )
        .unwrap();
    }
    std::fs::write(&path, text).unwrap();
    let trace = Trace::whole(path.to_str().unwrap());
    let survey = |trace: &mut Trace, seed| survey(trace, seed).map_err(|error| error.to_string());
    let spec = WorkloadSpec::of_trace(&trace, 0, &survey).unwrap();
    // The requests are read again while they are run.
    let _kept = folder.keep();
    spec
}

/// Against Llama-3.1-8B on this accelerator.
fn run(spec: &WorkloadSpec, hardware: &str) -> (RunLog, Prediction) {
    let deployment = Deployment::new(hardware.parse().unwrap(), "llama-3.1-8b".parse().unwrap());
    let config = BatchingConfig::vllm(&deployment, Efficiency::default()).unwrap();
    let fleet = Fleet::of_one(EngineModel::Batching(Box::new(config)), 0);
    predict(header(spec), Schedule::draw(spec), &fleet, &[]).unwrap()
}

fn last_answer_s(log: &RunLog) -> f64 {
    log.records.iter().filter_map(|record| record.chunks.last_at()).max().unwrap().as_secs_f64()
}

fn near(figure: Option<f64>, expected: f64) -> bool {
    figure.is_some_and(|figure| (figure / expected - 1.0).abs() < 1e-6)
}

#[test]
fn a_hundred_requests_at_once_are_a_valid_run_with_rates_until_the_last_answer() {
    let spec = trace(std::iter::repeat_n(0, 100));
    assert_eq!(spec.warmup_s, 0.0, "a warm-up would hold all of them");
    let (log, found) = run(&spec, "a10g");
    let summary = &found.summary;
    assert_eq!(summary.verdict.outcome, VerdictOutcome::Valid, "{:?}", summary.verdict.reasons);
    for rule in [Rule::LittlesLaw, Rule::SteadyState] {
        let failed = |check: &&skyline::analysis::Check| check.outcome == Status::Missed;
        assert_eq!(summary.verdict.checks.iter().filter(|check| check.rule == rule).find(failed), None);
    }
    let until = last_answer_s(&log);
    assert!(near(summary.rates.completed_requests_per_s, 100.0 / until), "{:?}", summary.rates);
    assert!(near(summary.rates.output_tokens_per_s, 6_400.0 / until), "{:?}", summary.rates);
    assert!(near(summary.slo.goodput_per_s, 100.0 / until), "{:?}", summary.slo);
    assert_eq!(found.bottleneck.limit, Limit::Prefill);
    assert!(found.bottleneck.evidence.busy_share.unwrap() > 0.999, "{:?}", found.bottleneck);
    assert!(found.bottleneck.evidence.mean_batch.unwrap() > 30.0, "all steps: {:?}", found.bottleneck);
    assert!(!found.diagnosis.names(Regime::Overload), "{:#?}", found.diagnosis);

    let document = documents::run(summary, None, Some(&log));
    let text = render::text(&document, Style { width: 200, ..Style::PLAIN }, Extent::Full);
    for part in [
        "as in a trace, 100 requests within 1.00 ms · window 1.00 ms, answers counted for 25.5 s",
        "requests completed 3.91/s (until the last answer, 25.5 s)",
        "Throughput: requests over the 1.00 ms in which they came, answers over 25.5 s",
        "until the last answer\n",
    ] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
    for nonsense in ["completed 0/s", "at this rate", "OVERLOADED", "100,000 requests/s", "100,000/s"] {
        assert!(!text.contains(nonsense), "{nonsense:?} in {text}");
    }
}

#[test]
fn two_bursts_are_counted_until_their_last_answer_too() {
    let (log, found) = run(&trace((0..100).map(|i| i / 50 * 5_000)), "a10g");
    let summary = &found.summary;
    // The first burst is the warm-up, and its answers count where they came: in the window.
    let counted_s = last_answer_s(&log) - summary.window.start_s;
    assert!(near(summary.rates.completed_requests_per_s, 100.0 / counted_s), "{:?}", summary.rates);
    // An H100 has answered one burst before the next comes: the window shows its rates.
    let (_, found) = run(&trace((0..400).map(|i| i / 50 * 5_000)), "h100");
    assert_eq!(found.summary.window.answers_end_s, None);
}

#[test]
fn a_few_short_answers_make_a_burst_no_overload() {
    let moment = |i| if i == 99 { 1_500 } else { 0 };
    for short in [0, 2] {
        let tokens = |i| if i < short { 20 } else { 900 };
        let (_, found) = run(&trace_of((0..100).map(|i| (moment(i), tokens(i)))), "h100");
        assert_eq!(found.summary.verdict.outcome, VerdictOutcome::Valid, "{:?}", found.summary.verdict.reasons);
    }
}

/// Half a minute of five times too much load is no burst, though its trace ends and most answers come later.
#[test]
fn an_overload_whose_trace_ends_stays_an_overload() {
    let (_, found) = run(&trace((0..600).map(|i| i * 50)), "a10g");
    let summary = &found.summary;
    assert_eq!(summary.verdict.outcome, VerdictOutcome::Overloaded, "{:?}", summary.verdict);
    let (offered, completed) = (summary.rates.offered_requests_per_s, summary.rates.completed_requests_per_s);
    assert!((19.9..20.1).contains(&offered.unwrap()) && completed.unwrap() < 5.0, "{:?}", summary.rates);
}
