//! Sessions of agents, from the command line to the records and to the server's own log.

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use predicates::str::contains;
use serde_json::{Value, json};
use skyline::record::{Outcome, RequestRecord, RunLog};

use crate::support::{Desk, mock, serve_and_keep_answers};

/// A task, a loop of tools, two that explore side by side, and a review that waits for all.
const AGENTS: &str = r#"
name = "coder"
horizon_s = 4
warmup_s = 0
drain_s = 30
arrival = { kind = "constant", rate_per_s = 2 }
[[classes]]
name = "coder"
input_tokens = { kind = "uniform", min = 20, max = 60 }
output_tokens = { kind = "uniform", min = 4, max = 12 }
shared_prefix = { count = 1, tokens = 160 }
[classes.session]
steps = [
    { name = "task" },
    { name = "loop", turns = { kind = "uniform", min = 1, max = 3 }, tools = 2, delay_s = { kind = "uniform", min = 0.01, max = 0.05 } },
    { name = "explore", after = "task", copies = 2, turns = 2, history = "new" },
    { name = "review", after = ["loop", "explore"], history = "loop", delay_s = 0.02 },
]
"#;

/// A task, a loop that goes on while the model calls a tool, and a review.
const TOOLS: &str = r#"
name = "coder"
horizon_s = 4
warmup_s = 0
drain_s = 30
arrival = { kind = "constant", rate_per_s = 2 }
[[classes]]
name = "coder"
input_tokens = 60
output_tokens = 12
length = "natural"
answer = { kind = "tools", tools = [{ name = "search" }] }
[classes.session]
steps = [
    { name = "task" },
    { name = "loop", turns = 8, when = "tool_call", delay_s = 0.02, input_tokens = 30 },
    { name = "review", delay_s = 0.05, input_tokens = 10 },
]
"#;

/// A desk where this workload has run against a mock of its own, and what the mock's log says, by index.
fn run(more: &[&str]) -> (Desk, HashMap<u64, Value>) {
    run_of(AGENTS, &[], more)
}

/// The same of another workload and a mock with these options.
fn run_of(workload: &str, options: &[&str], more: &[&str]) -> (Desk, HashMap<u64, Value>) {
    let server = mock(options);
    let desk = Desk::new();
    desk.file("agents.toml", workload);
    let bench = ["bench", "agents.toml", "--engine", "vllm", "--url", &server.url, "--no-calibration"];
    desk.skyline(&bench).args(["--allow-invalid"]).args(more).assert().code(0);
    let host = server.url.strip_prefix("http://").unwrap();
    let mut socket = TcpStream::connect(host).unwrap();
    write!(socket, "GET /mock/truth HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n").unwrap();
    let mut page = String::new();
    socket.read_to_string(&mut page).unwrap();
    let lines = page.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let by_index = lines.filter_map(|line| {
        let id = line["id"].as_str()?;
        Some((u64::from_str_radix(id.get(id.len() - 12..)?, 16).ok()?, line))
    });
    (desk, by_index.collect())
}

fn log(desk: &Desk) -> RunLog {
    RunLog::read(&desk.run()).unwrap()
}

/// Each request of a graph but its first: its record, and when it was due by `ended`.
fn due(log: &RunLog, ended: impl Fn(u64) -> Option<u64>) -> Vec<(RequestRecord, u64)> {
    let later = log.records.iter().filter(|record| record.release.is_some());
    later
        .map(|record| {
            let release = record.release.as_deref().unwrap();
            let due = release.predecessors().iter().map(|before| ended(before.index).unwrap() + before.delay_ns).max();
            (RequestRecord::clone(&record), due.unwrap())
        })
        .collect()
}

#[test]
fn every_moment_is_that_of_the_ends_before_it_by_the_log_and_by_the_server_s_own() {
    let (desk, truth) = run(&[]);
    let log = log(&desk);
    let ended: HashMap<u64, u64> = log.records.iter().map(|record| (record.index, record.ended.as_nanos())).collect();
    let requests = due(&log, |index| ended.get(&index).copied());
    assert!(requests.len() > 20, "{}", requests.len());
    let deviation = requests.iter().map(|(record, due)| record.scheduled.as_nanos().abs_diff(*due)).max();
    assert_eq!(deviation, Some(0), "by the log a moment is exact");
    // The mock's clock knows nothing of ours: when a request came after the ends and delays that the mock saw itself.
    let nanos = |index: u64, field: &str| truth.get(&index)?[field].as_u64();
    let late: Vec<i64> = due(&log, |index| nanos(index, "ended_ns"))
        .iter()
        .map(|(record, due)| nanos(record.index, "read_ns").unwrap().cast_signed() - due.cast_signed())
        .collect();
    let (first, last) = (late.iter().min().unwrap(), late.iter().max().unwrap());
    println!("requests came {:.3} to {:.3} ms after their moments", *first as f64 / 1e6, *last as f64 / 1e6);
    // Loose: the mock may note the end of an answer after this client has read it.
    assert!(*first > -50_000_000, "{first} ns early");
}

