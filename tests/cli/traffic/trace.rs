//! Traces, from the file to the report: replayed, made of runs and logs, refused where they are wrong.

use std::fmt::Write as _;

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

use crate::support::Desk;

/// Two seconds of 60 requests at uneven moments, three lines of which name blocks that the next one has too.
fn trace() -> String {
    let mut text = String::new();
    for place in 0_u64..60 {
        let at = place * 33 + place * place % 7;
        let (input, output) = (40 + place % 9, 3 + place % 4);
        let blocks = format!("[{}, {}]", place / 2, 100 + place);
        let _ = writeln!(
            text,
            r#"{{"timestamp": {at}, "input_length": {input}, "output_length": {output}, "hash_ids": {blocks}}}"#
        );
    }
    text
}

/// Moments, lengths and classes of what a run sent, in order.
fn sent(desk: &Desk) -> Vec<(u64, u64, u64, u64)> {
    let field = |record: &Value, name: &str| record[name].as_u64().unwrap();
    let mut sent: Vec<_> = desk
        .lines("request")
        .iter()
        .map(|record| {
            let lengths = (field(record, "input_tokens_asked"), field(record, "output_tokens_asked"));
            (field(record, "scheduled_ns"), lengths.0, lengths.1, field(record, "class"))
        })
        .collect();
    sent.sort_unstable();
    sent
}

#[test]
fn a_trace_is_replayed_at_its_own_moments() {
    let desk = Desk::new();
    desk.file("some.jsonl", &trace());
    let flags = ["--no-calibration", "--allow-invalid", "--warmup", "0s"];
    desk.skyline(&["bench", "--trace", "some.jsonl", "--quiet"])
        .args(flags)
        .assert()
        .success()
        .stdout(contains("as in a trace").and(contains("some.jsonl, mooncake, to its end from 0 ms on its own clock")))
        .stdout(contains("as recorded").and(contains("in leading blocks that came before")));
    let expected: Vec<_> = (0_u64..60)
        .map(|place| ((place * 33 + place * place % 7) * 1_000_000, 40 + place % 9, 3 + place % 4, 0))
        .collect();
    assert_eq!(sent(&desk), expected);
    let summary = desk.summary();
    assert_eq!(summary["run"]["arrival"]["kind"], "trace");
    assert_eq!(summary["run"]["arrival"]["found"]["requests"], 60);
    // No process is declared, so that none is tested; delivery is held against the plan.
    for rule in ["planned_arrivals", "delivered_arrivals"] {
        let checks = desk.checks(rule);
        assert!(!checks.is_empty());
        let replayed = |check: &Value| check["sentence"].as_str().unwrap().contains("a trace declares no process");
        assert!(checks.iter().any(|check| check["outcome"] == "not_tested" && replayed(check)), "{checks:?}");
    }
    // Loosely: a request that leaves a quarter of a second late on a busy machine is no replay.
    let lag = summary["latency"]["schedule_lag"]["p50"]["value_ms"].as_f64().unwrap();
    assert!(lag < 250.0, "{lag}");
    // What is stored is shown again without the trace.
    std::fs::remove_file(desk.file("some.jsonl", "")).unwrap();
    desk.skyline(&["report", desk.run().to_str().unwrap(), "--allow-invalid"])
        .assert()
        .success()
        .stdout(contains("some.jsonl, mooncake"));
}

#[test]
fn a_trace_of_a_run_is_the_same_plan() {
    let first = Desk::new();
    first.skyline(&["simulate", "bursty_mix", "20", "--out", "results"]).assert().success();
    let run = first.run();
    let made = first.file("some.jsonl", "").with_file_name("made.jsonl");
    let (run, made) = (run.to_str().unwrap().to_owned(), made.to_str().unwrap().to_owned());
    first.skyline(&["trace", "from", &run, "--out", &made]).assert().success().stderr(contains("requests in"));
    let text = std::fs::read_to_string(&made).unwrap();
    let heading = "{\"skyline_trace\":1,\"window\":{\"from_ns\":";
    assert!(text.starts_with(heading) && text.contains("\"to_ns\":20000000000}}\n"), "{text:.80}");
    assert!(!text.contains("prompt"), "lengths and classes, no text");

    let again = Desk::new();
    again.skyline(&["simulate", "bursty_mix", "--trace", &made]).args(["--out", "results"]).assert().success();
    assert_eq!(sent(&again), sent(&first));
    let hash = |desk: &Desk| desk.summary()["run"]["plan_hash"].as_str().unwrap().to_owned();
    assert_eq!(hash(&again), hash(&first), "moments, lengths, classes and priorities");
}

