//! Sessions that begin in their middle, and caches that hold what was said before: from the file to the server's log.

use std::time::Duration;

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::{Value, json};
use skyline::clock::Timestamp;
use skyline::generator::check_plan;
use skyline::random::RandomStream;
use skyline::record::{Phase, PlanCheck, RequestRecord, RunLog};

use crate::support::{Desk, mock};

/// Requests of the main agent of each session, 250 ms apart, and of the one beside it.
const MAIN: u64 = 9;
const BESIDE: u64 = 4;
/// Begin of the second agent, and its last request, milliseconds.
const SPAWNED: u64 = 600;
/// The last begin of a session, milliseconds.
const LENGTH: u64 = (MAIN - 1) * 250;

/// A request of a trace that begins after so many milliseconds, whose prompt has so many tokens.
fn request(ms: u64, tokens: u64, first_id: u64) -> Value {
    let ids: Vec<u64> = (first_id..first_id + tokens.div_ceil(64)).collect();
    json!({"t": ms as f64 / 1e3, "type": "s", "model": "big", "in": tokens, "out": 4, "hash_ids": ids,
        "api_time": 0.1})
}

/// Tokens of the prompt of request `k` of the main agent, or of the other, in session `s`. No two are equal.
fn main_tokens(s: u64, k: u64) -> u64 {
    640 * (k + 1) + 64 * s
}

fn beside_tokens(s: u64, k: u64) -> u64 {
    8_000 + 640 * (k + 1) + 64 * s
}

/// Begin of request `k` of the second agent, milliseconds.
fn beside_ms(k: u64) -> u64 {
    SPAWNED + 300 * k
}

/// A trace of three sessions.
fn trace() -> String {
    let session = |s: u64| {
        let mut requests: Vec<Value> = (0..MAIN).map(|k| request(k * 250, main_tokens(s, k), 0)).collect();
        let inner: Vec<Value> = (0..BESIDE).map(|k| request(beside_ms(k), beside_tokens(s, k), 1_000)).collect();
        let beside = json!({"t": 0.6, "type": "subagent", "agent_id": "a", "subagent_type": "Explore", "models": ["big"],
            "status": "async_launched", "requests": inner});
        requests.insert(3, beside);
        json!({"id": format!("s{s}"), "models": ["big"], "block_size": 64, "hash_id_scope": "local",
            "requests": requests})
        .to_string()
    };
    (0..3).map(|s| session(s) + "\n").collect()
}

/// A desk where three agents have played the trace for 4 s against a mock of their own, after 1 s of warm-up.
fn run(more: &[&str]) -> (Desk, RunLog) {
    let (desk, server) = (Desk::new(), mock(&["--hardware", "h200"]));
    let path = desk.file("trace.jsonl", &trace());
    let bench =
        ["bench", "--trace", path.to_str().unwrap(), "5", "--agents", "3", "--warmup", "1s", "--engine", "mock"];
    let load = ["--start-window", "0.25..0.75", "--url", &server.url, "--no-calibration", "--allow-invalid"];
    desk.skyline(&bench).args(load).args(more).assert().code(0);
    let log = RunLog::read(&desk.run()).unwrap();
    let held = check_plan(&log);
    let is_held = matches!(&held, PlanCheck::Held { records, unchecked } if *records > 20 && unchecked.is_empty());
    assert!(is_held, "{held:?}");
    (desk, log)
}

/// The moment of its session at which a lane begins, by the seed.
fn begins(log: &RunLog, lane: u64) -> Duration {
    let workload = &log.header.workload;
    let stream = RandomStream::named(workload.seed, &format!("starts/{}", workload.classes[0].name));
    Duration::from_millis(LENGTH).mul_f64(0.25 + 0.5 * stream.branch(lane).unit())
}

/// Begins and prompts of both agents of a session.
fn agents(s: u64) -> [Vec<(Duration, u64)>; 2] {
    let ms = Duration::from_millis;
    [
        (0..MAIN).map(|k| (ms(k * 250), main_tokens(s, k))).collect(),
        (0..BESIDE).map(|k| (ms(beside_ms(k)), beside_tokens(s, k))).collect(),
    ]
}

/// The requests of the first session of a lane.
fn first_session(log: &RunLog, lane: u64) -> Vec<RequestRecord> {
    let of_lane = |record: &RequestRecord| record.turn().is_some_and(|turn| turn.session == lane && turn.begun == 0);
    log.records.iter().filter(|record| of_lane(record)).map(|record| RequestRecord::clone(&record)).collect()
}

