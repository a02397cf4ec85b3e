//! Command lines of other tools, translated and run.

use std::sync::Mutex;

use serde_json::Value;

use crate::support::{Desk, mock};

#[test]
fn a_translation_can_be_pasted_and_says_what_differs() {
    let desk = Desk::new();
    let command =
        ["translate", "--", "vllm", "bench", "serve", "--model", "m", "--max-concurrency", "4", "--frob", "x"];
    let output = desk.skyline(&command).assert().code(2);
    let [line, words] = [&output.get_output().stdout, &output.get_output().stderr]
        .map(|text| String::from_utf8_lossy(text).into_owned());
    assert_eq!(
        line,
        "skyline bench --url http://127.0.0.1:8000 --endpoint completions --model m --rate inf --requests 1000 \
         --max-concurrency 4 --input-tokens 1024 --output-tokens 128\n"
    );
    assert!(words.contains("not known here: --frob x") && !words.contains("--request-rate inf"), "{words}");
    let refused = desk.skyline(&["translate", "--", "k6", "run", "load.js"]).assert().code(2);
    let words = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert!(words.contains("none of `vllm bench serve`, `sglang.bench_serving`"), "{words}");
}

/// Command lines of the tools' documentations; the verbs of old still work.
const DOCUMENTED: [(&str, &str); 6] = [
    ("from-vllm", include_str!("../data/commands/vllm.txt")),
    ("translate", include_str!("../data/commands/sglang.txt")),
    ("from-guidellm", include_str!("../data/commands/guidellm.txt")),
    ("from-aiperf", include_str!("../data/commands/aiperf.txt")),
    ("translate", include_str!("../data/commands/genai-perf.txt")),
    ("translate", include_str!("../data/commands/llmperf.txt")),
];

/// The command lines, each with its translation.
fn translations() -> Vec<(&'static str, Vec<String>)> {
    let desk = Desk::new();
    let lines = DOCUMENTED.into_iter().flat_map(|(verb, lines)| lines.lines().map(move |line| (verb, line)));
    let translated = |(verb, line): (&str, &'static str)| {
        let output = desk.skyline(&[verb, line]).assert().success();
        let words = shlex::split(str::from_utf8(&output.get_output().stdout).unwrap()).unwrap();
        (line, words[1..].to_vec())
    };
    lines.filter(|(_, line)| !line.starts_with('#')).map(translated).collect()
}

/// The value of an option.
fn value<'w>(words: &'w [String], option: &str) -> Option<&'w str> {
    words.iter().skip_while(|word| *word != option).nth(1).map(String::as_str)
}

/// The same command against the server at `url`, with sixteen requests, or as the shortest sweep.
fn shortened(words: &[String], url: &str) -> Vec<String> {
    let tokenizer = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/tiny-tokenizer.json");
    let mut short: Vec<String> = Vec::new();
    for (place, word) in words.iter().enumerate() {
        let before = if place == 0 { "" } else { words[place - 1].as_str() };
        match (before, word.as_str()) {
            ("bench" | "sweep", word) if word.parse::<f64>().is_ok() => {}
            ("--requests", _) | (_, "--requests") => {}
            ("--url", _) => short.push(url.to_owned()),
            ("--tokenizer", _) => short.push(tokenizer.to_owned()),
            (_, word) => short.push(word.replace("/tmp/", "")),
        }
    }
    let few = if words[0] == "sweep" {
        "--rates 20 --samples 20 --max-seconds 1s --repeats 1 --pause 0s --warmup 0s --warmup-requests 2"
    } else {
        "--requests 16"
    };
    let always = "--no-calibration --allow-invalid --quiet --json";
    short.extend(always.split(' ').chain(few.split(' ')).map(str::to_owned));
    short
}

/// A folder with the files that the commands want, small ones in their place.
fn desk_with_data() -> Desk {
    let desk = Desk::new();
    let share_gpt = include_str!("../data/datasets/sharegpt.json");
    desk.file("ShareGPT_V3_unfiltered_cleaned_split.json", share_gpt);
    desk.file("<your data path>/ShareGPT_V3_unfiltered_cleaned_split.json", share_gpt);
    let rows = (0..17).map(|row| format!("{{\"prompt\": \"Say {row} in words.\", \"output_tokens\": 4}}\n"));
    let rows = rows.collect::<String>();
    for name in ["data.jsonl", "InstructCoder.jsonl", "Open-Platypus.jsonl", "cnn_dailymail.jsonl"] {
        desk.file(name, &rows);
    }
    desk
}

/// Runs a command; what went wrong.
fn problem(words: &[String], url: &str) -> Option<String> {
    let short = shortened(words, url);
    let output = desk_with_data().skyline(&short.iter().map(String::as_str).collect::<Vec<_>>()).output().unwrap();
    let failed = |what: &str| Some(format!("{}\n{what}", short.join(" ")));
    // A busy machine may be late enough for OVERLOADED.
    if !matches!(output.status.code(), Some(0 | 1)) {
        return failed(&String::from_utf8_lossy(&output.stderr));
    }
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    let (requests, warmup) = (&summary["requests"], &summary["window"]["warmup_requests"]);
    let completed = requests["completed"].as_u64().zip(warmup.as_u64()).map(|(counted, warmup)| counted + warmup);
    let sound = words[0] == "sweep" || (requests["failed"] == 0 && completed == Some(16));
    if sound { None } else { failed(&requests.to_string()) }
}

#[test]
fn documented_commands_run_against_a_server() {
    let translations = translations();
    assert_eq!(translations.len(), 35);
    let models = translations.iter().filter_map(|(_, words)| value(words, "--model"));
    let adapters: Vec<&str> = models.flat_map(|model| ["--adapter", model]).collect();
    let mock = mock(&[&["--ttft", "1ms", "--itl", "0.1ms"], adapters.as_slice()].concat());
    let left = Mutex::new(translations);
    let failed = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let Some((line, words)) = left.lock().unwrap().pop() else { break };
                    let problem = problem(&words, &mock.url);
                    failed.lock().unwrap().extend(problem.map(|problem| format!("{line}\n{problem}")));
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}