#[test]
fn what_is_changed_in_a_trace_is_said() {
    let desk = Desk::new();
    desk.file("some.jsonl", &trace());
    desk.skyline(&["simulate", "short_chat", "--trace", "some.jsonl", "--time-scale", "10", "--rate-scale", "3.5"])
        .args(["--out", "results", "--allow-invalid"])
        .assert()
        .success()
        .stdout(contains("10.0 times as slow").and(contains("overlaid 3.50 times")));
    let show = |how: &[&str]| desk.skyline(&[&["trace", "show", "some.jsonl"], how].concat()).assert();
    let fast = show(&["--trace-speed", "4"]).success().get_output().stdout.clone();
    assert_eq!(fast, show(&["--time-scale", "0.25"]).success().get_output().stdout, "the same in other words");
    assert_ne!(fast, show(&[]).success().get_output().stdout);
    show(&["--trace-speed", "4", "--time-scale", "0.25"]).code(2).stderr(contains("cannot be used with"));
    let sent = sent(&desk);
    // The slice has 60 requests; three copies and about half of a fourth.
    let inside = sent.iter().filter(|request| request.0 < 19_600_000_000).count();
    assert!((181..=240).contains(&inside), "{inside}");
}

#[test]
fn a_spec_names_its_trace() {
    let desk = Desk::new();
    // Beside each other, in another folder than the one where skyline runs.
    desk.file("specs/some.jsonl", &trace());
    let spec = "name = \"mine\"\n[trace]\npath = \"some.jsonl\"\nfrom_s = 1\nrate_scale = 0.5\n\
                [[classes]]\nname = \"all\"\nslo = { ttft_ms = 10000 }\n";
    desk.file("specs/mine.toml", spec);
    desk.skyline(&["simulate", "specs/mine.toml", "--out", "results", "--allow-invalid"])
        .assert()
        .success()
        .stdout(contains("thinned, each request").and(contains("with a chance of 50 %")));
    let all: Vec<_> = trace().lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect();
    for (at, ..) in sent(&desk) {
        let moment = at / 1_000_000 + 1_000;
        assert!(all.iter().any(|request| request["timestamp"] == moment), "{moment} ms is a moment of the trace");
    }
}

#[test]
fn a_trace_that_cannot_be_replayed_is_refused_before_any_load() {
    let desk = Desk::new();
    desk.file("bad.jsonl", &format!("{}{{\"timestamp\": 9999, \"input_length\": 0}}\n", trace()));
    desk.file("none.txt", "hello\n");
    for (arguments, message) in [
        (&["--trace", "bad.jsonl"][..], "bad.jsonl, line 61, column 38: missing field `output_length`"),
        (&["--trace", "none.txt"], "has no known trace format"),
        (&["--trace", "gone.jsonl"], "gone.jsonl cannot be read"),
        (&["short_chat", "--time-scale", "2"], "--time-scale needs a trace, and `short_chat` replays none"),
        (&["short_chat", "--trace-speed", "2"], "--trace-speed needs a trace, and `short_chat` replays none"),
        (&["--trace", "bad.jsonl", "--skip-bad", "--rate", "3"], "`--rate` cannot be given for a trace"),
        (&["--trace", "bad.jsonl", "--skip-bad", "--dataset", "a.csv"], "`--dataset` cannot be given for a trace"),
        (&["--trace", "bad.jsonl", "--skip-bad", "--rate-scale", "1000"], "`trace.rate_scale` is 1000"),
        (&["--trace", "bad.jsonl", "--skip-bad", "--trace-from", "1h"], "no request from 3600 s on"),
        (&["--trace", "bad.jsonl", "--skip-bad", "--requests", "61"], "the slice of the trace has 60"),
    ] {
        for verb in ["bench", "simulate"] {
            desk.skyline(&[verb]).args(arguments).assert().code(2).stderr(contains(message));
        }
    }
    assert!(desk.runs().is_empty());
    desk.skyline(&["trace", "show", "bad.jsonl", "--skip-bad"])
        .assert()
        .success()
        .stdout(contains("1 line left out unread").and(contains("60 requests in 1.9 s")));
}