#[test]
fn agents_begin_at_a_drawn_moment_and_primed_caches_hold_what_was_before_it() {
    let (desk, log) = run(&["--cache", "primed"]);
    let window = Timestamp::from_secs_f64(1.0);
    for lane in 0..3 {
        let (at, records) = (begins(&log, lane), first_session(&log, lane));
        let sent = |tokens: u64| records.iter().find(|record| u64::from(record.input_tokens_asked) == tokens);
        for requests in agents(lane) {
            let first = requests.partition_point(|(begins, _)| *begins < at);
            let Some((begins, tokens)) = requests.get(first) else {
                assert!(requests.iter().all(|(_, tokens)| sent(*tokens).is_none()), "its agent was over");
                continue;
            };
            let (_, primed) = requests[first - 1];
            let primed = sent(primed).unwrap();
            assert_eq!(
                (primed.phase, primed.output_tokens_asked, primed.usage.unwrap().completion_tokens),
                (Phase::Warmup, 1, 1)
            );
            let due = window.after(begins.saturating_sub(at)).max(primed.ended);
            assert_eq!(sent(*tokens).unwrap().scheduled, due, "lane {lane}, {begins:?} of {at:?}");
            assert_eq!(sent(*tokens).unwrap().output_tokens_asked, 4);
            let before = &requests[..first - 1];
            assert!(before.iter().all(|(_, tokens)| sent(*tokens).is_none()), "what was long before is not sent");
        }
    }
    let others: Vec<_> = log.records.iter().filter(|record| record.turn().is_some_and(|turn| turn.begun > 0)).collect();
    let first = others.iter().find(|record| record.turn().unwrap().place() == 0).unwrap();
    assert!((0..3).any(|s| u64::from(first.input_tokens_asked) == main_tokens(s, 0)), "from the beginning");
    let primed = || log.records.iter().filter(|record| record.phase == Phase::Warmup);
    // On a busy machine some are answered when the window has begun.
    let late = primed().filter(|record| record.ended > window).count();
    assert_eq!(desk.summary()["prefix_cache"]["priming"], json!({ "requests": primed().count(), "late": late }));
    let said = desk.summary()["findings"].as_array().unwrap().iter().any(|finding| finding["kind"] == "late_priming");
    assert_eq!(said, late > 0);
}

/// Share of prompt tokens in a cache, by the plan and by the mock's own counters.
fn hit_rates(desk: &Desk) -> [f64; 2] {
    let cache = &desk.summary()["prefix_cache"];
    assert_eq!(cache["measured"]["source"], "counters", "{cache}");
    [&cache["expected_least"], &cache["measured"]["rate"]].map(|rate| rate.as_f64().unwrap())
}

#[test]
fn the_planned_hit_rate_is_that_of_the_server_with_priming_and_without() {
    for (cache, lets_know) in [("primed", false), ("cold", true)] {
        let (desk, log) = run(&["--cache", cache]);
        let [planned, measured] = hit_rates(&desk);
        assert!((planned - measured).abs() < 0.001, "{cache}: {planned} planned, {measured} measured");
        let added = |record: &RequestRecord| Some(record.usage?.prompt_tokens - u64::from(record.input_tokens_asked));
        let template = log.records.iter().filter_map(|record| added(&record)).min().unwrap();
        // By the records, without those of requests that prime the cache.
        let counted = log.records.iter().filter(|record| cache != "primed" || record.phase != Phase::Warmup);
        // A request that is cut off by the end of the run has no usage.
        let of_records = counted.filter(|record| record.sent.is_some()).fold((0, 0), |(said, all), record| {
            let (blocks, asked) = (record.turn().unwrap().history_tokens / 16, record.input_tokens_asked);
            let prompt_tokens = record.usage.map_or(u64::from(asked) + template, |usage| usage.prompt_tokens);
            (said + 16 * u64::from(blocks), all + prompt_tokens)
        });
        let by_records = of_records.0 as f64 / of_records.1 as f64;
        assert!((by_records - planned).abs() < 1e-9, "{cache}: {by_records} by the records, {planned} planned");
        assert_eq!(log.header.cache.is_some_and(|cache| cache.emptied), lets_know, "{cache}");
        // The same run in virtual time.
        let path = desk.path().join("trace.jsonl");
        let simulate =
            ["simulate", "--trace", path.to_str().unwrap(), "5", "--agents", "3", "--warmup", "1s", "--json"];
        let load = ["--start-window", "0.25..0.75", "--hardware", "h200", "--cache", cache, "--seed"];
        let out = desk.skyline(&simulate).args(load).arg(log.header.workload.seed.to_string()).assert().code(0);
        let found: Value = serde_json::from_slice(&out.get_output().stdout).unwrap();
        let simulated = &found["summary"]["prefix_cache"];
        let [least, rate] =
            [&simulated["expected_least"], &simulated["measured"]["rate"]].map(|rate| rate.as_f64().unwrap());
        assert!((least - rate).abs() < 0.001 && (least - planned).abs() < 0.1, "{planned} here, and {simulated}");
        assert_eq!(found["summary"]["run"]["plan_hash"].as_str(), Some(log.header.plan.hash.as_str()));
    }
}

