//! What the pages show of the program's output is what it prints, where the same input always gives the same output.

use skyline::guide::Topic;

use super::pages::{blocks, root};
use crate::support::Desk;

/// A topic, the first line of a block of text in it, and the commands before; the last one prints the lines.
type Example = (&'static str, &'static str, &'static [&'static [&'static str]]);

/// A load that rises and comes back, at clients that retry and a server that does not notice who has gone.
const SPIKE: [&str; 28] = [
    "simulate",
    "200",
    "--warmup",
    "0s",
    "--spike",
    "2:40s:20s",
    "--input-tokens",
    "10",
    "--output-tokens",
    "1",
    "--ttft",
    "exponential:100ms",
    "--itl",
    "0ms",
    "--slots",
    "1",
    "--ignore-disconnects",
    "--timeout",
    "2s",
    "--retries",
    "3",
    "--retry-on",
    "timeout",
    "--backoff",
    "100ms",
    "--jitter",
    "none",
    "--rate=7",
];

const EXAMPLES: [Example; 8] = [
    ("overload", "The spike of the load", &[&SPIKE]),
    ("conversations", "Sessions, of those", &[&["simulate", "agents", "--hardware", "l40s"]]),
    (
        "validity",
        "Latency over 5 runs",
        &[&[
            "simulate",
            "short_chat",
            "60",
            "--rate",
            "3",
            "--repeats",
            "5",
            "--hardware",
            "a10g",
            "--objective",
            "p99 ttft < 450ms",
        ]],
    ),
    (
        "compare",
        "                     baseline",
        &[
            &["simulate", "short_chat", "60", "--rate", "8", "--repeats", "5", "--hardware", "h100", "--out", "h100"],
            &["simulate", "short_chat", "60", "--rate", "8", "--repeats", "5", "--hardware", "l40s", "--out", "l40s"],
            &["compare", "h100/*", "l40s/*", "--vary", "hardware"],
        ],
    ),
    ("ab", "PASSED: the highest load", &[&["report", "DATA/experiments/sweep-schema-1"]]),
    ("other-tools", "NO VERDICT", &[&["report", "DATA/foreign/vllm.json"]]),
    (
        "other-tools",
        "UNDECIDED",
        &[&[
            "compare",
            "DATA/foreign/vllm.json",
            "DATA/foreign/sglang.jsonl",
            "--max-regression",
            "p95 ttft_from_send 10%",
            "--allow-invalid",
        ]],
    ),
    (
        "other-tools",
        "Why they differ: definitions",
        &[&[
            "compare",
            "DATA/foreign/guidellm.json:2",
            "DATA/foreign/vllm.json",
            "--vary",
            "workload",
            "--allow-invalid",
        ]],
    ),
];

const SLOW: [Example; 2] = [
    (
        "sweep",
        "PASSED: the highest load that meets the objectives is 68.0/s",
        &[&["simulate", "short_chat", "--sweep", "--hardware", "h100", "--objective", "p99 ttft < 100ms"]],
    ),
    (
        "sweep",
        "short_chat-sweep-simulator",
        &[
            &[
                "simulate",
                "short_chat",
                "--sweep",
                "--hardware",
                "h100",
                "--objective",
                "p99 ttft < 100ms",
                "--out",
                "sweep",
            ],
            &["capacity", "sweep/*", "--target-rate", "400", "--gpus-per-instance", "1", "--gpu-hour", "2.5"],
        ],
    ),
];

/// The lines of the block that are not printed, with what is.
fn missing((topic, first, commands): &Example) -> Option<String> {
    let desk = Desk::new();
    let data = root().join("tests/data").display().to_string();
    let mut printed = String::new();
    for command in *commands {
        let words: Vec<String> = command
            .iter()
            .map(|word| match word.strip_suffix("/*") {
                Some(folder) => {
                    let mut found = std::fs::read_dir(desk.path().join(folder)).unwrap();
                    found.next().unwrap().unwrap().path().display().to_string()
                }
                None => word.replace("DATA", &data),
            })
            .collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let output = desk.skyline(&words).output().unwrap();
        printed = String::from_utf8(output.stdout).unwrap();
    }
    let mut shown = blocks(Topic::find(topic).unwrap().text, "text").into_iter();
    let block = shown.find(|block| block.starts_with(first)).unwrap_or_else(|| panic!("{topic}: {first}"));
    // The name of a folder has the time in it.
    let is_printed =
        |line: &str| printed.lines().any(|other| other.trim_end() == line.trim_end()) || line.contains("-simulator-");
    let lines = block.lines().filter(|line| line.trim() != "…" && !is_printed(line));
    let lines: Vec<_> = lines.collect();
    (!lines.is_empty()).then(|| format!("{topic}:\n{}\nprinted:\n{printed}", lines.join("\n")))
}

/// Checks that every line of every block is printed.
fn check(examples: &[Example]) {
    let missing: Vec<_> = examples.iter().filter_map(missing).collect();
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn examples_of_output_are_what_is_printed() {
    check(&EXAMPLES);
}

#[test]
#[ignore = "searches of minutes without optimisation; `tests/interop/guide_commands.sh` runs it"]
fn slow_examples_of_output_are_what_is_printed() {
    check(&SLOW);
}