#[test]
fn agents_are_accounted_for_and_found_in_the_cache_as_planned() {
    for more in [&[][..], &["--users", "3"]] {
        let (desk, _) = run(more);
        for rule in ["conservation", "token_identity", "counter_identity", "plan", "something_completed"] {
            let checks = desk.checks(rule);
            assert!(checks.iter().all(|check| check["outcome"] == "passed"), "{checks:?}");
        }
        let log = log(&desk);
        let graph = |record: &RequestRecord| record.turn().unwrap().graph.unwrap();
        assert!(log.records.iter().any(|record| graph(&record).agent == 2), "two explore");
        for record in log.records.iter().filter(|record| record.usage.is_some()) {
            // The mock counts words, and has no template: what was asked is what it counts.
            assert_eq!(record.usage.unwrap().prompt_tokens, u64::from(record.input_tokens_asked), "{record:?}");
        }
        let cache = &desk.summary()["prefix_cache"];
        let [least, measured] =
            [&cache["expected_least"], &cache["measured"]["rate"]].map(|rate| rate.as_f64().unwrap());
        assert!((least - measured).abs() < 0.001, "{cache}");
        assert!(measured > 0.5, "{cache}");
    }
}

#[test]
fn a_loop_of_tools_ends_when_the_model_calls_none() {
    let elsewhere = [&["--endpoint", "responses"][..], &["--endpoint", "messages"]].map(|endpoint| (3, endpoint));
    for (rounds, more) in [(3, &[][..]), (0, &[]), (3, &["--users", "2"])].into_iter().chain(elsewhere) {
        let (desk, truth) = run_of(TOOLS, &["--tool-rounds", &rounds.to_string(), "--stop-length", "12,0"], more);
        for rule in ["conservation", "token_identity", "plan", "something_completed"] {
            let checks = desk.checks(rule);
            // Only chats and completions say how many tokens a chunk has.
            let of_chunks = rule == "token_identity" && more.contains(&"--endpoint");
            let expected = if of_chunks { "not_tested" } else { "passed" };
            assert!(checks.iter().all(|check| check["outcome"] == expected), "{checks:?}");
        }
        let log = log(&desk);
        let ended: HashMap<u64, u64> =
            log.records.iter().map(|record| (record.index, record.ended.as_nanos())).collect();
        for (record, due) in due(&log, |index| ended.get(&index).copied()) {
            assert_eq!(record.scheduled.as_nanos(), due, "it waits for a request that was sent");
        }
        let (mut reviews, mut called) = (0, 0);
        for record in log.records.iter() {
            let turn = record.turn().unwrap();
            let place = turn.place();
            assert!(place <= rounds || place == 9, "{place}");
            let graph = turn.graph.unwrap();
            let is_answered = record.outcome == Outcome::Completed;
            assert_eq!(graph.left_out, if is_answered && place == rounds { 8 - rounds } else { 0 }, "{record:?}");
            called += u32::from(record.calls_tools());
            if is_answered && place == 9 {
                // The task and each result with a call of one word, and the last answer of twelve.
                let asked = 60 + rounds * (1 + 30) + 12 + 10;
                reviews += 1;
                assert_eq!((graph.carries, graph.depth), (Some(rounds), rounds + 1));
                assert_eq!(record.input_tokens_asked, asked);
                let read = truth.get(&record.index).unwrap()["prompt_tokens"].as_u64().unwrap();
                assert_eq!(read, u64::from(asked - rounds), "the mock does not count calls in prompts");
            }
        }
        assert!(reviews > 3 && (rounds == 0 || called > 9), "{reviews} reviews, {called} calls");
        let sessions = &desk.summary()["sessions"];
        assert!(sessions["completed"].as_u64().unwrap() > 3, "{sessions}");
        assert!(sessions["turns_not_needed"].as_u64().unwrap() > 3, "{sessions}");
        let shown = desk.skyline(&["report", desk.run().to_str().unwrap(), "--allow-invalid"]).assert().code(0);
        shown.stdout(contains("not needed"));
    }
}

/// A stream that calls two tools.
const CALLS: &str = concat!(
    r#"data: {"choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"a","type":"function","#,
    r#""function":{"name":"search","arguments":"{\"q\":1}"}}]},"finish_reason":null}]}"#,
    "\n\n",
    r#"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"b","type":"function","function":"#,
    r#"{"name":"search","arguments":"{\"q\":2}"}}]},"finish_reason":"tool_calls"}]}"#,
    "\n\n",
    r#"data: {"choices":[],"usage":{"prompt_tokens":60,"completion_tokens":12}}"#,
    "\n\ndata: [DONE]\n\n"
);

/// A stream that is cut off in the arguments of a call.
const CUT: &str = concat!(
    r#"data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"w","tool_calls":[{"index":0,"id":"a","#,
    r#""type":"function","function":{"name":"search","arguments":"{\"q\": \"ha"}}]},"finish_reason":"length"}]}"#,
    "\n\n",
    r#"data: {"choices":[],"usage":{"prompt_tokens":60,"completion_tokens":12}}"#,
    "\n\ndata: [DONE]\n\n"
);

