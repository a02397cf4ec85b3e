//! A workload said with flags: what goes together, what does not, and what `--dry-run` shows of it. Nothing is sent.

use predicates::prelude::*;
use predicates::str::contains;

use crate::quick::QUICK;
use crate::support::Desk;

/// Lines that a mistake may fill.
const MOST_LINES: usize = 9;

fn assert_refused(desk: &Desk, arguments: &[&str], said: &str) {
    let output = desk.skyline(arguments).assert().code(2).stdout("");
    let words = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    assert!(words.contains(said), "{arguments:?}: no {said:?} in\n{words}");
    assert!(words.lines().count() <= MOST_LINES, "{arguments:?}:\n{words}");
}

#[test]
fn options_that_say_two_things_are_refused_with_a_cure() {
    let desk = Desk::new();
    desk.file("loop.toml", &QUICK.replace("kind = \"constant\"\nrate_per_s = 20", "kind = \"users\"\nusers = 3"));
    let request =
        |ms| format!("{{\"timestamp\": {ms}, \"input_length\": 5, \"output_length\": 5, \"hash_ids\": []}}\n");
    desk.file("trace.jsonl", &[0, 1000, 2000, 3000].map(request).concat());
    for (typed, said) in [
        ("quick.toml --rate 5 --users 3", "cannot be used with"),
        ("quick.toml 5 --requests 9", "cannot be used with"),
        ("quick.toml --slo ttft=1s --goodput ttft:500", "cannot be used with"),
        ("quick.toml --rate max", "add --requests N, which sends N at once, or --max-concurrency N"),
        ("quick.toml --rate max --max-concurrency 4 --arrival constant", "(or `--rate inf`) and `--arrival` both say"),
        ("quick.toml --users 4 --ramp 1:20:60s", "and `--ramp` both say when requests leave"),
        ("quick.toml --ramp 1:20:60s --rate 5", "leave `--rate`, `--arrival` and `--burstiness` out"),
        ("quick.toml --arrival gamma", "give `--burstiness` too"),
        ("quick.toml --arrival poisson --burstiness 0.5", "leave it out, or give `--arrival gamma`"),
        ("quick.toml --think-time 1s", "leave it out, or give `--users`"),
        ("loop.toml --ramp 1:20:60s --think-time 1s", "leave it out, or give `--users`"),
        ("loop.toml --rate 5", "`--users` says how many they are, `--arrival poisson` takes their place"),
        ("loop.toml --burstiness 2", "`--burstiness` needs `--rate` here"),
        ("quick.toml --users 9 --requests 3", "ask for as many requests as users"),
        ("--trace trace.jsonl --users 4", "(or `--rate inf`) cannot be given for a trace"),
        ("--trace trace.jsonl --rate 4", "`--rate-scale` replays more or fewer"),
        ("--trace trace.jsonl --input-tokens 4", "a trace, which says how long prompts are"),
        ("--trace trace.jsonl --arrival poisson", "a trace, which says when requests leave"),
        ("5 --rate 3", "no WORKLOAD is named"),
        ("--input-tokens 9 --trace-from 1s", "name one with --trace FILE"),
    ] {
        let typed: Vec<_> = std::iter::once("bench").chain(typed.split(' ')).collect();
        assert_refused(&desk, &typed, said);
    }
    for (typed, said) in [
        ("sweep quick.toml --users 1,2 --burstiness 0.5", "and `--burstiness` both say when requests leave"),
        ("sweep quick.toml --rates 1,2 --think-time 1s", "leave it out, or give `--users`"),
        ("sweep loop.toml --rates 1,2", "sweep the users"),
        ("sweep quick.toml --ramp 1:2:5s", "it is an option of bench, ab, simulate"),
        (
            "simulate quick.toml --sweep --sweep-users 1,2 --arrival constant",
            "and `--arrival` both say when requests leave",
        ),
    ] {
        assert_refused(&desk, &typed.split(' ').collect::<Vec<_>>(), said);
    }
    assert!(desk.runs().is_empty());
}

