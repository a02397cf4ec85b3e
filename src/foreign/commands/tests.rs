//! Command lines of the tools' documentations, translated.

mod backends;
mod others;
mod said;
mod sessions;

use std::fmt::Write as _;

use super::translate;

fn typed(tool: &str, line: &str) -> super::Translation {
    let translation = translate(&shlex::split(line).unwrap()).unwrap();
    assert_eq!(translation.tool, tool, "{line}");
    translation
}

/// The options of a translation, without the address.
fn options(tool: &str, line: &str) -> String {
    let words = typed(tool, line).words;
    let url = words.iter().position(|word| word == "--url").unwrap();
    [&words[1..url], &words[url + 2..]].concat().join(" ")
}

fn vllm(flags: &str) -> String {
    options("vLLM", &format!("vllm bench serve {flags}")).replacen("bench --endpoint completions ", "", 1)
}

fn guidellm(flags: &str) -> String {
    options("GuideLLM", &format!("guidellm benchmark {flags}"))
}

fn aiperf(flags: &str) -> String {
    options("AIPerf", &format!("aiperf profile --streaming {flags}"))
}

/// Each command of a file with its translation, what differs, and what is unknown.
fn all(tool: &str, file: &str) -> String {
    let mut shown = String::new();
    for line in file.lines().filter(|line| !line.starts_with('#')) {
        let translation = typed(tool, line);
        let _ = writeln!(shown, "$ {line}\n{}", shlex::try_join(translation.words.iter().map(String::as_str)).unwrap());
        for difference in &translation.differences {
            let _ = writeln!(shown, "  {}: {}", difference.about, difference.sentence);
        }
        assert!(translation.unknown.is_empty(), "{line}: {:?}", translation.unknown);
    }
    shown
}

#[test]
fn commands_of_the_documentations_are_translated() {
    insta::assert_snapshot!("vllm", all("vLLM", include_str!("../../../tests/data/commands/vllm.txt")));
    insta::assert_snapshot!("sglang", all("SGLang", include_str!("../../../tests/data/commands/sglang.txt")));
    let of_guidellm = include_str!("../../../tests/data/commands/guidellm.txt");
    insta::assert_snapshot!("guidellm", all("GuideLLM", of_guidellm));
    let of_llmperf = include_str!("../../../tests/data/commands/llmperf.txt");
    insta::assert_snapshot!("llmperf", all("llmperf", of_llmperf));
    insta::assert_snapshot!(
        "genai_perf",
        all("GenAI-Perf", include_str!("../../../tests/data/commands/genai-perf.txt"))
    );
    insta::assert_snapshot!("aiperf", all("AIPerf", include_str!("../../../tests/data/commands/aiperf.txt")));
}

#[test]
fn vllm_says_when_requests_leave() {
    for (flags, load) in [
        ("", "--rate inf --requests 1000 "),
        ("--max-concurrency 8 --num_prompts=20", "--rate inf --requests 20 --max-concurrency 8 "),
        ("--request-rate 5 --burstiness 0.5", "--rate 5 --burstiness 0.5 --requests 1000 "),
        ("--request-rate 10000 --num-prompts 16", "--rate inf --requests 16 "),
        (
            "--ramp-up-strategy linear --ramp-up-start-rps 1 --ramp-up-end-rps 19 --num-prompts 100",
            "--ramp 1:3.25:5.882s,3.25:5.5:2.857s,5.5:7.75:1.887s,7.75:10:1.408s,10:12.25:1.124s,12.25:14.5:0.935s,\
             14.5:16.75:0.8s,16.75:19:0.699s --requests 100 ",
        ),
        (
            "--ramp-up-strategy exponential --ramp-up-start-rps 1 --ramp-up-end-rps 256 --num-prompts 80",
            "--ramp \
             1:2:6.667s,2:4:3.333s,4:8:1.667s,8:16:0.833s,16:32:0.417s,32:64:0.208s,64:128:0.104s,128:256:0.052s \
             --requests 80 ",
        ),
    ] {
        assert_eq!(vllm(flags), format!("{load}--input-tokens 1024 --output-tokens 128"), "{flags}");
    }
    for (flags, load) in [("--num-prompts 7", "7"), ("", "1000")] {
        let trace = vllm(&format!("--dataset-name burstgpt --dataset-path B.csv --request-rate 5 {flags}"));
        assert_eq!(trace, format!("--requests {load} --trace B.csv"));
    }
    let all = typed("vLLM", "vllm bench serve --num-prompts -1 --request-rate 5");
    assert!(all.words.iter().all(|word| word != "--requests"), "{:?}", all.words);
    assert!(all.differences.iter().any(|difference| difference.about == "--num-prompts -1"));
}