#[test]
fn a_call_that_was_cut_off_is_not_repeated_and_one_without_results_is_answered() {
    let of_last = |turns: &str, stream: &'static str| {
        let (address, bodies) = serve_and_keep_answers(move |_| Some(stream.to_owned()));
        let desk = Desk::new();
        desk.file("agents.toml", &TOOLS.replace("turns = 8", turns));
        let bench = ["bench", "agents.toml", "--requests", "1", "--url", &format!("http://{address}")];
        desk.skyline(&bench).args(["--no-calibration", "--allow-invalid"]).assert().code(0);
        let bodies = bodies.lock().unwrap();
        let longest =
            bodies.iter().map(|body| body["messages"].as_array().unwrap()).max_by_key(|messages| messages.len());
        longest.unwrap().clone()
    };
    let roles = |messages: &[Value]| -> Vec<String> {
        messages.iter().map(|message| message["role"].as_str().unwrap().to_owned()).collect()
    };
    let cut = of_last("turns = 8", CUT);
    assert_eq!(roles(&cut), ["user", "assistant", "user"], "{cut:?}");
    assert_eq!((&cut[1]["content"], cut[1].get("tool_calls")), (&json!("w"), None));
    // The model calls tools to the last turn; the review brings no results.
    let open = of_last("turns = 1", CALLS);
    assert_eq!(roles(&open), ["user", "assistant", "tool", "tool", "assistant", "tool", "tool", "user"], "{open:?}");
    assert_eq!((&open[5]["content"], &open[6]["content"]), (&json!("none"), &json!("none")));
}

#[test]
fn calls_of_the_model_and_their_results_stand_in_the_next_prompt() {
    let (address, bodies) = serve_and_keep_answers(|body| {
        let results = body["messages"].as_array()?.iter().filter(|message| message["role"] == "tool").count();
        (results < 2).then(|| CALLS.to_owned())
    });
    let desk = Desk::new();
    desk.file("agents.toml", TOOLS);
    let bench = ["bench", "agents.toml", "--requests", "1", "--url", &format!("http://{address}")];
    desk.skyline(&bench).args(["--no-calibration", "--allow-invalid"]).assert().code(0);
    let bodies = bodies.lock().unwrap();
    let last = bodies.iter().max_by_key(|body| body["messages"].as_array().unwrap().len()).unwrap();
    let messages = last["messages"].as_array().unwrap();
    let roles: Vec<&str> = messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "tool", "assistant", "user"], "{last}");
    let calls = messages[1]["tool_calls"].as_array().unwrap();
    for (call, (arguments, result)) in [r#"{"q":1}"#, r#"{"q":2}"#].iter().zip(&messages[2..4]).enumerate() {
        assert_eq!(calls[call]["function"], json!({ "name": "search", "arguments": arguments }));
        assert_eq!(calls[call]["id"], result["tool_call_id"]);
        assert!(!result["content"].as_str().unwrap().is_empty(), "{result}");
    }
    assert_eq!(last["tools"][0]["function"]["name"], "search");
}

#[test]
fn a_condition_on_tools_that_none_can_call_is_refused() {
    let desk = Desk::new();
    let toolless: Vec<&str> = TOOLS.lines().filter(|line| !line.starts_with("answer")).collect();
    for text in [toolless.join("\n"), TOOLS.replace("}] }\n[classes", "}], choice = \"required\" }\n[classes")] {
        desk.file("agents.toml", &text);
        let refused = desk.skyline(&["bench", "agents.toml"]).assert().code(2);
        refused.stderr(contains("has a step for calls of tools, and no answer is free to call one"));
    }
}

#[test]
fn the_report_says_how_agents_are_paced() {
    let (desk, _) = run(&["--users", "3"]);
    let shown = desk.skyline(&["report", desk.run().to_str().unwrap(), "--allow-invalid"]).assert().code(0);
    shown.stdout(contains("3 agents")).stdout(contains("Sessions, of those that began in the window"));
    assert_eq!(desk.summary()["run"]["load"], json!("lanes"));
}

#[test]
fn a_plan_says_how_many_requests_agents_may_have_in_flight() {
    let desk = Desk::new();
    desk.file("agents.toml", AGENTS);
    // Each of three: the loop and two that explore.
    let plan = desk.skyline(&["bench", "agents.toml", "--users", "3", "--dry-run"]).assert().code(0);
    plan.stdout(contains("at most 9 in flight"));
}

#[test]
fn a_session_that_cannot_be_is_refused_before_anything_is_sent() {
    let desk = Desk::new();
    desk.file("agents.toml", &AGENTS.replace(r#"after = "task""#, r#"after = "review""#));
    let refused = desk.skyline(&["bench", "agents.toml"]).assert().code(2);
    refused.stderr(contains("`classes[0].session.steps[2]` names \"review\", and no step above it has that name"));
}
