//! `skyline workloads fit`: from what was sent to a workload that sends the like.

use std::fmt::Write as _;

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;
use skyline::random::RandomStream;
use skyline::workload::{ArrivalPattern, Distribution, WorkloadSpec};

use crate::support::Desk;

/// Two classes of known laws, five to three, with gamma gaps.
const KNOWN: &str = r#"
name = "known"
horizon_s = 300
warmup_s = 0
seed = 5
arrival = { kind = "gamma", rate_per_s = 20, burstiness = 0.4 }
tenants = [{ name = "one" }, { name = "two", classes = ["chat"] }]
[[classes]]
name = "chat"
weight = 5
input_tokens = { kind = "log_normal", median = 200, sigma = 0.7, min = 10, max = 4000 }
output_tokens = { kind = "exponential", mean = 90, min = 1, max = 900 }
slo = { ttft_ms = 300 }
[[classes]]
name = "rag"
weight = 3
input_tokens = { kind = "normal", mean = 900, std = 150, min = 100, max = 2000 }
output_tokens = { kind = "uniform", min = 10, max = 40 }
"#;

/// The requests of a virtual run, by class: number, mean prompt and mean answer.
fn means(desk: &Desk) -> Vec<(f64, f64, f64)> {
    let records = desk.lines("request");
    let of = |class: u64| {
        let own: Vec<&Value> =
            records.iter().filter(|record| record["class"] == class && record["phase"] == "measured").collect();
        let mean =
            |field: &str| own.iter().map(|record| record[field].as_f64().unwrap()).sum::<f64>() / own.len() as f64;
        (own.len() as f64, mean("input_tokens_asked"), mean("output_tokens_asked"))
    };
    vec![of(0), of(1)]
}

fn simulate(workload: &str, desk: &Desk) {
    let simulate = ["simulate", workload, "--out", "results", "--allow-invalid", "--warmup", "0s"];
    desk.skyline(&simulate).args(["--hardware", "h200"]).assert().success();
}