#[test]
fn a_value_that_is_none_is_answered_with_what_it_must_be() {
    let desk = Desk::new();
    for (option, value, said) in [
        ("--input-tokens", "1k", "a range such as 100..400"),
        ("--input-tokens", "1,024", "write a number such as 1024"),
        ("--input-tokens", "100:400", "a range such as 100..400"),
        ("--input-tokens", "400..100", "swap them"),
        ("--input-tokens", "-5", "a whole number from 1 to 1,000,000"),
        ("--output-tokens", "normal:256", "`tokens.std` is missing"),
        ("--output-tokens", "gauss:256:128", "the kinds are constant, uniform, normal"),
        ("--output-tokens", "1.5", "a whole number from 1"),
        ("--slo", "ttft=500", "write ttft=500ms or ttft=500s"),
        ("--slo", "itl=5ms", "write it like ttft=500ms"),
        ("--slo", "ttft<500ms", "write it like ttft=500ms"),
        ("--goodput", "ttft", "write it like ttft=500ms"),
        ("--ramp", "1:20", "FROM:TO:OVER, such as 1:20:60s"),
        ("--ramp", "1:20:fast", "FROM:TO:OVER, such as 1:20:60s"),
        ("--ramp", "0:0:60s", "rate"),
        ("--arrival", "uniform", "the forms are poisson, constant and gamma"),
        ("--burstiness", "0", "not a number above 0"),
        ("--burstiness", "5000", "`--burstiness` is 5000; it must be a number from 0.01 to 1,000"),
        ("--rate", "5/s", "not a number above 0, nor `inf`"),
        ("--rate", "inf", "or --max-concurrency N, which keeps N in flight"),
        ("--users", "-3", "`-3` is not a whole number from 1 to 100,000"),
        ("--users", "2.5", "`2.5` is not a whole number from 1 to 100,000"),
        ("--requests", "1k", "`1k` is not a whole number from 1 on"),
        ("--seed", "abc", "`abc` is not a whole number from 0 on"),
        ("--percentiles", "0.99", "write 99 for 0.99"),
        ("--percentiles", "100", "above 0 and below 100"),
        ("--warmup-requests", "20000", "`20000` is not a whole number from 0 to 10,000"),
    ] {
        assert_refused(&desk, &["bench", "quick.toml", &format!("{option}={value}")], said);
    }
    assert_refused(&desk, &["bench", "quick.toml", "--users", "-3"], "`-3` is not a whole number");
    assert_refused(&desk, &["bench", "quick.toml", "--input-tokens", "-3"], "a whole number from 1");
    assert_refused(&desk, &["bench", "--goodput", "ttft:500", "quick.toml"], "a workload stands before --goodput");
    assert_refused(&desk, &["bench", "quick.toml", "--slo", "ttft=1s", "tpot=9ms"], "commas between them");
    assert!(desk.runs().is_empty());
}

#[test]
fn a_workload_that_cannot_be_read_is_named() {
    let desk = Desk::new();
    desk.file("empty.toml", "\n");
    std::fs::create_dir(desk.path().join("folder.toml")).unwrap();
    std::fs::write(desk.path().join("latin.toml"), b"name = \"caf\xe9\"\n").unwrap();
    for (typed, said) in [
        ("empty.toml", "skyline workloads show short_chat"),
        ("nothing.toml", "`skyline workloads show short_chat > nothing.toml`"),
        (".", "cannot read .: is a directory"),
        ("folder.toml", "cannot read folder.toml: Is a directory"),
        ("latin.toml", "latin.toml: stream did not contain valid UTF-8"),
        ("./nothing", "its name must end in .toml or .json"),
        ("--dataset folder.toml", "add --dataset-format"),
        ("--dataset nothing.jsonl", "nothing.jsonl"),
    ] {
        let typed: Vec<_> = std::iter::once("bench").chain(typed.split(' ')).collect();
        assert_refused(&desk, &typed, said);
    }
    let from_stdin = |input: &[u8]| {
        let mut command = desk.skyline(&["bench", "-", "2", "--dry-run"]);
        command.write_stdin(input).assert()
    };
    from_stdin(b"").code(2).stderr(contains("1 mistake in standard input").and(contains("workloads show")));
    from_stdin(b"\xff\xfe").code(2).stderr(contains("standard input: stream did not contain valid UTF-8"));
    let typo = QUICK.replace("rate_per_s", "rat_per_s");
    from_stdin(typo.as_bytes()).code(2).stderr(contains("line 11: ").and(contains("did you mean `rate_per_s`")));
    from_stdin(QUICK.as_bytes()).code(0);
    desk.skyline(&["workloads", "show", "-"]).write_stdin(QUICK).assert().code(0).stdout(contains("[[classes]]"));
}