/// Calls of a conversation, each with all that was said before it, two seconds apart. Call `k` has 10 + `k` tokens.
fn spans(conversation: u64) -> String {
    let call = |k: u64| {
        let message = |role: &str, i: u64| json!({"role": role, "content": format!("{role} {i} of {conversation}")});
        let before = (0..k).flat_map(|i| [message("user", i), message("assistant", i)]);
        let input: Vec<Value> = before.chain([message("user", k)]).collect();
        let moment = |second: u64| format!("2026-01-01T00:00:{second:02}Z");
        let attributes = json!({"gen_ai.operation.name": "chat", "gen_ai.usage.output_tokens": 10 + k,
            "gen_ai.conversation.id": format!("c{conversation}"), "gen_ai.input.messages": input,
            "gen_ai.output.messages": [message("assistant", k)]});
        json!({"trace_id": format!("{conversation}-{k}"), "span_id": "s", "start_time": moment(2 * k),
            "end_time": moment(2 * k + 1), "attributes": attributes})
    };
    (0..5).map(|k| call(k).to_string() + "\n").collect()
}

#[test]
fn a_conversation_of_spans_begins_in_its_middle_with_its_history() {
    let (desk, server) = (Desk::new(), mock(&["--hardware", "h200"]));
    let path = desk.file("spans.jsonl", &[spans(0), spans(1)].concat());
    let bench =
        ["bench", "--trace", path.to_str().unwrap(), "4", "--agents", "2", "--warmup", "1s", "--engine", "mock"];
    let start = ["--start-window", "0.4..0.4", "--cache", "primed", "--trace-speed", "20", "--url", &server.url];
    desk.skyline(&bench).args(start).args(["--no-calibration", "--allow-invalid"]).assert().code(0);
    let log = RunLog::read(&desk.run()).unwrap();
    assert!(matches!(check_plan(&log), PlanCheck::Held { .. }));
    for lane in 0..2 {
        let answers: Vec<u32> = first_session(&log, lane).iter().map(|record| record.output_tokens_asked).collect();
        assert_eq!(answers, [1, 12, 13, 14], "3.2 s of 8 s: the second call primes, the third is the first");
    }
}

#[test]
fn a_run_of_agentx_says_which_rules_it_breaks() {
    let (desk, server) = (Desk::new(), mock(&["--hardware", "h200"]));
    desk.file("trace.jsonl", &trace());
    let bench =
        ["bench", "agentx", "4", "--trace", "trace.jsonl", "--agents", "2", "--warmup", "1s", "--engine", "mock"];
    let more = ["--url", &server.url, "--no-calibration", "--allow-invalid", "--trace-speed", "2"];
    let plan = desk.skyline(&bench).args(more).assert().code(0);
    plan.stdout(contains("agentx: ").and(contains("of its 15 rules are kept")).and(contains("are not comparable")));
    let found = desk.summary()["scenario"].clone();
    let broken: Vec<&str> = found["broken"].as_array().unwrap().iter().map(|rule| rule.as_str().unwrap()).collect();
    let says = |words: &str| broken.iter().any(|rule| rule.starts_with(words));
    assert!(says("recorded pauses (they take 0.5 times as long)"), "{broken:?}");
    assert!(says("15 minutes at least (it is 3 s)") && says("published traces (the file is another, of SHA-256 "));
    for kept in ["sessions that are played as recorded", "answers of the recorded lengths", "streaming"] {
        assert!(found["kept"].as_array().unwrap().iter().any(|rule| rule == kept), "{kept}: {found}");
    }
    let alone = desk.skyline(&["bench", "agentx", "--url", "http://127.0.0.1:9"]).assert().code(2);
    alone.stderr(contains("traces.jsonl"));
    desk.skyline(&["workloads"]).assert().code(0).stdout(contains("agentx"));
}

#[test]
fn what_cannot_be_kept_is_refused_before_anything_is_sent() {
    let desk = Desk::new();
    desk.file("trace.jsonl", &trace());
    desk.file("chats.jsonl", "{\"messages\":[{\"role\":\"user\",\"content\":\"Hello\"}]}\n");
    let trace = ["--trace", "trace.jsonl"];
    let start = ["--start-window", "0.25..0.75"];
    let agents = ["--agents", "2"];
    for (options, said) in [
        (
            &[&trace[..], &start, &["--rate", "2"]][..],
            "puts the first session of each agent in its middle; give agents",
        ),
        (&[&trace, &agents, &["--start-window", "0.75..0.25"]], "the lower one first, as in 0.25..0.75"),
        (&[&trace, &agents, &["--cache", "primed"]], "no history comes before the requests of class"),
        (&[&trace, &agents, &start, &["--cache", "primed", "--warmup", "0"]], "leave no time for that"),
        (&[&trace, &agents, &["--cache", "warm"]], "no prompts begin with a text that is known before the run"),
        (&[&trace, &agents, &["--cache", "cold", "--salt-by", "run"]], "is cold, and sessions have texts in common"),
        (&[&["--shared-prefix", "64", "--cache", "cold", "--rate", "2"]], "a shared prefix stands before the prompts"),
        (&[&["--trace", "chats.jsonl"], &agents, &start], "nothing says when"),
    ] {
        let options = [&["bench", "2", "--url", "http://127.0.0.1:9"], &*options.concat()].concat();
        desk.skyline(&options).assert().code(2).stderr(contains(said));
    }
}

