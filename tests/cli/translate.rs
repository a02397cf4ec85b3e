//! Command lines of other tools, translated and run.

use crate::support::Desk;

#[test]
fn a_translation_can_be_pasted_and_says_what_differs() {
    let desk = Desk::new();
    let command = [
        "from-vllm",
        "--",
        "vllm",
        "bench",
        "serve",
        "--model",
        "m",
        "--max-concurrency",
        "4",
        "--frob",
        "x",
    ];
    let output = desk.skyline(&command).assert().success();
    let [line, words] = [&output.get_output().stdout, &output.get_output().stderr]
        .map(|text| String::from_utf8_lossy(text).into_owned());
    assert_eq!(
        line,
        "skyline bench --url http://127.0.0.1:8000 --endpoint completions --model m --rate max --requests 1000 \
         --max-concurrency 4 --input-tokens 1024 --output-tokens 128\n"
    );
    assert!(
        words.contains("left out: --frob x") && words.contains("--request-rate inf: a closed loop"),
        "{words}"
    );
    let refused = desk.skyline(&["from-guidellm", "--", "vllm", "bench", "serve"]).assert().code(2);
    let words = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert!(words.contains("no `guidellm benchmark` command line"), "{words}");
}

/// Commands that are short enough to run.
#[cfg(unix)]
const COMMANDS: [(&str, &str, usize); 3] = [
    (
        "from-vllm",
        "vllm bench serve --backend openai-chat --endpoint /v1/chat/completions --base-url URL --dataset-name random \
         --random-input-len 32 --random-output-len 4 --num-prompts 12 --max-concurrency 4 --goodput ttft:9000 --save-result",
        12,
    ),
    (
        "from-guidellm",
        "guidellm benchmark --target URL --profile constant --rate 20 --max-requests 10 --data prompt_tokens=32,output_tokens=4",
        10,
    ),
    (
        "from-aiperf",
        "aiperf profile -m plain --url URL --streaming --concurrency 2 --request-count 8 --isl 32 --osl 4",
        8,
    ),
];

#[cfg(unix)]
#[test]
fn translations_run_against_a_server() {
    use std::io::{BufRead as _, BufReader};
    use std::process::{Command, Stdio};

    let mut mock = Command::new(assert_cmd::cargo::cargo_bin("skyline"))
        .args(["mock", "--port", "0", "--ttft", "5ms", "--itl", "1ms", "--served-model-name", "plain"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut words = BufReader::new(mock.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("http://") {
        line.clear();
        assert!(words.read_line(&mut line).unwrap() > 0, "it ended");
    }
    let url = line.rsplit(' ').next().unwrap().trim();
    for (verb, command, requests) in COMMANDS {
        let desk = Desk::new();
        let output = desk.skyline(&[verb, &command.replace("URL", url)]).assert().success();
        let translated = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
        let translated = shlex::split(&translated).unwrap();
        let quickly = ["--no-calibration", "--allow-invalid", "--quiet"].map(str::to_owned);
        let run: Vec<&str> = translated[1..].iter().chain(&quickly).map(String::as_str).collect();
        desk.skyline(&run).assert().success();
        let summary = desk.summary();
        let counts = &summary["requests"];
        assert_eq!(counts["failed"], 0, "{counts}");
        let completed =
            counts["completed"].as_u64().unwrap() + summary["window"]["warmup_requests"].as_u64().unwrap();
        assert_eq!(completed, requests as u64, "{verb}: {counts}");
    }
    Command::new("kill").args(["-INT", &mock.id().to_string()]).status().unwrap();
    mock.wait().unwrap();
}