#[test]
fn vllm_says_what_requests_are_like() {
    let load = "--rate inf --requests 9 ";
    for (flags, requests) in [
        ("--input-len 7 --output-len 8", "--input-tokens 7 --output-tokens 8"),
        (
            "--random-input-len 1000 --random-output-len 10 --random-range-ratio 0.5",
            "--input-tokens vllm_range:1000:0.5 --output-tokens vllm_range:10:0.5",
        ),
        (
            "--random-range-ratio '{\"input\": 0.3, \"output\": 0}'",
            "--input-tokens vllm_range:1024:0.3 --output-tokens 128",
        ),
        (
            "--random-prefix-len 50 --random-input-len 100 --random-range-ratio 0.1",
            "--shared-prefix 50 --input-tokens vllm_range:100:0.1 --output-tokens vllm_range:128:0.1",
        ),
        ("--random-input-len 5 --input-len 6", "--input-tokens 6 --output-tokens 128"),
        ("--dataset-name sonnet", "--shared-prefix 200 --input-tokens 350 --output-tokens 150"),
        ("--dataset-name sonnet --sonnet-prefix-len 0", "--input-tokens 550 --output-tokens 150"),
        (
            "--dataset-name prefix_repetition --prefix-repetition-num-prefixes 4",
            "--shared-prefix 256x4 --input-tokens 256 --output-tokens 128",
        ),
        (
            "--dataset-name custom --dataset-path my.jsonl --custom-output-len -1 --disable-shuffle",
            "--dataset my.jsonl --dataset-format jsonl",
        ),
        (
            "--goodput ttft:500 tpot:50 e2el:9000 --seed 7",
            "--input-tokens 1024 --output-tokens 128 --slo ttft=500ms,tpot=50ms,e2e=9000ms --seed 7",
        ),
        (
            "--min-p 0.1 --extra-body '{\"a\": 1}' --header x-team=a --label l --metadata k=v",
            "--header x-team: a --rate inf --requests 9 --input-tokens 1024 --output-tokens 128 \
             --extra-body {\"min_p\":0.1,\"a\":1} --label k=v --label label=l",
        ),
    ] {
        let load = if flags.contains("--header") { "" } else { load };
        assert_eq!(vllm(&format!("--num-prompts 9 {flags}")), format!("{load}{requests}"), "{flags}");
    }
}

#[test]
fn the_rust_client_of_vllm_has_sweeps_and_repeats() {
    for (flags, options) in [
        ("--sweep-max-concurrency 1,10 --num-prompts 50", "--users 1,10 --samples 50"),
        ("--sweep-request-rate 1,10,inf", "--rates 1,10"),
        ("--num-runs 3 --request-rate 5 --num-prompts 9 --reset-prefix-cache", "--rate 5 --requests 9"),
    ] {
        let words = typed("vLLM", &format!("vllm-rs bench serve {flags}")).words.join(" ");
        assert!(words.contains(options), "{flags}: {words}");
        assert_eq!(words.starts_with("skyline sweep"), flags.contains("--sweep"), "{words}");
        assert_eq!(words.contains("--repeats 3"), flags.contains("--num-runs"), "{words}");
        assert_eq!(words.contains("--reset-cache"), flags.contains("--reset"), "{words}");
    }
}

#[test]
fn results_of_vllm_have_the_name_that_was_given() {
    for (flags, format) in [
        ("--save-result", "--format vllm"),
        ("--save-result --result-filename a.json", "--format vllm=a.json"),
        ("--save-result --result-dir d/ --result-filename a.json", "--out d/ --format vllm=d/a.json"),
        ("--result-filename a.json", ""),
    ] {
        let words = vllm(&format!("--request-rate 5 --num-prompts 9 {flags}"));
        assert!(words.trim_end().ends_with(format), "{words}");
        assert_eq!(words.contains("--format"), !format.is_empty(), "{words}");
    }
}

