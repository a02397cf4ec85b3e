//! What is printed without `--full`: the answer first, and no more than a screen of 24 lines of 80 columns.

use assert_cmd::Command;

/// Lines and columns of a terminal.
const SCREEN: (usize, usize) = (24, 80);

/// What a command prints on a terminal of 80 columns; `DATA` is the folder of stored results.
fn printed(command: &str) -> String {
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data");
    let mut skyline = Command::cargo_bin("skyline").unwrap();
    skyline.args(command.split(' ').map(|word| word.replace("DATA", data)));
    let output = skyline.env("COLUMNS", SCREEN.1.to_string()).env_remove("NO_COLOR").output().unwrap();
    let [shown, said] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert!(!shown.is_empty(), "{command}: {said}");
    shown
}

#[test]
fn every_result_fits_a_screen_and_begins_with_its_answer() {
    let mut wrong = Vec::new();
    for (command, answers) in [
        ("report DATA/runs/schema-1", &["VALID: "][..]),
        ("report DATA/runs/schema-3", &["VALID: "]),
        ("report DATA/runs/schema-5", &["VALID: "]),
        ("report DATA/experiments/sweep-schema-1", &["PASSED: "]),
        ("report DATA/experiments/ab-schema-1", &["INVALID: "]),
        ("report DATA/experiments/matrix-schema-1", &["MEASURED: "]),
        ("report DATA/foreign/vllm.json", &["NO VERDICT: "]),
        ("report DATA/foreign/sglang.jsonl", &["NO VERDICT: "]),
        ("report DATA/foreign/guidellm.json", &["NO VERDICT: "]),
        ("report DATA/foreign/aiperf", &["NO VERDICT: "]),
        ("audit DATA/runs/schema-5", &["SUPPORTED: "]),
        ("audit DATA/foreign/vllm.json", &["SUPPORTED: "]),
        ("audit DATA/foreign/guidellm.json", &["AUDITED: "]),
        ("compare DATA/experiments/ab-schema-1/round-1/a DATA/experiments/ab-schema-1/round-1/b", &["COMPARED: "]),
        (
            "compare DATA/experiments/ab-schema-1/round-1/a DATA/experiments/ab-schema-1/round-2/a \
             DATA/experiments/ab-schema-1/round-3/a --allow-invalid --vary plan",
            &["COMPARED: "],
        ),
        (
            "compare DATA/foreign/vllm.json DATA/foreign/vllm-python.json DATA/foreign/guidellm.json:1 --allow-invalid \
             --vary workload --vary rate",
            &["COMPARED: "],
        ),
        (
            "capacity DATA/experiments/sweep-schema-1 --target-rate 400 --gpus-per-instance 2 --gpu-hour 3",
            &["ENOUGH: "],
        ),
        (
            "capacity DATA/experiments/sweep-schema-1 DATA/experiments/sweep-schema-1 --target-rate 400 \
             --max-gpus 4 --gpus-per-instance 2",
            &["NOT ENOUGH: "],
        ),
        ("matrix rows_a_to_f --plan", &["DRY RUN: "]),
        ("calibrate --seconds 1", &["READY: ", "NOISY: ", "NOT FIT: "]),
        ("simulate short_chat 60 --hardware h100 --rate 20", &["VALID: "]),
        ("simulate short_chat 30 --hardware h100 --rate 60 --pools 2:2", &["VALID: "]),
        ("simulate short_chat 30 --hardware a10g --rate 20", &["OVERLOADED: ", "INVALID: "]),
        ("simulate short_chat 20 --hardware h100 --rate 20 --repeats 5", &["VALID: "]),
        ("trace show DATA/traces/bailian.jsonl", &["Trace "]),
    ] {
        let shown = printed(command);
        let (lines, widest) = (shown.lines().count(), shown.lines().map(|line| line.chars().count()).max());
        let fits = lines <= SCREEN.0 && widest.unwrap_or(0) <= SCREEN.1;
        if !fits || !answers.iter().any(|answer| shown.starts_with(answer)) {
            wrong.push(format!("{command}: {lines} lines, {widest:?} columns\n{shown}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn they_read_well() {
    for (name, command) in [
        ("a_run", "report DATA/runs/schema-1"),
        ("a_sweep", "report DATA/experiments/sweep-schema-1"),
        ("an_ab_test", "report DATA/experiments/ab-schema-1"),
        ("a_matrix", "report DATA/experiments/matrix-schema-1"),
        ("a_run_of_another_tool", "report DATA/foreign/vllm.json"),
        ("a_simulation", "simulate short_chat 60 --hardware h100 --rate 20"),
        ("a_comparison", "compare DATA/experiments/ab-schema-1/round-1/a DATA/experiments/ab-schema-1/round-1/b"),
        (
            "a_capacity_plan",
            "capacity DATA/experiments/sweep-schema-1 --target-rate 400 --gpus-per-instance 2 --gpu-hour 3",
        ),
    ] {
        let data = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data");
        insta::assert_snapshot!(name, printed(command).replace(data, "DATA"));
    }
}