#[test]
fn cures_help_where_a_workload_file_has_the_mistake() {
    let desk = Desk::new();
    desk.file("trace.jsonl", &trace());
    let sessions = "prompt = { kind = \"dataset\", path = \"trace.jsonl\", format = \"sessions\", \
        sessions = { start = [0.25, 0.75] } }";
    let written = "input_tokens = 64\noutput_tokens = 4";
    let agents = "arrival = { kind = \"users\", users = 2, ramp_s = 3 }";
    let rate = "arrival = { kind = \"poisson\", rate_per_s = 2 }";
    for (top, class, said, cure) in [
        (rate, sessions, "give agents (--agents N)", &["--agents", "2"][..]),
        (&format!("{agents}\ncache = \"primed\""), sessions, "lengthen it (--warmup 300s)", &["--warmup", "2s"]),
        (&format!("{rate}\ncache = \"primed\""), written, "(--start-window 0.25..0.75)", &["--cache", "cold"]),
        (&format!("{rate}\ncache = \"warm\""), written, "(--shared-prefix)", &["--shared-prefix", "64"]),
        (
            &format!("{agents}\nscenario = \"agentx\""),
            written,
            "plays recorded sessions, and class `own` has none; give a recording (--trace FILE)",
            &["--trace", "trace.jsonl"],
        ),
    ] {
        let run = "name = \"own\"\nhorizon_s = 9\nwarmup_s = 0";
        desk.file("own.toml", &format!("{run}\n{top}\n[[classes]]\nname = \"own\"\n{class}\n"));
        let bench = ["bench", "own.toml", "--dry-run", "--url", "http://127.0.0.1:9"];
        desk.skyline(&bench).assert().code(2).stderr(contains(said));
        desk.skyline(&bench).args(cure).assert().code(0);
    }
}

#[test]
fn a_search_begins_agents_in_the_middle_of_their_sessions() {
    let (desk, server) = (Desk::new(), mock(&["--hardware", "h200"]));
    let path = desk.file("trace.jsonl", &trace());
    let searched = ["agentx", "--trace", path.to_str().unwrap(), "--max-runs", "2", "--warmup", "1s", "--objective"];
    let sweep = ["p50 ttft < 20s", "--agents=2", "--repeats", "1", "--max-seconds", "2s", "--drain", "5s", "--pause"];
    let more = ["0s", "--warmup-requests", "2", "--engine", "mock", "--url", &server.url, "--force", "--allow-invalid"];
    let out = desk.skyline(&["sweep"]).args(searched).args(sweep).args(more).assert();
    let words = String::from_utf8_lossy(&out.get_output().stderr).into_owned();
    assert!(words.contains("run 1: 2 agents for"), "{words}");
    let log = RunLog::read(&desk.run().join("run-001")).unwrap();
    assert!(matches!(check_plan(&log), PlanCheck::Held { unchecked, .. } if unchecked.is_empty()));
    for lane in 0..2 {
        let (at, records) = (begins(&log, lane), first_session(&log, lane));
        assert!(records[0].phase == Phase::Warmup && records[0].output_tokens_asked == 1, "lane {lane} primes");
        let main = agents(lane)[0].clone();
        let (_, next) = main.into_iter().find(|(begins, _)| *begins >= at).unwrap();
        assert!(records.iter().any(|record| u64::from(record.input_tokens_asked) == next), "{at:?}");
    }
    let simulated = ["p50 ttft < 20s", "--sweep", "--sweep-agents=2", "--samples", "30", "--hardware", "h200"];
    let out = desk.skyline(&["simulate", "--json"]).args(searched).args(simulated).assert();
    let found: Value = serde_json::from_slice(&out.get_output().stdout).unwrap();
    assert_eq!(found["points"][0]["load"], json!({ "kind": "agents", "value": 2 }), "{found}");
    let of_rates = ["p50 ttft < 20s", "--sweep", "--hardware", "h200"];
    let refused = desk.skyline(&["simulate"]).args(searched).args(of_rates).assert().code(2);
    refused.stderr(contains("search for how many of them it carries, with --sweep-agents"));
}