#[test]
fn sglang_says_when_requests_leave_and_what_they_are_like() {
    for (flags, options) in [
        (
            "--dataset-name random --num-prompts 9 --request-rate 4",
            "bench --engine sglang --endpoint completions --rate 4 --requests 9 --input-tokens sglang_range:1024:0 \
             --output-tokens sglang_range:1024:0",
        ),
        (
            "--backend vllm-chat --dataset-name random-ids --random-range-ratio 0.5 --max-concurrency 8",
            "bench --engine vllm --endpoint chat --rate inf --requests 1000 --max-concurrency 8 \
             --input-tokens sglang_range:1024:0.5 --output-tokens sglang_range:1024:0.5",
        ),
        (
            "--dataset-name generated-shared-prefix --gsp-num-groups 4 --seed 3",
            "bench --engine sglang --endpoint completions --rate inf --requests 64 --shared-prefix 2048x4 \
             --input-tokens 128 --output-tokens 256 --seed 3",
        ),
        (
            "--dataset-name mooncake --dataset-path t.jsonl --mooncake-slowdown-factor 2 --num-prompts 7",
            "bench --engine sglang --endpoint completions --requests 7 --trace t.jsonl --time-scale 2",
        ),
        (
            "--dataset-path s.json --sharegpt-output-len 20 --num-prompts 7 --disable-stream --flush-cache",
            "bench --engine sglang --endpoint completions --rate inf --requests 7 --dataset s.json --dataset-format \
             sharegpt --dataset-order shuffled --skip-bad --output-tokens 20 --no-stream --reset-cache",
        ),
    ] {
        assert_eq!(options_of_sglang(flags), options, "{flags}");
    }
    for (flags, url) in [
        ("", "http://127.0.0.1:30000"),
        ("--host 0.0.0.0 --backend vllm", "http://127.0.0.1:8000"),
        ("--host gpu --port 9", "http://gpu:9"),
        ("--backend lmdeploy", "http://127.0.0.1:23333"),
    ] {
        assert_eq!(typed("SGLang", &format!("python -m sglang.bench_serving {flags}")).words[3], url);
    }
}

fn options_of_sglang(flags: &str) -> String {
    options("SGLang", &format!("python3 -m sglang.bench_serving {flags}"))
}

#[test]
fn vllm_says_where_requests_go() {
    let server = |flags: &str| {
        let words = typed("vLLM", &format!("vllm bench serve {flags}")).words;
        words[2..].iter().take_while(|word| *word != "--rate").cloned().collect::<Vec<_>>().join(" ")
    };
    for (flags, options) in [
        ("", "--url http://127.0.0.1:8000 --endpoint completions"),
        ("--host ::1 --backend openai-chat", "--url http://[::1]:8000 --endpoint chat"),
        ("--backend sglang --port 1", "--url http://127.0.0.1:1 --engine sglang --endpoint completions"),
        (
            "--base-url http://h --backend openai-chat --endpoint /gate/v1/chat/completions",
            "--url http://h --path /gate/v1/chat/completions",
        ),
        ("--backend openai-responses --endpoint /v1/responses", "--url http://127.0.0.1:8000 --endpoint responses"),
        ("--backend vllm-rerank", "--url http://127.0.0.1:8000 --endpoint rerank"),
        (
            "--backend openai-embeddings --dataset-name random --random-batch-size 8 --random-input-len 64",
            "--url http://127.0.0.1:8000 --endpoint embeddings",
        ),
    ] {
        assert_eq!(server(flags), options, "{flags}");
    }
    let no_equal = typed("vLLM", "vllm bench serve --backend vllm-pooling --endpoint /pooling");
    assert_eq!(no_equal.differences[0].about, "--backend vllm-pooling, --endpoint /pooling");
}

