//! Result files in vLLM's form.

use serde_json::{Value, json};

use super::*;
use crate::analysis::test_runs::{record, run};
use crate::analysis::{Metric, Quantile, summarise};
use crate::record::{Failure, FailureKind, Outcome, PlanFacts, RunLog};
use crate::report::sample_runs::{hostile, report, three};
use crate::workload::{ArrivalPattern, Conversation, Distribution, Slo, Spike, ThinkTime};

fn written(log: &RunLog) -> Value {
    let mut out = Vec::new();
    report(log, &[], |report| vllm_json(report, &mut out)).unwrap();
    serde_json::from_slice(&out).unwrap()
}

#[test]
fn a_whole_file() {
    let mut log = three();
    log.header.workload.classes[0].priorities[0].slo = Slo { ttft_ms: Some(500.0), ..Slo::default() };
    insta::assert_snapshot!(serde_json::to_string_pretty(&written(&log)).unwrap());
}

#[test]
fn figures_are_over_what_succeeded_and_from_sending() {
    // Sent 1 ms after their moments: TTFT 99, 199 and 299 ms from sending; four tokens 10 ms apart.
    let records = (0..3).map(|i| {
        let at = i * 1_000;
        record(i).sent_at(at, at, at + 1).paced(at + 100 + i * 100, 10, 4).usage(50, 4).build()
    });
    let mut log = run(3_000, records.collect());
    log.records.push(record(3).sent_at(2_500, 2_500, 2_501).censored(4_000).build());
    log.header.plan.measured_requests += 1;
    let file = written(&log);
    let about = |key: &str, expected: f64| {
        let found = file[key].as_f64().unwrap();
        assert!((found - expected).abs() < 1e-9, "{key}: {found} and not {expected}");
    };
    about("mean_ttft_ms", 199.0);
    about("median_ttft_ms", 199.0);
    // numpy's std: √((100² + 0 + 100²) / 3).
    about("std_ttft_ms", (20_000.0_f64 / 3.0).sqrt());
    about("p90_ttft_ms", 279.0);
    about("mean_tpot_ms", 10.0);
    about("mean_itl_ms", 10.0);
    about("mean_e2el_ms", 229.0);
    // What came in the window of 3 s.
    about("duration", 3.0);
    about("request_throughput", 1.0);
    about("output_throughput", 4.0);
    about("total_token_throughput", 54.0);
    about("max_output_tokens_per_s", 4.0);
    about("max_concurrent_requests", 1.0);
    assert_eq!((&file["completed"], &file["failed"], &file["num_prompts"]), (&json!(3), &json!(1), &json!(4)));
    assert_eq!(file["request_goodput"], json!(null));
}

/// Four requests at once, each of five tokens. The first token of the first comes after 100 ms, that of each request
/// after it 100 ms later.
fn all_at_once() -> RunLog {
    let records = (0..4).map(|i| record(i).sent_at(0, i, i).paced(i + 100 * (i + 1), 50, 5).usage(50, 5).build());
    let mut log = run(1, records.collect());
    log.header.workload.requests = Some(4);
    log.header.workload.arrival = ArrivalPattern::Users { users: 4, think_time_s: ThinkTime::default(), ramp_s: 0.0 };
    log.header.plan.window_end = PlanFacts::OPEN_END;
    log
}

/// vLLM's `calculate_metrics`, as we read it, gives these figures of the log. The report has the same.
#[test]
fn a_run_of_so_many_requests_has_the_figures_of_vllm_and_of_the_screen() {
    let log = all_at_once();
    let duration = log.records.iter().map(|record| record.ended).max().unwrap().as_secs_f64();
    let ttfts: Vec<f64> = (1..=4).map(|i| 100.0 * f64::from(i)).collect();
    let file = written(&log);
    let summary = summarise(&log, &[]);
    let row = |metric| summary.latency.row(metric).unwrap();
    let median = |metric| row(metric).percentile(Quantile::P50).figure.exact();
    let rates = summary.rates;
    for (key, of_vllm, of_screen) in [
        ("duration", duration, Some(summary.window.length_s())),
        ("request_throughput", 4.0 / duration, rates.completed_requests_per_s),
        ("output_throughput", 20.0 / duration, rates.output_tokens_per_s),
        ("mean_ttft_ms", ttfts.iter().sum::<f64>() / 4.0, row(Metric::Ttft).mean_ms),
        ("median_ttft_ms", 250.0, median(Metric::Ttft)),
        ("median_tpot_ms", 50.0, median(Metric::Tpot)),
        ("median_e2el_ms", 450.0, median(Metric::E2e)),
    ] {
        let found = file[key].as_f64().unwrap();
        assert!((found / of_vllm - 1.0).abs() < 1e-6, "{key}: {found} and not {of_vllm}");
        assert!((found / of_screen.unwrap() - 1.0).abs() < 1e-6, "{key}: {found} and {of_screen:?}");
    }
}

