//! Results that the tools themselves wrote (`tests/data/foreign`), against what the same files say they printed.

mod agentx;
mod odd;

use std::path::PathBuf;

use serde_json::{Value, json};

use super::figures::ForeignFigures;
use super::read::ForeignFile;
use super::run::{ConcurrencyCap, ForeignRun};
use super::tool::ForeignTool;
use crate::analysis::{Figure, FigureKey, Metric, Quantile, Statistic};

fn sample(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/foreign").join(name)
}

/// A sample as it stands in its file, whose last line is a whole value.
fn raw(name: &str) -> Value {
    let text = std::fs::read_to_string(sample(name)).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn runs(name: &str) -> Vec<ForeignRun> {
    ForeignFile::read(&sample(name), None).unwrap().unwrap().runs
}

fn run(name: &str) -> ForeignRun {
    let mut runs = runs(name);
    assert_eq!(runs.len(), 1);
    runs.remove(0)
}

/// A changed sample, read again from a file of its own.
fn changed(value: &Value, from: Option<ForeignTool>) -> Result<Option<ForeignFile>, String> {
    let desk = tempfile::tempdir().unwrap();
    let file = desk.path().join("result.json");
    std::fs::write(&file, value.to_string()).unwrap();
    ForeignFile::read(&file, from)
}

fn changed_run(value: &Value) -> ForeignRun {
    changed(value, None).unwrap().unwrap().runs.remove(0)
}

fn problem(value: &Value, from: Option<ForeignTool>) -> String {
    changed(value, from).unwrap_err()
}

fn mean(metric: Metric) -> FigureKey {
    FigureKey::latency(Statistic::Mean, metric)
}

fn percentile(quantile: Quantile, metric: Metric) -> FigureKey {
    FigureKey::percentile(quantile, metric)
}

fn figure(run: &ForeignRun, key: &FigureKey) -> Option<f64> {
    run.figure(key).and_then(Figure::exact)
}

fn near(found: Option<f64>, reported: &Value) {
    let (found, reported) = (found.unwrap(), reported.as_f64().unwrap());
    assert!((found - reported).abs() <= 1e-9 * reported.abs(), "{found} is not {reported}");
}

fn is_computed(run: &ForeignRun, metric: Metric) -> bool {
    let latency = run.latency.iter().find(|latency| latency.metric == metric).unwrap();
    matches!(latency.figures, ForeignFigures::Computed(_))
}

fn is_refused(run: &ForeignRun, name: &str) -> bool {
    run.refused.iter().any(|refused| refused.name == name)
}

const QUANTILES: [(Quantile, &str); 4] =
    [(Quantile::P50, "p50"), (Quantile::P90, "p90"), (Quantile::P95, "p95"), (Quantile::P99, "p99")];

#[test]
fn vllm_computed_from_its_requests_is_what_vllm_printed() {
    let (run, file) = (run("vllm.json"), raw("vllm.json"));
    assert_eq!((run.tool, run.requests.completed, run.requests.failed), (ForeignTool::Vllm, 19, Some(5)));
    for (metric, name) in [
        (Metric::TtftFromSend, "ttft"),
        (Metric::Tpot, "tpot"),
        (Metric::ChunkGap, "itl"),
        (Metric::E2eFromSend, "e2el"),
    ] {
        assert!(is_computed(&run, metric));
        near(figure(&run, &mean(metric)), &file[format!("mean_{name}_ms")]);
        for (quantile, key) in QUANTILES {
            near(figure(&run, &percentile(quantile, metric)), &file[format!("{key}_{name}_ms")]);
        }
    }
    assert_eq!(figure(&run, &FigureKey::from_metric(Metric::ErrorRate)), Some(5.0 / 24.0));
    near(run.whole_run.output_tokens_per_s, &file["output_throughput"]);
    near(run.whole_run.completed_requests_per_s, &file["request_throughput"]);
    let conditions = &run.conditions;
    assert_eq!((conditions.model.as_deref(), conditions.endpoint.as_deref()), (Some("plain"), Some("chat")));
    assert_eq!((conditions.arrival.as_deref(), conditions.rate_per_s), (Some("poisson"), Some(20.0)));
    assert_eq!(conditions.max_concurrency, Some(ConcurrencyCap::Uncapped));
    // It has nothing that counts from the schedule or over a window.
    for subject in [mean(Metric::Ttft), mean(Metric::E2e), FigureKey::from_metric(Metric::OutputTokens)] {
        assert_eq!(run.figure(&subject), None);
    }
    assert!(is_refused(&run, "total_token_throughput") && !is_refused(&run, "request_goodput"));
    assert!(run.reservations.iter().any(|text| text.contains("role chunk")));
}

#[test]
fn its_python_client_writes_the_same() {
    let (run, file) = (run("vllm-python.json"), raw("vllm-python.json"));
    assert_eq!((run.tool, run.requests.completed, run.requests.failed), (ForeignTool::Vllm, 16, Some(4)));
    for (metric, name) in [
        (Metric::TtftFromSend, "ttft"),
        (Metric::Tpot, "tpot"),
        (Metric::ChunkGap, "itl"),
        (Metric::E2eFromSend, "e2el"),
    ] {
        near(figure(&run, &mean(metric)), &file[format!("mean_{name}_ms")]);
        near(figure(&run, &percentile(Quantile::P50, metric)), &file[format!("median_{name}_ms")]);
        near(figure(&run, &percentile(Quantile::P99, metric)), &file[format!("p99_{name}_ms")]);
    }
}

#[test]
fn without_its_requests_vllm_is_believed_and_marked() {
    let mut file = raw("vllm.json");
    for key in ["input_lens", "output_lens", "start_times", "ttfts", "itls", "generated_texts", "errors"] {
        file.as_object_mut().unwrap().remove(key);
    }
    let run = changed_run(&file);
    assert!(!is_computed(&run, Metric::TtftFromSend));
    assert_eq!(figure(&run, &percentile(Quantile::P99, Metric::ChunkGap)), file["p99_itl_ms"].as_f64());
    assert_eq!(run.figure(&percentile(Quantile::P999, Metric::ChunkGap)), None);
    assert_eq!(run.interval(&percentile(Quantile::P50, Metric::TtftFromSend)), (None, None));
    assert!(run.mark(&percentile(Quantile::P99, Metric::TtftFromSend)).is_some(), "19 samples");
    assert_eq!(run.mark(&percentile(Quantile::P99, Metric::ChunkGap)), None, "nobody knows how many");
    assert!(run.reservations[0].contains("--save-detailed"));
    // Older files contain neither failures nor the ends of answers.
    let mut old = raw("vllm.json");
    old.as_object_mut().unwrap().remove("failed");
    old.as_object_mut().unwrap().remove("latencies");
    let old = changed_run(&old);
    assert_eq!(old.requests.failed, Some(5));
    let (mean, reported) = (figure(&old, &mean(Metric::E2eFromSend)).unwrap(), &raw("vllm.json")["mean_e2el_ms"]);
    assert!((mean - reported.as_f64().unwrap()).abs() < 0.5, "{mean} {reported}");
}

#[test]
fn sglang_is_computed_to_the_last_text() {
    let (run, file) = (run("sglang.jsonl"), raw("sglang.jsonl"));
    assert_eq!((run.tool, run.requests.completed, run.requests.failed), (ForeignTool::Sglang, 19, Some(5)));
    for (metric, name) in [(Metric::TtftFromSend, "ttft"), (Metric::ChunkGap, "itl")] {
        near(figure(&run, &mean(metric)), &file[format!("mean_{name}_ms")]);
        near(figure(&run, &percentile(Quantile::P50, metric)), &file[format!("median_{name}_ms")]);
        for (quantile, key) in &QUANTILES[1..] {
            near(figure(&run, &percentile(*quantile, metric)), &file[format!("{key}_{name}_ms")]);
        }
    }
    // SGLang's own latencies end with [DONE], a little later.
    for (metric, name) in [(Metric::E2eFromSend, "e2e_latency"), (Metric::Tpot, "tpot")] {
        let ours = figure(&run, &mean(metric)).unwrap();
        let theirs = file[format!("mean_{name}_ms")].as_f64().unwrap();
        assert!(ours <= theirs && theirs - ours < 0.02 * theirs, "{ours} {theirs}");
    }
    assert_eq!(run.conditions.endpoint.as_deref(), Some("chat"));
    assert_eq!(run.conditions.model, None);
}

#[test]
fn what_an_itl_of_sglang_is_depends_on_its_backend() {
    let named = |change: &[(&str, Value)]| {
        let mut file = raw("sglang.jsonl");
        for (key, value) in change {
            file[*key] = value.clone();
        }
        changed_run(&file).latency.iter().map(|latency| latency.metric).collect::<Vec<_>>()
    };
    assert!(named(&[("backend", json!("sglang"))]).contains(&Metric::Itl));
    assert!(named(&[("backend", json!("vllm"))]).contains(&Metric::ChunkGap));
    let unknown = named(&[("backend", json!("truss"))]);
    assert!(!unknown.contains(&Metric::Itl) && !unknown.contains(&Metric::ChunkGap));
    // Its own figures divide gaps among tokens where drafts were accepted.
    assert!(named(&[("errors", Value::Null), ("accept_length", json!(2.5))]).contains(&Metric::Itl));
    assert!(named(&[("errors", Value::Null)]).contains(&Metric::ChunkGap));
}

#[test]
fn a_line_a_run_and_words_that_json_does_not_have() {
    let desk = tempfile::tempdir().unwrap();
    let file = desk.path().join("runs.jsonl");
    let line = std::fs::read_to_string(sample("sglang.jsonl")).unwrap();
    let second = line.replace("\"request_rate\": 20.0", "\"request_rate\": Infinity");
    std::fs::write(&file, format!("{line}\n{second}")).unwrap();
    let runs = ForeignFile::read(&file, None).unwrap().unwrap().runs;
    assert_eq!(runs.iter().map(|run| run.number).collect::<Vec<_>>(), [1, 2]);
    let arrivals = runs.iter().map(|run| (run.conditions.rate_per_s, run.conditions.arrival.as_deref()));
    assert_eq!(arrivals.collect::<Vec<_>>(), [(Some(20.0), Some("poisson")), (None, Some("all_at_once"))]);
}

#[test]
fn every_benchmark_of_guidellm_is_a_run() {
    let (runs, file) = (runs("guidellm.json"), raw("guidellm.json"));
    assert_eq!(runs.len(), 2);
    for (run, benchmark) in runs.iter().zip(file["benchmarks"].as_array().unwrap()) {
        let reported = |name: &str| benchmark["metrics"][name]["successful"].clone();
        // All answers have eight tokens, so that weighing by tokens changes nothing.
        for (metric, name) in
            [(Metric::TtftFromSend, "time_to_first_token_ms"), (Metric::Tpot, "inter_token_latency_ms")]
        {
            assert!(is_computed(run, metric));
            near(figure(run, &mean(metric)), &reported(name)["mean"]);
            let ends = [Statistic::Min, Statistic::Max].map(|end| figure(run, &FigureKey::latency(end, metric)));
            near(ends[0], &reported(name)["min"]);
            near(ends[1], &reported(name)["max"]);
        }
        let (e2e, whole) = (
            figure(run, &mean(Metric::E2eFromSend)).unwrap(),
            reported("request_latency")["mean"].as_f64().unwrap() * 1e3,
        );
        assert!(e2e <= whole && whole - e2e < 0.05 * whole, "{e2e} {whole}");
        assert!(is_refused(run, "time_per_output_token_ms") && is_refused(run, "request_scheduled_latency"));
    }
    let counts = runs.iter().map(|run| (run.requests.completed, run.requests.failed));
    assert_eq!(counts.collect::<Vec<_>>(), [(11, Some(3)), (12, Some(2))]);
    let rates = runs.iter().map(|run| run.conditions.rate_per_s);
    assert_eq!(rates.collect::<Vec<_>>(), [Some(10.0), Some(20.0)]);
    assert_eq!(runs[0].tool_version.as_deref(), Some("0.8.1"));
}

#[test]
fn a_part_of_guidellms_requests_is_not_taken_for_all() {
    let mut file = raw("guidellm.json");
    let benchmark = &mut file["benchmarks"][0];
    benchmark["requests"]["successful"].as_array_mut().unwrap().truncate(5);
    let reported = benchmark["metrics"]["time_to_first_token_ms"]["successful"].clone();
    let run = changed_run(&file);
    assert!(!is_computed(&run, Metric::TtftFromSend));
    assert_eq!(figure(&run, &percentile(Quantile::P95, Metric::TtftFromSend)), reported["percentiles"]["p95"].as_f64());
    assert_eq!(run.figure(&mean(Metric::Tpot)), None);
    assert!(is_refused(&run, "inter_token_latency_ms"));
    // It reports whole latencies in seconds.
    let whole = &file["benchmarks"][0]["metrics"]["request_latency"]["successful"];
    for (subject, seconds) in [
        (mean(Metric::E2eFromSend), &whole["mean"]),
        (percentile(Quantile::P99, Metric::E2eFromSend), &whole["percentiles"]["p99"]),
    ] {
        near(figure(&run, &subject), &json!(seconds.as_f64().unwrap() * 1e3));
    }
}

#[test]
fn requests_before_guidellms_measured_stretch_do_not_count() {
    let mut file = raw("guidellm.json");
    let benchmark = &mut file["benchmarks"][0];
    let requests = benchmark["requests"]["successful"].as_array().unwrap().clone();
    let ends = |request: &Value| request["request_end_time"].as_f64().unwrap();
    let first = requests.iter().map(ends).fold(f64::INFINITY, f64::min);
    benchmark["start_time"] = json!(first + 1e-6);
    benchmark["metrics"]["request_totals"]["successful"] = json!(requests.len() - 1);
    let counted: Vec<f64> = requests
        .iter()
        .filter(|request| ends(request) > first)
        .map(|request| request["time_to_first_token_ms"].as_f64().unwrap())
        .collect();
    let run = changed_run(&file);
    let expected = counted.iter().sum::<f64>() / counted.len() as f64;
    near(figure(&run, &mean(Metric::TtftFromSend)), &json!(expected));
}

#[test]
fn aiperf_is_read_with_its_requests_beside_it() {
    let file = raw("aiperf/profile_export_aiperf.json");
    for name in ["aiperf", "aiperf/profile_export_aiperf.json", "aiperf/profile_export.jsonl"] {
        let run = run(name);
        assert_eq!((run.tool, run.requests.completed, run.requests.failed), (ForeignTool::AiPerf, 15, Some(1)));
        for (metric, name) in [
            (Metric::TtftFromSend, "time_to_first_token"),
            (Metric::ChunkGap, "inter_chunk_latency"),
            (Metric::E2eFromSend, "request_latency"),
        ] {
            assert!(is_computed(&run, metric));
            near(figure(&run, &mean(metric)), &file[name]["avg"]);
            for (quantile, key) in QUANTILES {
                near(figure(&run, &percentile(quantile, metric)), &file[name][key]);
            }
        }
        // The server reported eight tokens for each answer; AIPerf's tokenizer counted thirteen.
        let decode = file["decode_duration"]["avg"].as_f64().unwrap();
        near(figure(&run, &mean(Metric::Tpot)), &json!(decode / 7.0));
        assert_eq!(run.tokens.output, Some(8 * 15));
        assert_eq!(run.conditions.rate_per_s, Some(15.0));
    }
}

#[test]
fn aiperfs_summary_alone_keeps_what_means_the_same() {
    let mut file = raw("aiperf/profile_export_aiperf.json");
    let run = changed_run(&file);
    assert_eq!(figure(&run, &percentile(Quantile::P95, Metric::ChunkGap)), file["inter_chunk_latency"]["p95"].as_f64());
    assert_eq!(run.figure(&mean(Metric::Tpot)), None);
    assert!(is_refused(&run, "inter_token_latency"));
    file["total_usage_completion_tokens"] = file["total_osl"].clone();
    assert_eq!(figure(&changed_run(&file), &mean(Metric::Tpot)), file["inter_token_latency"]["avg"].as_f64());
    file["input_config"]["endpoint"]["per_chunk_usage"] = json!(true);
    assert!(changed_run(&file).figure(&mean(Metric::TpotAdjusted)).is_some());
}

#[test]
fn zeros_of_a_run_in_which_all_failed_are_no_measurements() {
    for name in ["vllm.json", "sglang.jsonl"] {
        let mut file = raw(name);
        file["completed"] = json!(0);
        file["errors"] = json!(["refused"]);
        for list in ["ttfts", "output_lens", "latencies"] {
            file[list] = json!([0]);
        }
        file["itls"] = json!([[]]);
        file["mean_ttft_ms"] = json!(0.0);
        let run = changed_run(&file);
        assert!(run.latency.is_empty(), "{name}");
        assert!(run.reservations[0].contains("no measurements"), "{name}");
    }
}

#[test]
fn what_cannot_be_a_figure_is_named() {
    let with = |name: &str, key: &str, value: Value| {
        let mut file = raw(name);
        file[key] = value;
        file
    };
    for (file, wanted) in [
        (with("vllm.json", "completed", json!("many")), "`completed` is \"many\", and a whole number is expected"),
        (with("vllm.json", "completed", json!(-3)), "`completed` is -3, and a whole number"),
        (with("vllm.json", "itls", json!(7)), "`itls` is 7, and a list is expected"),
        (with("vllm.json", "ttfts", json!([0.1])), "not of one length"),
        (with("vllm.json", "duration", json!("NaN")), "`duration` is \"NaN\", and a time from 0 to 1e9"),
        (with("vllm.json", "errors", json!([1])), "`errors[0]` is 1, and a text is expected"),
        (with("sglang.jsonl", "backend", json!([])), "`backend` is a list, and a text is expected"),
    ] {
        let problem = problem(&file, None);
        assert!(problem.contains(wanted), "{problem}");
    }
    let mut negative = raw("vllm.json");
    negative["ttfts"][3] = json!(-0.5);
    assert!(problem(&negative, None).contains("`ttfts[3]` is -0.5"), "{}", problem(&negative, None));
    let mut units = raw("aiperf/profile_export_aiperf.json");
    units["time_to_first_token"]["unit"] = json!("sec");
    assert!(problem(&units, None).contains("`time_to_first_token` is in sec, and ms is expected"));
    let mut benchmark = raw("guidellm.json");
    benchmark["benchmarks"][1]["metrics"]["request_totals"] = Value::Null;
    let problem = problem(&benchmark, None);
    assert!(problem.contains("of benchmark 2, `metrics.request_totals` is missing"), "{problem}");
}

#[test]
fn a_result_is_known_by_what_stands_in_it() {
    let unknown = problem(&json!({"throughput": 3}), None);
    for wanted in ["vLLM:", "SGLang:", "GuideLLM:", "AIPerf:", "hint: --from"] {
        assert!(unknown.contains(wanted), "{unknown}");
    }
    let forced = problem(&json!({"throughput": 3}), Some(ForeignTool::Vllm));
    assert!(forced.contains("cannot be read as a result of vLLM: `completed` is missing"), "{forced}");
    let forced = problem(&raw("vllm.json"), Some(ForeignTool::GuideLlm));
    assert!(forced.contains("`benchmarks` is missing"), "{forced}");
    let desk = tempfile::tempdir().unwrap();
    let text = desk.path().join("notes.txt");
    std::fs::write(&text, "no JSON").unwrap();
    assert_eq!(ForeignFile::read(&text, None).unwrap(), None);
    assert_eq!(ForeignFile::read(desk.path(), None).unwrap(), None);
    let error = ForeignFile::read(&text, Some(ForeignTool::Sglang)).unwrap_err();
    assert!(error.contains("is no result of SGLang: it is not JSON"), "{error}");
    // A run of our own belongs to no tool.
    let ours = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/runs/schema-1/run.jsonl");
    assert_eq!(ForeignFile::read(&ours, None).unwrap(), None);
}