#[test]
fn guidellm_says_several_loads_at_once() {
    let data = "--data prompt_tokens=100,output_tokens=50";
    let lengths = "--input-tokens 100 --output-tokens 50";
    for (flags, load) in [
        ("--rate-type concurrent --rate 1,2,4 --max-seconds 30", "sweep 30 --users 1,2,4 "),
        ("--profile poisson --rate 5 --max-requests 100", "bench --rate 5 --requests 100 "),
        ("--profile kind=constant,rate=10", "bench --rate 10 --arrival constant "),
        ("--profile constant --rate 10 --rampup 5 --max-seconds 60", "bench 60 --ramp 0:10:5s "),
        ("--profile synchronous --max-requests 5", "bench --users 1 --requests 5 "),
        ("--profile sweep --rate 10 --max-requests 5", "sweep --samples 5 "),
        (
            "--profile throughput --max-seconds 9 --warmup 0.1",
            "bench 9 --rate inf --max-concurrency 512 --warmup 0.9s ",
        ),
    ] {
        let words = guidellm(&format!("{flags} {data}"));
        // The address stands behind the verb and the seconds.
        assert_eq!(words, format!("{load}{lengths}"), "{flags}");
    }
    assert_eq!(
        guidellm(
            "--profile constant --data \
             prompt_tokens=100,prompt_tokens_stdev=10,output_tokens=50,output_tokens_min=5,output_tokens_max=60"
        ),
        "bench --rate 1 --arrival constant --input-tokens normal:100:10 --output-tokens 5..60"
    );
    let samples = "--profile poisson --rate 2 --data prompt_tokens=9,samples=70";
    assert_eq!(guidellm(samples), "bench --rate 2 --requests 70 --input-tokens 9");
    for (prefix, option) in [("prefix_tokens=900", "900x1"), ("prefix_tokens=900,prefix_count=5", "900x5")] {
        let shared =
            guidellm(&format!("--profile kind=poisson,rate=2 --data prompt_tokens=9,output_tokens=8,{prefix}"));
        assert_eq!(shared, format!("bench --rate 2 --shared-prefix {option} --input-tokens 9 --output-tokens 8"));
    }
    for (flags, words) in [
        (
            "--constraint kind=max_requests,count=200 --constraint kind=max_errors,count=5 --profile \
             kind=poisson,rate=4",
            "bench --rate 4 --requests 200 ",
        ),
        (
            "--constraint kind=max_duration,seconds=60 --profile \
             kind=poisson,rate=4,warmup=0.1,cooldown=6,max_concurrency=9",
            "bench 54 --rate 4 --max-concurrency 9 --warmup 6s ",
        ),
        (
            "--constraint kind=max_requests,count=200 --profile kind=concurrent,streams=4,warmup.percent=0.1",
            "bench --users 4 --requests 200 --warmup-requests 20 ",
        ),
        (
            "--constraint kind=max_requests,count=200 --profile kind=concurrent,streams=4,cooldown=0.1",
            "bench --users 4 --requests 200 --cooldown ",
        ),
        ("--profile kind=poisson,rate[0]=1,rate[1]=2", "sweep --rates 1,2 "),
        (r#"--profile '{"kind": "concurrent", "streams": [1, 8]}'"#, "sweep --users 1,8 "),
        ("--profile kind=concurrent --override profile.streams 1,4", "sweep --users 1,4 "),
        ("--profile kind=poisson,rate=9,rampup_duration=5", "bench --ramp 0:9:5s "),
        ("--profile kind=goodput,target_attainment=0.99", "sweep --objective slo_attainment >= 99% "),
        ("--profile kind=knee,max_streams=32", "sweep --users 1:32:x2 "),
    ] {
        assert_eq!(guidellm(&format!("{flags} {data}")), format!("{words}{lengths}"), "{flags}");
    }
    assert_eq!(
        guidellm(&format!(
            "--profile kind=poisson,rate=2 {data} --tokenizer kind=huggingface_auto,model=org/m --seed \
             kind=static,value=7 --metrics kind=generative,slo.ttft_ms=500,slo.e2el_ms=9000 --output \
             kind=json,path=a.json --output kind=console -l env=staging --tokenizer kind=hf_auto --backend \
             kind=openai_http,target=http://h,stream=false"
        )),
        "bench --no-stream --rate 2 --input-tokens 100 --output-tokens 50 --format json=a.json --slo \
         ttft=500ms,e2e=9000ms --seed 7 --label env=staging"
    );
    let shared = guidellm("--backend kind=openai_http,target=https://h,http2=true --profile kind=poisson,rate=2");
    assert!(shared.contains("--http2=offered"), "{shared}");
    assert!(!guidellm("--backend kind=openai_http,target=http://h,http2=true").contains("http2"), "no TLS, no ALPN");
    assert_eq!(
        guidellm("--profile kind=replay,time_scale=0.5 --data kind=mooncake,source.kind=json_file,source.path=m.jsonl"),
        "bench --time-scale 0.5 --trace m.jsonl"
    );
    let odd = typed(
        "GuideLLM",
        "guidellm run --backend kind=openai_http,server_history=true --profile kind=poisson,rate=1,warp=9 \
         --constraint kind=min_requests,count=3",
    );
    for about in ["--backend server_history=true", "--profile warp=9", "--constraint min_requests"] {
        assert!(odd.differences.iter().any(|gap| gap.about.contains(about)), "{about}: {:?}", odd.differences);
    }
    let inside = typed(
        "GuideLLM",
        "guidellm run --backend kind=openai_http,extras.headers.X=1,extras.body.a=2 --profile kind=poisson,rate=1",
    );
    assert!(inside.differences.iter().any(|gap| gap.about == "--backend extras"), "{inside:?}");
    let secret = typed("GuideLLM", r#"guidellm run --backend '{"kind": "openai_http", "api_key": "sk-1"}'"#);
    assert!(!format!("{secret:?}").contains("sk-1"));
}

#[test]
fn aiperf_says_its_load_and_traces() {
    for (flags, options) in [
        ("--concurrency 8", "bench --users 8 --requests 16 --input-tokens 550"),
        (
            "--request-rate 4 --arrival-pattern gamma --arrival-smoothness 0.5 --benchmark-duration 60 --osl 9 \
             --osl-stddev 2",
            "bench 60 --rate 4 --burstiness 0.5 --input-tokens 550 --output-tokens normal:9:2",
        ),
        (
            "--concurrency 8 --isl 100 --shared-system-prompt-length 900",
            "bench --users 8 --requests 16 --shared-prefix 900 --input-tokens 100",
        ),
        (
            "--concurrency 8 --isl 100 --prefix-prompt-length 900 --num-prefix-prompts 5",
            "bench --users 8 --requests 16 --shared-prefix 900x5 --input-tokens 100",
        ),
        ("--input-file t.jsonl --custom-dataset-type mooncake_trace", "bench --trace t.jsonl"),
        (
            "--request-count 3 --extra-inputs max_tokens:64 --endpoint v2/chat --public-dataset aimo",
            "bench --path /v2/chat --users 1 --requests 3 --dataset aimo.jsonl --output-tokens 64",
        ),
        (
            "--request-count 3 --extra-inputs ignore_eos:true top_k:5 -H 'X-Team: a'",
            "bench --users 1 --requests 3 --input-tokens 550 --extra-body {\"top_k\":5} --header X-Team: a",
        ),
    ] {
        assert_eq!(aiperf(flags), options, "{flags}");
    }
    let whole = typed("AIPerf", "aiperf profile -m a,b --api-key sk-1");
    assert!(whole.words.contains(&"--no-stream".to_owned()), "{:?}", whole.words);
    assert!(!format!("{whole:?}").contains("sk-1"));
}

#[test]
fn unknown_flags_are_named_and_other_commands_refused() {
    let line = "CUDA_VISIBLE_DEVICES=0 /opt/bin/vllm bench serve --frobnicate 3 4 --num-prompts 5 stray";
    assert_eq!(typed("vLLM", line).unknown, ["--frobnicate 3 4", "stray"]);
    for line in [
        "uv run vllm bench serve --num-prompts 5",
        "python3 -m vllm.entrypoints.cli.main bench serve --num-prompts 5",
        "python -m vllm.benchmarks.serve --num-prompts 5",
        "vllm-rs bench serve --num-prompts 5",
    ] {
        let words = typed("vLLM", line).words.join(" ");
        assert!(words.contains("--requests 5"), "{line}: {words}");
    }
    for line in [
        "vllm serve model",
        "vllm bench",
        "guidellm report x.json",
        "",
        "python -m sglang.launch_server",
        "k6 run x.js",
    ] {
        let refused = translate(&shlex::split(line).unwrap());
        assert!(refused.is_err(), "{line}: {refused:?}");
    }
}