#[test]
fn goodput_is_that_of_the_report() {
    // Sent 300 ms late, TTFT 100 ms from sending: 400 ms from its moment. The third has one token, the fourth fails.
    let late = |i: u64| record(i).sent_at(i * 500, i * 500 + 300, i * 500 + 300);
    let first = |i: u64| i * 500 + 400;
    let failure = Failure::new(FailureKind::Truncated, "cut");
    let mut log = run(
        2_000,
        vec![
            late(0).paced(first(0), 10, 4).usage(50, 4).build(),
            late(1).paced(first(1), 60, 4).usage(50, 4).build(),
            late(2).paced(first(2), 0, 1).usage(50, 1).build(),
            late(3).chunks(&[(first(3), 1)]).failed(first(3) + 1, failure).build(),
        ],
    );
    log.header.workload.classes[0].priorities[0].slo = Slo { ttft_ms: Some(400.0), tpot_ms: Some(50.0), e2e_ms: None };
    let file = written(&log);
    let (goodput, duration) = (file["request_goodput"].as_f64().unwrap(), file["duration"].as_f64().unwrap());
    assert!((goodput * duration - 2.0).abs() < 1e-9, "{goodput} over {duration}");
    // What broke off has no latency there.
    assert_eq!(file["latencies"][3], json!(0.0));
    assert!(file["ttfts"][3].as_f64().unwrap() > 0.0);
}

/// A rate is a request rate where requests were asked for at one rate. Else it is what was offered.
#[test]
fn clients_who_leave_are_no_failures_and_their_answers_no_latencies() {
    let mut log = three();
    let usual = written(&log);
    let mut left = record(3).sent_at(2_500, 2_500, 2_501).paced(2_600, 10, 2).build();
    (left.outcome, left.leaves) = (Outcome::Cancelled, true);
    let mut stayed = record(4).sent_at(2_500, 2_500, 2_501).paced(2_510, 1, 2).build();
    stayed.leaves = true;
    log.records.push(left);
    log.records.push(stayed);
    log.header.plan.measured_requests += 2;
    let file = written(&log);
    assert_eq!(file["completed"].as_u64().unwrap(), usual["completed"].as_u64().unwrap() + 1);
    for same in ["failed", "mean_ttft_ms", "p99_ttft_ms", "mean_tpot_ms", "mean_itl_ms", "mean_e2el_ms"] {
        assert_eq!(file[same], usual[same], "{same}");
    }
}

#[test]
fn one_number_for_a_rate_is_of_requests() {
    let mut log = three();
    log.header.workload.arrival = ArrivalPattern::Poisson { rate_per_s: 0.25 };
    assert_eq!(written(&log)["request_rate"], json!(0.25));
    let spike = Spike { at_s: 0.0, rate_per_s: 40.0, rise_s: 0.0, hold_s: 1.0, fall_s: 0.0 };
    log.header.workload.arrival = ArrivalPattern::Spikes { base_rate_per_s: 0.25, spikes: vec![spike] };
    // Three requests in a window of one second.
    assert_eq!(written(&log)["request_rate"], json!(3.0));
    log.header.workload.arrival = ArrivalPattern::Poisson { rate_per_s: 0.25 };
    log.header.workload.classes[0].conversation = Some(Conversation {
        turns: Distribution::Constant { value: 3 },
        think_time_s: ThinkTime::Constant { value: 0.0 },
        first_input_tokens: None,
        max_context_tokens: None,
    });
    assert_eq!(written(&log)["request_rate"], json!(3.0));
}

#[test]
fn what_the_server_tells_of_its_accelerators_is_written() {
    let mut log = three();
    let flag = "vllm_config.parallel_config.tensor_parallel_size";
    log.header.engines[0].serving_flags.insert(flag.to_owned(), json!(4));
    assert_eq!(written(&log)["tensor_parallel_size"], json!(4));
}

#[test]
fn nothing_that_succeeded_is_null_and_not_zero() {
    let log = run(1_000, vec![record(0).sent_at(0, 0, 1).censored(2_000).build()]);
    let file = written(&log);
    for key in ["mean_ttft_ms", "p99_e2el_ms", "std_tpot_ms", "median_itl_ms", "max_output_tokens_per_s"] {
        assert_eq!(file[key], json!(null), "{key}");
    }
    assert_eq!((&file["completed"], &file["ttfts"]), (&json!(0), &json!([0.0])));
}

#[test]
fn a_closed_loop_is_all_at_once_under_a_cap() {
    let mut log = three();
    log.header.workload.arrival = ArrivalPattern::of_users(32, ThinkTime::Constant { value: 0.0 });
    let file = written(&log);
    assert_eq!((&file["request_rate"], &file["max_concurrency"]), (&json!("inf"), &json!(32)));
    assert_eq!(file["burstiness"], json!(null));
    log.header.limits.max_concurrency = Some(8);
    let file = written(&log);
    assert_eq!((&file["max_concurrency"], &file["mean_client_queue_time_ms"]), (&json!(8), &json!(8.0)));
    assert!(file.get("mean_e2el_including_client_queue_ms").is_none());
}

#[test]
fn labels_take_no_key_of_vllms() {
    let mut log = hostile();
    for label in ["duration", "ttfts", "completed", "tp"] {
        log.header.deployment.labels.insert(label.to_owned(), "mine".to_owned());
    }
    let file = written(&log);
    assert!(file["duration"].is_number() && file["ttfts"].is_array() && file["completed"].is_number());
    assert_eq!(file["tp"], json!("mine"));
    let text = serde_json::to_string(&file).unwrap();
    for (detail, _) in DETAILS {
        assert_eq!(text.matches(&format!("\"{detail}\":")).count(), 1, "{detail}");
    }
}