#[test]
fn a_log_becomes_a_trace() {
    let desk = Desk::new();
    desk.file(
        "access.jsonl",
        "{\"when\": \"2026-01-02T03:04:06.5Z\", \"usage\": {\"in\": 12, \"out\": 3}, \"route\": \"chat\"}\n\n\
         {\"when\": \"2026-01-02T03:04:05Z\", \"usage\": {\"in\": 9, \"out\": 4}, \"route\": \"rag\"}\n",
    );
    let fields = ["--time", "when", "--input", "usage.in", "--output", "usage.out"];
    desk.skyline(&["trace", "from", "access.jsonl", "--class", "route"]).args(fields).assert().success().stdout(
        "{\"skyline_trace\":1}\n\
         {\"at_ns\":0,\"input_tokens\":9,\"output_tokens\":4,\"class\":\"rag\"}\n\
         {\"at_ns\":1500000000,\"input_tokens\":12,\"output_tokens\":3,\"class\":\"chat\"}\n",
    );
    desk.skyline(&["trace", "from", "access.jsonl", "--class", "user"])
        .args(fields)
        .assert()
        .code(2)
        .stderr(contains("access.jsonl, line 1, column 1: `user` is missing"));
    desk.skyline(&["trace", "from", "access.jsonl"]).assert().code(2).stderr(contains("name the fields: --time"));
    desk.file("nginx.log", "1.2.3.4 - - [02/Jan/2026:03:04:05 +0000] \"POST /v1/chat HTTP/1.1\" 200 17\n");
    desk.skyline(&["trace", "from", "nginx.log"])
        .args(fields)
        .assert()
        .code(2)
        .stderr(contains("nginx.log, line 1, column").and(contains("a line is a JSON object with the named fields")));
    desk.file("mixed.jsonl", "{\"when\": 1, \"usage\": {\"in\": 9, \"out\": 4}}\n{\"when\": 2, \"health\": true}\n");
    desk.skyline(&["trace", "from", "mixed.jsonl", "--skip-bad"])
        .args(fields)
        .assert()
        .success()
        .stdout(contains("\"input_tokens\":9"))
        .stderr(contains("1 line left out"));
}

#[test]
fn a_slice_that_is_typed_leaves_the_window_of_the_file() {
    let desk = Desk::new();
    desk.file("some.jsonl", &trace());
    let window = "horizon_s = 1\nwarmup_s = 0\n";
    desk.file("mine.toml", &format!("name = \"mine\"\n{window}[trace]\npath = \"some.jsonl\"\n"));
    for flag in [&["--skip-bad"][..], &["--rate-scale", "0.9"], &["--trace-from", "100ms"]] {
        let shown = desk.skyline(&["simulate", "mine.toml", "--json", "--allow-invalid"]).args(flag).assert().success();
        let summary: Value = serde_json::from_slice(&shown.get_output().stdout).unwrap();
        let window = &summary["summary"]["window"];
        assert_eq!((&window["start_s"], &window["planned_end_s"]), (&0.0.into(), &1.0.into()), "{flag:?}");
    }
}

#[test]
fn a_slice_that_cannot_be_is_refused_before_the_trace_is_read() {
    let desk = Desk::new();
    desk.file("some.jsonl", &trace());
    desk.file("mine.toml", "name = \"mine\"\n[trace]\npath = \"some.jsonl\"\n");
    for named in [&["simulate", "mine.toml"][..], &["trace", "show", "some.jsonl"]] {
        desk.skyline(named)
            .args(["--rate-scale", "1e9"])
            .assert()
            .code(2)
            .stderr(contains("`rate_scale` is 1000000000; it must be a number from 0.0001 to 100"));
    }
}

#[test]
fn a_trace_is_written_whole_or_not_at_all() {
    let desk = Desk::new();
    let log = desk.file("log.jsonl", "{\"t\": 1, \"in\": 9, \"out\": 4}\n{\"t\": 2, \"in\": 9, \"out\": 4.5}\n");
    let from = |more: &[&str]| {
        let named = ["trace", "from", "log.jsonl", "--time", "t", "--input", "in", "--output", "out"];
        desk.skyline(&[&named, more].concat()).assert()
    };
    from(&["--out", "made.jsonl"]).code(2).stderr(contains("line 2, column 19 (`out`): 4.5 is not a whole number"));
    let made = log.with_file_name("made.jsonl");
    assert!(!made.exists());
    from(&["--out", "made.jsonl", "--skip-bad"]).success().stderr(contains("1 request in made.jsonl"));
    assert_eq!(std::fs::read_to_string(&made).unwrap().lines().count(), 2);
    let before = std::fs::read_to_string(&log).unwrap();
    for there in ["made.jsonl", "log.jsonl"] {
        from(&["--out", there, "--skip-bad"]).code(2).stderr(contains("is there already"));
    }
    assert_eq!(std::fs::read_to_string(&log).unwrap(), before);
    assert!(!log.with_file_name("made.jsonl.part").exists());
    desk.skyline(&["trace", "from", "results", "--time-unit", "ms"]).assert().code(2);
}

#[test]
fn a_prefix_that_a_trace_takes_the_place_of_is_named() {
    let desk = Desk::new();
    desk.file("some.jsonl", &trace());
    let with = format!(
        "{}shared_prefix = {{ count = 4, tokens = 160 }}\n",
        crate::quick::QUICK.split("[classes.prompt]").next().unwrap()
    );
    desk.file("pre.toml", &with);
    let note = "note: the trace defines the shared prefixes; those of class `tiny` are ignored";
    desk.skyline(&["simulate", "pre.toml", "--trace", "some.jsonl", "--allow-invalid"])
        .assert()
        .success()
        .stderr(contains(note));
    desk.skyline(&["simulate", "quick.toml", "--trace", "some.jsonl", "--allow-invalid"])
        .assert()
        .success()
        .stderr(contains(note).not());
}
