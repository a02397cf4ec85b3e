//! Conversations and users in a closed loop, from the command line to the records.

use predicates::str::contains;
use serde_json::Value;

use crate::support::{Desk, serve_and_keep};

/// A conversation of three turns every 300 ms, next to no time to think.
const TALKS: &str = r#"
name = "talks"
horizon_s = 2
warmup_s = 0
drain_s = 20
arrival = { kind = "constant", rate_per_s = 3 }
[[classes]]
name = "talk"
input_tokens = { kind = "uniform", min = 5, max = 9 }
output_tokens = { kind = "constant", value = 4 }
conversation = { turns = 3, think_time_s = 0.05, first_input_tokens = 40 }
"#;

fn report(texts: &Value, place: usize) -> (&str, &str) {
    let message = &texts[place];
    (message["role"].as_str().unwrap(), message["content"].as_str().unwrap())
}

#[test]
fn a_turn_says_the_servers_own_answers_again() {
    let (address, bodies) = serve_and_keep();
    let desk = Desk::new();
    desk.file("talks.toml", TALKS);
    let url = format!("http://{address}");
    let run = ["bench", "talks.toml", "--allow-invalid", "--no-calibration", "--engine", "vllm", "--url", &url];
    desk.skyline(&run).assert().code(0);
    let bodies = bodies.lock().unwrap();
    let third: Vec<&Value> =
        bodies.iter().map(|body| &body["messages"]).filter(|said| said.as_array().unwrap().len() == 5).collect();
    // Of six; on a slow machine the last ones have no third turn before the end.
    assert!(third.len() >= 2, "{} conversations came to their third turn", third.len());
    for said in third {
        let roles: Vec<&str> = (0..5).map(|place| report(said, place).0).collect();
        assert_eq!(roles, ["user", "assistant", "user", "assistant", "user"]);
        // Four words a turn, as the server said them.
        assert_eq!((report(said, 1).1, report(said, 3).1), (" w w w w", " w w w w"));
        // The second turn said the same up to there.
        let before = bodies.iter().find(|body| {
            let list = body["messages"].as_array().unwrap();
            list.len() == 3 && (0..3).all(|place| list[place] == said[place])
        });
        assert!(before.is_some(), "nobody sent the turn before {said}");
    }
}

#[test]
fn conversations_with_the_mock_are_accounted_for_and_found_in_its_cache() {
    for endpoint in ["chat", "completions"] {
        accounted_for(endpoint);
    }
}

fn accounted_for(endpoint: &str) {
    let desk = Desk::new();
    desk.file("talks.toml", TALKS);
    desk.skyline(&["bench", "talks.toml", "--allow-invalid", "--endpoint", endpoint]).assert().code(0);
    for rule in ["conservation", "littles_law", "token_identity", "counter_identity", "something_completed"] {
        let checks = desk.checks(rule);
        // On a busy machine the moments are too uncertain for Little's law.
        let holds =
            |check: &Value| check["outcome"] == "passed" || rule == "littles_law" && check["outcome"] == "not_tested";
        assert!(checks.iter().all(holds), "{checks:?}");
    }
    let records = desk.lines("request");
    let later = records.iter().filter(|record| record["turn"]["number"].as_u64() > Some(0));
    let mut history = 0;
    for record in later {
        assert_eq!(record["outcome"]["kind"], "completed", "{record}");
        // The mock counts words, and has no template: what was asked is what it counts.
        assert_eq!(record["usage"]["prompt_tokens"], record["input_tokens_asked"], "{record}");
        history += record["turn"]["history_tokens"].as_u64().unwrap();
    }
    assert!(history > 0);
    let footer = &desk.lines("footer")[0];
    assert_eq!(footer["sessions"]["broken_off"], 0);
    let hits = footer["server"]["cache_hits"].as_u64().unwrap();
    // Blocks of 16 words: of 44 words of history and more at least two are found.
    assert!(hits >= 32 * (records.len() as u64 / 3), "{hits} of {history}");
}

#[test]
fn users_are_never_more_than_they_are_and_their_arrivals_are_not_tested() {
    let desk = Desk::new();
    let closed = ["bench", "quick.toml", "2", "--users", "4", "--think-time", "10ms", "--allow-invalid"];
    desk.skyline(&closed).assert().code(0).stdout(contains("closed loop, 4 users"));
    let summary = desk.summary();
    assert!(summary["in_flight"]["peak"].as_u64().unwrap() <= 4, "{}", summary["in_flight"]);
    for rule in ["planned_arrivals", "delivered_arrivals"] {
        assert!(desk.checks(rule).iter().all(|check| check["outcome"] == "not_tested"));
    }
    assert!(desk.checks("conservation").iter().all(|check| check["outcome"] == "passed"));
    let records = desk.lines("request");
    let mut ends = [0; 4];
    for record in &records {
        let user = record["turn"]["session"].as_u64().unwrap() as usize;
        let scheduled = record["scheduled_ns"].as_u64().unwrap();
        if record["turn"]["number"] != 0 {
            assert_eq!(scheduled, ends[user] + 10_000_000, "10 ms after the answer before");
        }
        ends[user] = record["ended_ns"].as_u64().unwrap();
    }
    assert!(records.len() > 8, "{}", records.len());
}

#[test]
fn mistakes_about_sessions_are_told_before_anything_is_sent() {
    let desk = Desk::new();
    for (arguments, said) in [
        (&["quick.toml", "--users", "3", "--rate", "2"][..], "cannot be used with"),
        (&["quick.toml", "--users", "3", "--requests", "2"], "there are 3 users"),
        (&["quick.toml", "--users", "0"], "`0` is not a whole number from 1 to 100,000"),
        (&["quick.toml", "--think-time", "1s"], "`--think-time` is what users in a closed loop wait"),
        (&["quick.toml", "0.1", "--users", "3"], "and users still begin until 0.15 s (`ramp_s`)"),
        (&["quick.toml", "--agents", "3"], "`quick` has no sessions, so it has no agents"),
    ] {
        let arguments = [&["bench"], arguments].concat();
        desk.skyline(&arguments).assert().code(2).stderr(contains(said));
    }
    assert!(desk.runs().is_empty());
}
