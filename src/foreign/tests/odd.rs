//! Odd results: zeros that stand for nothing, words instead of numbers, impossible times.

use serde_json::{Value, json};

use crate::analysis::Metric;
use crate::foreign::run::{ConcurrencyCap, ForeignConditions};
use crate::foreign::tests::{changed_run, figure, is_refused, mean, near, problem, raw, run};

/// The places of the requests of a sample that succeeded.
fn succeeded(file: &Value) -> Vec<usize> {
    let errors = file["errors"].as_array().unwrap();
    (0..errors.len()).filter(|&i| errors[i] == "").collect()
}

fn without_requests(name: &str) -> Value {
    let mut file = raw(name);
    for key in ["input_lens", "output_lens", "start_times", "ttfts", "itls", "generated_texts", "errors"] {
        file.as_object_mut().unwrap().remove(key);
    }
    file
}

fn with(name: &str, changes: &[(&str, Value)]) -> Value {
    let mut file = raw(name);
    for (key, value) in changes {
        file[*key] = value.clone();
    }
    file
}

#[test]
fn an_answer_of_sglang_without_text_has_no_latency() {
    let mut file = raw("sglang.jsonl");
    let mut silent = succeeded(&file);
    let others = silent.split_off(3);
    for i in silent {
        file["ttfts"][i] = json!(0.0);
        file["itls"][i] = json!([]);
    }
    let ttfts: Vec<f64> = others.iter().map(|&i| file["ttfts"][i].as_f64().unwrap() * 1e3).collect();
    let run = changed_run(&file);
    near(figure(&run, &mean(Metric::TtftFromSend)), &json!(ttfts.iter().sum::<f64>() / ttfts.len() as f64));
    for metric in [Metric::TtftFromSend, Metric::Tpot, Metric::E2eFromSend] {
        let latency = run.latency.iter().find(|latency| latency.metric == metric).unwrap();
        assert_eq!(latency.figures.n(), Some(16), "{metric}");
    }
}

#[test]
fn answers_of_sglang_that_were_not_streamed_have_their_whole_latency_only() {
    let mut file = raw("sglang.jsonl");
    for i in succeeded(&file) {
        file["itls"][i] = json!([]);
    }
    let mut reported = without_requests("sglang.jsonl");
    reported["mean_ttft_ms"] = reported["mean_e2e_latency_ms"].clone();
    reported["mean_itl_ms"] = json!(0.0);
    for file in [file, reported] {
        let run = changed_run(&file);
        assert_eq!(run.latency.iter().map(|latency| latency.metric).collect::<Vec<_>>(), [Metric::E2eFromSend]);
        assert_eq!(run.conditions.streamed, Some(false));
        for name in ["ttft", "tpot", "itl"] {
            assert_eq!(run.refused.iter().filter(|refused| refused.name == name).count(), 1, "{name}");
        }
    }
    assert_eq!(run("sglang.jsonl").conditions.streamed, Some(true));
}

#[test]
fn zeros_in_the_place_of_no_sample_are_no_figures() {
    for name in ["vllm.json", "sglang.jsonl"] {
        let mut file = without_requests(name);
        for (key, value) in file.as_object_mut().unwrap() {
            if key.ends_with("_tpot_ms") || key.ends_with("_itl_ms") {
                *value = json!(0.0);
            }
        }
        let run = changed_run(&file);
        assert_eq!((run.figure(&mean(Metric::Tpot)), run.figure(&mean(Metric::ChunkGap))), (None, None));
        assert!(run.figure(&mean(Metric::TtftFromSend)).is_some());
        assert!(is_refused(&run, "tpot") && is_refused(&run, "itl"), "{name}");
    }
}

#[test]
fn a_rate_is_above_0_or_a_word_that_is_known() {
    for name in ["vllm.json", "sglang.jsonl"] {
        for wrong in [json!(-5), json!(0), json!("20"), json!("NaN"), json!([])] {
            let problem = problem(&with(name, &[("request_rate", wrong.clone())]), None);
            assert!(problem.contains("`request_rate` is ") && problem.contains("above 0"), "{wrong} {problem}");
        }
    }
    let mut file = raw("aiperf/profile_export_aiperf.json");
    file["input_config"]["phases"][0]["rate"] = json!(-1);
    assert!(problem(&file, None).contains("`phases.rate` is -1"), "{}", problem(&file, None));
}