/// What a dry run shows, with single spaces.
fn dry_run(desk: &Desk, typed: &str) -> String {
    let typed: Vec<_> = typed.split(' ').chain(["--dry-run"]).collect();
    let output = desk.skyline(&typed).env("SKYLINE_WAIT", "9s").assert().code(0);
    let text = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn dry_runs_show_what_would_be_run_for_how_long_and_where_options_come_from() {
    let desk = Desk::new();
    desk.file("skyline.toml", "[matrix]\nlabel = [\"team=a\"]\n");
    for (typed, said) in [
        (
            "bench 60 --input-tokens 100..400 --output-tokens 50 --rate 5",
            &["250 prompt tokens and 50.0 answer", "over 1 min"][..],
        ),
        ("bench quick.toml --users 3 --percentiles 99,50", &["3 users", "percentiles 50, 99"]),
        (
            "bench --input-tokens 9 --rate inf --max-concurrency 64 --requests 1000",
            &["closed", "1,000 requests", "at most 64 in flight"],
        ),
        ("bench quick.toml --warmup-requests 7 --repeats 3", &["in 3 runs over 6 s", "warm-up requests 7"]),
        (
            "sweep quick.toml --rates 1:8:x2 --objective error_rate<1% --sustain 10m",
            &[
                "1.00/s, 2.00/s, 4.00/s, 8.00/s",
                "5 min a run at most",
                "held for 10 min",
                "judged by error_rate<1%",
                "load about",
            ],
        ),
        ("sweep quick.toml --users 1,4 --think-time 1s", &["1 user, 4 users"]),
        (
            "ab quick.toml --a http://x:1 --b http://x:2 --rounds 8",
            &["8, each with a run of A and one of B", "in 16 runs over 32 s", "http://x:1", "http://x:2"],
        ),
        ("matrix rows_a_to_f --only A --seconds 5", &["--label=team=a from skyline.toml"]),
    ] {
        let shown = dry_run(&desk, typed);
        for said in said.iter().chain(&["--wait=9s from SKYLINE_WAIT"]) {
            assert!(shown.contains(said), "{typed}: no {said:?} in\n{shown}");
        }
    }
    assert!(desk.runs().is_empty());
}

#[test]
fn the_percentiles_that_were_asked_for_are_in_every_form() {
    let desk = Desk::new();
    let typed = ["bench", "quick.toml", "--quiet", "--no-calibration", "--allow-invalid", "--percentiles", "50,97.5"];
    let output = desk.skyline(&typed).args(["--format", "text,markdown=summary.md"]).assert().code(0);
    let text = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
    let markdown = std::fs::read_to_string(desk.path().join("summary.md")).unwrap();
    let page = std::fs::read_to_string(desk.run().join("report.html")).unwrap();
    for (form, text) in [("text", &text), ("page", &page)] {
        assert!(text.contains("p97.5"), "{form}:\n{text}");
    }
    assert!(markdown.contains("p97.5"), "{markdown}");
    let summary = desk.summary();
    assert!(summary["latency"]["ttft"]["p97_5"]["value_ms"].is_f64(), "{summary}");
    desk.assert_schema("summary", &summary);
}