#[test]
fn a_run_gives_back_the_laws_that_it_was_drawn_from() {
    let desk = Desk::new();
    desk.file("known.toml", KNOWN);
    simulate("known.toml", &desk);
    let run = desk.run();
    desk.skyline(&["workloads", "fit", run.to_str().unwrap(), "--out", "fitted.toml"])
        .assert()
        .success()
        .stdout("")
        .stderr(contains("Class chat: ").and(contains("observed")).and(contains("gamma gaps of burstiness")));
    let path = run.parent().unwrap().parent().unwrap().join("fitted.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.starts_with("# fitted to "), "{text:.80}");
    let spec = WorkloadSpec::from_toml(&text, "the fit").unwrap();
    // Some 6,000 requests: a share has a standard error of 0.6 %, a rate with gaps of CV 1.58 one of 2 %, shapes, spreads
    // and medians some 2 %.
    let near = |found: f64, declared: f64, error: f64| (found / declared - 1.0).abs() < error;
    let ArrivalPattern::Gamma { rate_per_s, burstiness } = spec.arrival else { panic!("{:?}", spec.arrival) };
    assert!(near(rate_per_s, 20.0, 0.08) && near(burstiness, 0.4, 0.08), "{rate_per_s} {burstiness}");
    let [chat, rag] = spec.classes.as_slice() else { panic!("{text}") };
    assert!(near(chat.weight / (chat.weight + rag.weight), 0.625, 0.04));
    let Distribution::LogNormal { median, sigma, .. } = chat.input_tokens else { panic!("{chat:?}") };
    assert!(near(median, 200.0, 0.06) && near(sigma, 0.7, 0.06), "{median} {sigma}");
    let Distribution::Exponential { mean, .. } = chat.output_tokens else { panic!("{chat:?}") };
    assert!(near(mean, 90.0, 0.08), "{mean}");
    let Distribution::Normal { mean, std, .. } = rag.input_tokens else { panic!("{rag:?}") };
    assert!(near(mean, 900.0, 0.02) && near(std, 150.0, 0.08), "{mean} {std}");
    assert_eq!(rag.output_tokens, Distribution::Uniform { min: 10, max: 40 });

    let again = Desk::new();
    again.file("fitted.toml", &text);
    simulate("fitted.toml", &again);
    for (one, other) in means(&desk).into_iter().zip(means(&again)) {
        assert!(
            near(other.0, one.0, 0.12) && near(other.1, one.1, 0.05) && near(other.2, one.2, 0.05),
            "{one:?} {other:?}"
        );
    }
    // A log that was cut off half way is half as long, at the same rate.
    let whole = std::fs::read_to_string(run.join("run.jsonl")).unwrap();
    let late = |line: &&str| {
        let line: Value = serde_json::from_str(line).unwrap();
        line["request"]["scheduled_ns"].as_u64().is_none_or(|at| at > 150_000_000_000) && line["header"].is_null()
    };
    let cut: Vec<&str> = whole.lines().filter(|line| !late(line)).collect();
    desk.file("cut.jsonl", &(cut.join("\n") + "\n"));
    let output = desk.skyline(&["workloads", "fit", "cut.jsonl"]).assert().success();
    let text = String::from_utf8(output.get_output().stdout.clone()).unwrap();
    let spec = WorkloadSpec::from_toml(&text, "the fit").unwrap();
    assert!(near(spec.horizon_s, 150.0, 0.01) && near(spec.arrival.mean_rate_per_s(), 20.0, 0.12), "{text:.300}");
    assert!(text.contains("the run ended after 2 min") && text.contains(" of 5 min"), "{text:.2000}");
    // What is one of two shards is no process of its own.
    let shard = whole.replacen(r#""header":{"#, r#""header":{"shard":{"number":1,"of":2},"#, 1);
    desk.file("shard.jsonl", &shard);
    desk.skyline(&["workloads", "fit", "shard.jsonl"])
        .assert()
        .code(2)
        .stderr(contains("is shard 1/2 of a run").and(contains("skyline merge")));
    desk.skyline(&["trace", "from", "shard.jsonl"])
        .assert()
        .success()
        .stderr(contains("note: the run is shard 1/2").and(contains("skyline merge")));
    // Over HTTP too.
    let bench = ["bench", "fitted.toml", "1", "--drain", "1s", "--quiet", "--no-calibration", "--allow-invalid"];
    again.skyline(&bench).args(["--engine", "mock", "--warmup", "0s"]).assert().success();
}

/// Conversations beside single questions, each with arrivals of its own.
const SESSIONS: &str = r#"
name = "sessions"
horizon_s = 200
warmup_s = 0
[[classes]]
name = "talk"
arrival = { kind = "poisson", rate_per_s = 2 }
input_tokens = { kind = "uniform", min = 5, max = 9 }
output_tokens = { kind = "constant", value = 4 }
conversation = { turns = 3, think_time_s = 1, first_input_tokens = 40 }
[[classes]]
name = "ask"
arrival = { kind = "poisson", rate_per_s = 3 }
input_tokens = { kind = "constant", value = 100 }
output_tokens = { kind = "constant", value = 4 }
"#;

#[test]
fn turns_of_conversations_are_fitted_as_single_requests() {
    let desk = Desk::new();
    desk.file("sessions.toml", SESSIONS);
    simulate("sessions.toml", &desk);
    let run = desk.run();
    let output = desk.skyline(&["workloads", "fit", run.to_str().unwrap()]).assert().success();
    let text = String::from_utf8(output.get_output().stdout.clone()).unwrap();
    let spec = WorkloadSpec::from_toml(&text, "the fit").unwrap();
    let [ask, talk] = spec.classes.as_slice() else { panic!("{text}") };
    assert_eq!((&*ask.name, &ask.input_tokens), ("ask", &Distribution::Constant { value: 100 }));
    assert!(talk.conversation.is_none() && text.contains("become single requests"), "{text:.2000}");
    // Some 1,800 arrivals of 9 a second: a standard error of 3 %.
    let rate = spec.arrival.mean_rate_per_s();
    assert!((rate / 9.0 - 1.0).abs() < 0.13, "{rate}");
    desk.skyline(&["trace", "from", run.to_str().unwrap()])
        .assert()
        .success()
        .stderr(contains("become single requests"));
    desk.skyline(&["workloads", "fit", "results"])
        .assert()
        .code(2)
        .stderr(contains("nor run.jsonl").and(contains("the run's own folder inside it")));
}

#[test]
fn a_closed_loop_is_of_no_process() {
    let desk = Desk::new();
    let one = SESSIONS.split("[[classes]]").next().unwrap();
    desk.file(
        "users.toml",
        &format!(
            "{one}arrival = {{ kind = \"users\", users = 3 }}\n[[classes]]\nname = \"ask\"\n{}",
            "input_tokens = { kind = \"constant\", value = 9 }\noutput_tokens = { kind = \"constant\", value = 4 }\n"
        ),
    );
    simulate("users.toml", &desk);
    desk.skyline(&["workloads", "fit", desk.run().to_str().unwrap()])
        .assert()
        .code(2)
        .stderr(contains("was a closed loop of 3 users"));
}

/// Talks that begin with one of three system prompts of 64 tokens, in blocks of 16, at a rate that triples half way.
fn talks() -> String {
    let mut stream = RandomStream::named(1, "talks");
    let mut text = String::new();
    let (mut at, mut place) = (0.0, 1_000_u64);
    while at < 200.0 {
        at += stream.exponential() / if at < 100.0 { 5.0 } else { 15.0 };
        let system = stream.below(3) * 10;
        let own = 16 * (1 + stream.below(20));
        let mut blocks: Vec<u64> = (0..4).map(|block| system + block).collect();
        blocks.extend((0..own / 16).map(|block| place + block));
        place += 100;
        let (input, output) = (64 + own, 5 + stream.below(20));
        let _ = writeln!(
            text,
            r#"{{"timestamp": {at:.6}, "input_length": {input}, "output_length": {output}, "hash_ids": {blocks:?}, "type": "talk"}}"#
        );
    }
    text
}

#[test]
fn a_trace_gives_stages_and_lengths() {
    let desk = Desk::new();
    desk.file("talks.jsonl", &talks());
    let output = desk.skyline(&["workloads", "fit", "talks.jsonl", "--trace-format", "bailian"]).assert().success();
    let text = String::from_utf8(output.get_output().stdout.clone()).unwrap();
    let spec = WorkloadSpec::from_toml(&text, "the fit").unwrap();
    let ArrivalPattern::Stages { stages } = &spec.arrival else { panic!("{text}") };
    let (first, last) = (&stages[0], &stages[stages.len() - 1]);
    assert!((first.from_rate_per_s / 5.0 - 1.0).abs() < 0.2, "{stages:?}");
    assert!((last.from_rate_per_s / 15.0 - 1.0).abs() < 0.2, "{stages:?}");
    let [talk] = spec.classes.as_slice() else { panic!("{text}") };
    // 64 tokens of a system prompt, and 16 to 320 of its own.
    assert!((talk.input_tokens.mean() / 232.0 - 1.0).abs() < 0.05, "{:?}", talk.input_tokens);
    assert_eq!(talk.output_tokens, Distribution::Uniform { min: 5, max: 24 });
    assert!(
        talk.shared_prefix.is_none() && text.contains("prefixes that prompts share are not fitted"),
        "{text:.2000}"
    );
    desk.file("fitted.toml", &text);
    desk.skyline(&["simulate", "fitted.toml", "20", "--allow-invalid"]).assert().success();
}

#[test]
fn what_cannot_be_fitted_is_said() {
    let desk = Desk::new();
    desk.file("known.toml", KNOWN);
    simulate("known.toml", &desk);
    let run = desk.run();
    desk.skyline(&["workloads", "fit", run.to_str().unwrap(), "--rate-scale", "2"])
        .assert()
        .code(2)
        .stderr(contains("--rate-scale needs a trace").and(contains("skyline trace from")));
    desk.skyline(&["workloads", "fit", "none.jsonl"]).assert().code(2).stderr(contains("none.jsonl"));
    desk.file("one.jsonl", "{\"timestamp\": 0, \"input_length\": 5, \"output_length\": 5, \"hash_ids\": []}\n");
    desk.skyline(&["workloads", "fit", "one.jsonl"]).assert().code(2).stderr(contains("a fit needs two at least"));
    desk.file("three.jsonl", &talks().lines().take(3).collect::<Vec<_>>().join("\n"));
    desk.skyline(&["workloads", "fit", "three.jsonl", "--trace-format", "bailian"])
        .assert()
        .success()
        .stdout(contains("too few requests to determine the process").and(contains("only 3 values")));
}

#[test]
fn a_pool_of_clients_is_flown_shown_and_fitted() {
    let desk = Desk::new();
    let pool = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/traces/servegen");
    desk.skyline(&["trace", "show", pool])
        .assert()
        .success()
        .stdout(contains("servegen, to its end").and(contains("clients at their own rates")));
    desk.skyline(&["simulate", "--trace", pool, "--trace-for", "1m", "--rate-scale", "2", "--hardware", "h200"])
        .args(["--trace-format", "servegen", "--allow-invalid", "--out", "results"])
        .assert()
        .success()
        .stdout(contains("every client's rate times 2.00"));
    // 2 requests/s of CV 2, doubled, for 60 s: 240 with a standard deviation of about 31.
    let sent = desk.lines("request").iter().filter(|record| record["phase"] != "cooldown").count();
    assert!((116..=364).contains(&sent), "{sent}");
    desk.skyline(&["bench", "--trace", pool, "--trace-for", "3s", "--trace-from", "30m", "--rate-scale", "8"])
        .args(["--quiet", "--no-calibration", "--allow-invalid", "--engine", "mock", "--warmup", "0s", "--drain", "2s"])
        .assert()
        .success();
    desk.skyline(&["workloads", "fit", pool, "--trace-for", "10m"])
        .assert()
        .success()
        .stdout(contains("a table of 3 values").and(contains("kind = \"empirical\"")));
    desk.skyline(&["bench", "--trace", "."]).assert().code(2).stderr(contains("holds no file chunk-N-trace.csv"));
}