#[test]
fn arrivals_and_caps_are_what_was_asked_for() {
    let conditions = |changes: &[(&str, Value)]| changed_run(&with("vllm.json", changes)).conditions;
    let reported = |reported: &ForeignConditions| {
        (
            reported.arrival.clone().unwrap_or_default(),
            reported.rate_per_s,
            reported.burstiness,
            reported.max_concurrency,
        )
    };
    let uncapped = Some(ConcurrencyCap::Uncapped);
    for (changes, wanted) in [
        (vec![("burstiness", json!(0.3))], ("gamma", Some(20.0), Some(0.3), uncapped)),
        (vec![("burstiness", json!("Infinity"))], ("constant", Some(20.0), None, uncapped)),
        (vec![("request_rate", json!("inf"))], ("all_at_once", None, None, uncapped)),
        (vec![("request_rate", json!("inf")), ("max_concurrency", json!(0))], ("all_at_once", None, None, uncapped)),
        (
            vec![("request_rate", json!("inf")), ("max_concurrency", json!(8))],
            ("closed", None, None, Some(ConcurrencyCap::At(8))),
        ),
        (
            vec![("request_rate", json!("inf")), ("ramp_up_strategy", json!("linear"))],
            ("ramp_up", None, None, uncapped),
        ),
    ] {
        let (arrival, rate, burstiness, cap) = wanted;
        assert_eq!(reported(&conditions(&changes)), (arrival.to_owned(), rate, burstiness, cap));
    }
    let mut silent = raw("vllm.json");
    silent.as_object_mut().unwrap().remove("max_concurrency");
    assert_eq!(changed_run(&silent).conditions.max_concurrency, None);
    let mut capped = raw("guidellm.json");
    capped["benchmarks"][0]["config"]["strategy"] = json!({"type_": "throughput", "max_concurrency": 8});
    let capped = changed_run(&capped).conditions;
    assert_eq!((capped.arrival.as_deref(), capped.max_concurrency), (Some("closed"), Some(ConcurrencyCap::At(8))));
    // What a strategy does not have is not read.
    let mut closed = raw("guidellm.json");
    closed["benchmarks"][0]["config"]["strategy"] = json!({"type_": "concurrent", "streams": 4, "rate": [4]});
    let closed = changed_run(&closed).conditions;
    assert_eq!((closed.rate_per_s, closed.max_concurrency), (None, Some(ConcurrencyCap::At(4))));
    let mut paced = raw("guidellm.json");
    paced["benchmarks"][0]["config"]["strategy"]["rate"] = json!([4]);
    assert!(problem(&paced, None).contains("`strategy.rate` is a list"));
}

#[test]
fn numbers_beyond_reason_are_named() {
    let most = json!(u64::MAX);
    let counted = problem(&with("vllm.json", &[("completed", most), ("failed", json!(5))]), None);
    assert!(counted.contains("`completed` is 18446744073709551615, and a whole number"), "{counted}");
    let mut file = raw("vllm.json");
    let i = succeeded(&file)[1];
    let ttft = file["ttfts"][i].clone();
    file["ttfts"][i] = json!(1e308);
    let endless = problem(&file, None);
    assert!(endless.contains(&format!("`ttfts[{i}]` is 1e+308, and a time")), "{endless}");
    file["ttfts"][i] = ttft;
    file["latencies"][i] = json!(0.0);
    let early = problem(&file, None);
    assert!(early.contains(&format!("`latencies[{i}]` is 0, and its first token came at")), "{early}");
    let mut units = raw("aiperf/profile_export_aiperf.json");
    units["benchmark_duration"]["unit"] = json!("ms");
    assert!(problem(&units, None).contains("`benchmark_duration` is in ms, and sec is expected"));
}

#[test]
fn what_a_file_says_of_the_server_is_evidence() {
    let vllm = changed_run(&with(
        "vllm.json",
        &[("gpu", json!("h100")), ("gpus", json!("2")), ("version", json!("0.32")), ("num_warmups", json!(50))],
    ));
    let evidence = vllm.evidence(std::slice::from_ref(&vllm));
    assert_eq!((evidence.hardware.as_deref(), evidence.gpus), (Some("h100"), Some(2)));
    assert_eq!(evidence.warm_up.map(|warm_up| warm_up.requests), Some(50));
    assert_eq!(vllm.conditions.engine_version.as_deref(), Some("0.32"));
    let settings = json!({"version": "0.5.2", "dtype": "auto", "quantization": "fp8", "tp_size": 2});
    let conditions = changed_run(&with("sglang.jsonl", &[("server_info", settings)])).conditions;
    assert_eq!(conditions.engine_version.as_deref(), Some("0.5.2"));
    assert_eq!((conditions.precision.as_deref(), conditions.serving_flags.as_deref()), (Some("fp8"), Some("(4)")));
}
