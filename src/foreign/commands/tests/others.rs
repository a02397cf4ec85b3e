//! Programs whose flags stand in the table of another, and those of which no results are read.

use super::{options, typed};

#[test]
fn the_script_of_older_versions_takes_sharegpt_where_no_data_set_is_named() {
    let older = typed("vLLM's benchmark_serving.py", "python benchmarks/benchmark_serving.py --dataset S.json");
    assert!(older.words.join(" ").contains("--dataset S.json --dataset-format sharegpt"), "{:?}", older.words);
    let ratio =
        typed("vLLM's benchmark_serving.py", "benchmark_serving.py --dataset-name random --random-range-ratio 0.5");
    assert!(ratio.differences.iter().any(|gap| gap.about == "--random-range-ratio 0.5"), "{ratio:?}");
}

#[test]
fn genai_perf_measures_for_three_intervals_and_asks_triton() {
    let genai = |flags: &str| options("GenAI-Perf", &format!("genai-perf profile --streaming {flags}"));
    for (flags, options) in [
        ("--endpoint-type chat", "bench --users 1 --requests 10 --input-tokens 550"),
        ("--endpoint-type chat -p 4000 --concurrency 8", "bench 12 --users 8 --input-tokens 550"),
        (
            "--endpoint-type chat -g request_latency:9 -- -v --max-threads=256",
            "bench --users 1 --requests 10 --input-tokens 550 --slo e2e=9ms",
        ),
        (
            "--endpoint-type chat --server-metrics-urls http://h:9400/metrics",
            "bench --users 1 --requests 10 --input-tokens 550 --metrics-url http://h:9400/metrics",
        ),
        (
            "--endpoint-type completions --input-file payload:p.jsonl --fixed-schedule",
            "bench --endpoint completions --trace p.jsonl",
        ),
    ] {
        assert_eq!(genai(flags), options, "{flags}");
    }
    let triton = typed("GenAI-Perf", "genai-perf profile -m gpt2 --backend tensorrtllm --streaming");
    assert!(triton.differences.iter().any(|gap| gap.about == "--backend tensorrtllm"), "{triton:?}");
    assert_eq!(triton.version, "0.0.16");
}

#[test]
fn llmperf_says_its_load_and_its_address_stands_before_it() {
    let typed = |line: &str| typed("llmperf", line);
    let words =
        typed("OPENAI_API_BASE=http://h:8000/v1/ OPENAI_API_KEY=sk-1 python token_benchmark_ray.py --model m").words;
    assert_eq!(
        words.join(" "),
        "skyline bench --url http://h:8000/v1 --endpoint chat --model m --users 10 --requests 10 --input-tokens \
         normal:550:150 --output-tokens normal:150:80"
    );
    let all = typed(
        "python token_benchmark_ray.py --model m --num-concurrent-requests 4 --max-num-completed-requests 50 \
         --timeout 600 --stddev-input-tokens 0 --stddev-output-tokens 0 --llm-api litellm --results-dir out \
         --metadata name=foo,bar=1 --additional-sampling-params '{\"temperature\": 0.5, \"top_k\": 3}'",
    );
    assert_eq!(
        all.words[4..].join(" "),
        "--endpoint chat --model m --users 4 --requests 50 --input-tokens 550 --output-tokens 150 --temperature 0.5 \
         --extra-body {\"top_k\":3} --label name=foo --label bar=1 --out out"
    );
    for about in ["--timeout 600", "--llm-api litellm", "OPENAI_API_BASE"] {
        assert!(all.differences.iter().any(|gap| gap.about == about), "{about}: {:?}", all.differences);
    }
}
