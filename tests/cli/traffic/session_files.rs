//! Sessions that were recorded, from their file to the records and to what the server got.

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::{Value, json};
use skyline::generator::check_plan;
use skyline::record::{PlanCheck, Release, RequestRecord, RunLog};

use crate::support::{Desk, mock, serve_and_keep};

/// A task, a tool call with its result, a second question; and a session of one question.
const CHATS: &str = r#"{"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Add one and two."},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"add","arguments":"{\"a\":1}"}}]},{"role":"tool","tool_call_id":"c1","content":"three"},{"role":"assistant","content":"It is three."},{"role":"user","content":"Thanks, and now the square of it."},{"role":"assistant","content":"Nine."}],"tools":[{"type":"function","function":{"name":"add"}}]}
{"messages":[{"role":"user","content":"Hello there, how are you?"},{"role":"assistant","content":"Fine, thank you."}]}
"#;

/// A parent of three turns and a sub-agent that the third waits for, in blocks of 64 tokens.
const AGENTS: &str = r#"{"id":"s1","models":["big"],"block_size":64,"hash_id_scope":"local","requests":[{"t":0.0,"type":"s","model":"big","in":256,"out":20,"hash_ids":[0,1,2,3],"api_time":0.4},{"t":0.5,"type":"subagent","agent_id":"a","subagent_type":"Explore","status":"completed","duration_ms":300,"models":["big"],"requests":[{"t":0.5,"type":"n","model":"big","in":128,"out":10,"hash_ids":[9,10],"api_time":0.1},{"t":0.7,"type":"n","model":"big","in":192,"out":10,"hash_ids":[9,10,11],"api_time":0.1}]},{"t":0.6,"type":"s","model":"big","in":384,"out":12,"hash_ids":[0,1,2,3,4,5],"api_time":0.1},{"t":0.9,"type":"s","model":"big","in":448,"out":12,"hash_ids":[0,1,2,3,4,5,6],"api_time":0.1}]}
"#;

/// Three sessions that begin 1.5 s after one another. Blocks have 512 tokens.
const DATED: &str = r#"{"session_id":"a","timestamp":1000,"input_length":600,"output_length":4,"hash_ids":[0,1]}
{"session_id":"b","timestamp":2500,"input_length":600,"output_length":4,"hash_ids":[0,2]}
{"session_id":"a","timestamp":2600,"delay":200,"input_length":1100,"output_length":4,"hash_ids":[0,1,3]}
{"session_id":"c","timestamp":4000,"input_length":500,"output_length":4,"hash_ids":[7]}
"#;

/// Holds every request of the run to the plan, which the file is read again for.
fn audited(desk: &Desk) {
    let held = check_plan(&RunLog::read(&desk.run()).unwrap());
    let is_held = matches!(&held, PlanCheck::Held { records, unchecked } if *records > 0 && unchecked.is_empty());
    assert!(is_held, "{held:?}");
}

#[test]
fn recorded_answers_and_tools_are_repeated_as_they_stand() {
    let (address, bodies) = serve_and_keep();
    let desk = Desk::new();
    let path = desk.file("chats.jsonl", CHATS);
    let url = format!("http://{address}");
    let run = ["bench", "--trace", path.to_str().unwrap(), "2", "--rate", "4", "--warmup", "0", "--allow-invalid"];
    desk.skyline(&run).args(["--engine", "vllm", "--url", &url]).assert().code(0);
    let bodies = bodies.lock().unwrap();
    let third = bodies.iter().find(|body| body["messages"].as_array().is_some_and(|list| list.len() == 6)).unwrap();
    let roles: Vec<&str> =
        third["messages"].as_array().unwrap().iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "assistant", "user"]);
    assert_eq!(third["messages"][2]["tool_calls"][0]["function"]["arguments"], r#"{"a":1}"#);
    assert_eq!(third["messages"][4]["content"], "It is three.", "the recorded answer, not the server's");
    assert_eq!(third["tools"], json!([{ "type": "function", "function": { "name": "add" } }]));
    let system = third["messages"][0]["content"].as_str().unwrap();
    assert!(system.ends_with("\n\nBe brief.") && system.len() > 20, "words of the session come first: {system}");
    // The second request of that session had the same words, so that the cache holds them.
    let same = |body: &&Value| body["messages"][0]["content"] == system;
    assert_eq!(bodies.iter().filter(same).count(), 3, "and no other session has them");
    drop(bodies);
    audited(&desk);
}

#[test]
fn live_answers_are_refused_where_tool_results_fit_no_other_call() {
    let desk = Desk::new();
    desk.file("chats.jsonl", CHATS);
    let run =
        ["bench", "--trace", "chats.jsonl", "2", "--rate", "4", "--history", "live", "--url", "http://127.0.0.1:9"];
    desk.skyline(&run).assert().code(2).stderr(
        contains("called tools in the recording").and(contains("--history recorded")).and(contains("skip").not()),
    );
}

/// Lengths to the token, and hits by the server's own counters as planned, in an open load and with agents.
#[test]
fn blocks_are_shared_as_in_the_file_and_no_more() {
    for load in [["--rate", "2"], ["--users", "3"]] {
        let (desk, server) = (Desk::new(), mock(&["--hardware", "h200"]));
        let path = desk.file("agents.jsonl", AGENTS);
        let bench = ["bench", "--trace", path.to_str().unwrap(), "6", "--engine", "mock", "--url", &server.url];
        desk.skyline(&bench).args(load).args(["--no-calibration", "--allow-invalid", "--warmup", "0"]).assert().code(0);
        let log = RunLog::read(&desk.run()).unwrap();
        let of_session = |record: &RequestRecord| record.turn().is_some_and(|turn| turn.session == 0);
        let mut asked: Vec<u32> =
            log.records.iter().filter(|record| of_session(record)).map(|record| record.input_tokens_asked).collect();
        asked.truncate(5);
        asked.sort_unstable();
        assert_eq!(asked, [128, 192, 256, 384, 448], "{load:?}");
        for record in log.records.iter().filter(|record| record.usage.is_some()) {
            assert_eq!(record.usage.unwrap().prompt_tokens, u64::from(record.input_tokens_asked), "{}", record.index);
        }
        let cache = desk.summary()["prefix_cache"].clone();
        let [least, most] = ["expected_least", "expected_most"].map(|name| cache[name].as_f64().unwrap());
        let measured = cache["measured"]["rate"].as_f64().unwrap();
        // Of 1,408 tokens 128, 256 and 384 came before.
        assert!((0.53..0.56).contains(&least), "{cache}");
        assert!((least - 0.02..=most + 0.02).contains(&measured), "{load:?}: {cache}");
        audited(&desk);
    }
}

#[test]
fn a_file_that_is_wrong_is_refused_before_anything_is_sent() {
    let desk = Desk::new();
    let long = format!(r#"{{"id":"s","models":["m"],"block_size":64,"requests":[{}"#, " ".repeat(65 << 20));
    for (name, text, said) in [
        ("unknown.jsonl", AGENTS.replace("\"type\":\"n\"", "\"type\":\"x\""), "line 1"),
        ("cut.jsonl", AGENTS[..AGENTS.len() / 2].to_owned(), "line 1"),
        ("back.jsonl", AGENTS.replace("\"t\":0.6", "\"t\":-3"), "line 1"),
        ("long.jsonl", long, "longer than 64 MiB"),
    ] {
        desk.file(name, &text);
        desk.skyline(&["bench", "--trace", name, "2", "--rate", "4", "--url", "http://127.0.0.1:9"])
            .args(["--trace-format", "weka"])
            .assert()
            .code(2)
            .stderr(contains(said).and(contains(name)).and(contains("hint:")));
    }
}

#[test]
fn a_file_of_sessions_is_shown_and_simulated() {
    let desk = Desk::new();
    desk.file("agents.jsonl", AGENTS);
    desk.skyline(&["trace", "show", "agents.jsonl"])
        .assert()
        .code(0)
        .stdout(contains("1 session of 5 requests in the layout weka").and(contains("54.5 % of the prompt tokens")));
    let simulate = ["simulate", "--trace", "agents.jsonl", "60", "--rate", "2", "--hardware", "h200", "--json"];
    let out = desk.skyline(&simulate).assert().code(0).get_output().stdout.clone();
    let found: Value = serde_json::from_slice(&out).unwrap();
    let cache = &found["summary"]["prefix_cache"];
    let (least, measured) = (cache["expected_least"].as_f64().unwrap(), cache["measured"]["rate"].as_f64().unwrap());
    assert!((least - measured).abs() < 0.01, "{cache}");
}

/// A lane that plays sessions of a file and single requests in turn, and a file of fewer sessions than agents.
#[test]
fn classes_beside_a_file_of_sessions_keep_to_their_plan() {
    let (desk, server) = (Desk::new(), mock(&["--hardware", "h200"]));
    let path = desk.file("agents.jsonl", AGENTS);
    let other = desk.file("others.jsonl", &AGENTS.replace("\"in\":256", "\"in\":240").replace("s1", "s2"));
    let class = |name: &str, file: &std::path::Path| {
        let file = file.display();
        format!(
            "[[classes]]\nname = \"{name}\"\nprompt = {{ kind = \"dataset\", path = \"{file}\", format = \"sessions\" }}\n"
        )
    };
    let chat = "[[classes]]\nname = \"chat\"\ninput_tokens = 20\noutput_tokens = 4\n";
    let text = format!(
        "name = \"mix\"\nhorizon_s = 5\nwarmup_s = 0\ndrain_s = 20\narrival = {{ kind = \"users\", users = 3 }}\n{}{}{chat}",
        class("one", &path),
        class("two", &other)
    );
    desk.file("mix.toml", &text);
    let bench = ["bench", "mix.toml", "--engine", "mock", "--url", &server.url, "--no-calibration", "--allow-invalid"];
    desk.skyline(&bench).assert().code(0);
    let log = RunLog::read(&desk.run()).unwrap();
    let of_class = |class: u16| log.records.iter().filter(|record| record.class == class).count();
    assert!((0..3).all(|class| of_class(class) > 2), "{:?}", [0, 1, 2].map(of_class));
    audited(&desk);
}

/// At the moments of the file, twice as fast, and a slice of it.
#[test]
fn sessions_begin_at_the_moments_of_their_file() {
    let moments = |options: &[&str]| {
        let (desk, server) = (Desk::new(), mock(&["--hardware", "h200"]));
        let path = desk.file("dated.jsonl", DATED);
        let path = path.to_str().unwrap();
        let bench = ["bench", "--trace", path, "--engine", "mock", "--url", &server.url, "--no-calibration"];
        desk.skyline(&bench).args(["--allow-invalid", "--warmup", "0"]).args(options).assert().code(0);
        let log = RunLog::read(&desk.run()).unwrap();
        audited(&desk);
        let mut begun: Vec<u64> = (log.records.iter())
            .filter(|record| record.is_opener())
            .map(|record| record.scheduled.as_nanos() / 1_000_000)
            .collect();
        begun.sort_unstable();
        let delays = log.records.iter().filter_map(|record| match record.release.as_deref()? {
            Release::All(of) => Some(of[0].delay_ns / 1_000_000),
            _ => None,
        });
        (begun, delays.collect::<Vec<_>>())
    };
    assert_eq!(moments(&["--trace-speed", "2"]), (vec![0, 750, 1_500], vec![100]));
    assert_eq!(moments(&["--trace-from", "1s", "--trace-for", "1s"]), (vec![500], vec![]));
}

#[test]
fn what_a_file_of_sessions_lacks_for_its_moments_is_said() {
    let desk = Desk::new();
    desk.file("dated.jsonl", DATED);
    desk.file("agents.jsonl", AGENTS);
    desk.file("half.jsonl", &DATED.replace("\"timestamp\":4000,", ""));
    desk.skyline(&["trace", "show", "dated.jsonl", "--trace-from", "1s"]).assert().code(0).stdout(
        contains("2 sessions in 2 s, at most 1 in a second")
            .and(contains("from 1 s after its first session: as recorded")),
    );
    for (file, options, said) in [
        ("agents.jsonl", ["--trace-from", "1s"], "none of them has a moment at which to begin (layout weka)"),
        ("half.jsonl", ["--seed", "1"], "1 of them has no moment"),
        ("dated.jsonl", ["--dataset-rows", "2"], "--trace-from and --trace-for take a part"),
        ("dated.jsonl", ["--trace-from", "9s"], "has no request from 9 s on"),
    ] {
        desk.skyline(&["bench", "--trace", file, "--url", "http://127.0.0.1:9"])
            .args(options)
            .assert()
            .code(2)
            .stderr(contains(said));
    }
    desk.skyline(&["bench", "--trace", "dated.jsonl", "--rate", "1", "--trace-from", "1s"])
        .assert()
        .code(2)
        .stderr(contains("not at the moments of the file").and(contains("leave out the load")));
}

/// Hits by the server's own counters are as planned. Plays of a session share texts, and sessions of a file.
#[test]
fn what_sessions_have_in_common_is_planned() {
    for (text, load, scope) in [
        (DATED, ["--rate", "3"], "run"),
        (DATED, ["--agents", "2"], "run"),
        (AGENTS, ["--rate", "1"], "trajectory"),
        (CHATS, ["--rate", "3"], "run"),
        (CHATS, ["--rate", "3"], "trajectory"),
    ] {
        let (desk, server) = (Desk::new(), mock(&["--hardware", "h200"]));
        let path = desk.file("sessions.jsonl", text);
        let bench = ["bench", "--trace", path.to_str().unwrap(), "5", "--engine", "mock", "--url", &server.url];
        desk.skyline(&bench)
            .args(load)
            .args(["--salt-by", scope, "--no-calibration", "--allow-invalid", "--warmup", "0"])
            .assert()
            .code(0);
        let cache = desk.summary()["prefix_cache"].clone();
        let [least, most] = ["expected_least", "expected_most"].map(|name| cache[name].as_f64().unwrap());
        let measured = cache["measured"]["rate"].as_f64().unwrap();
        assert!((least - 0.02..=most + 0.02).contains(&measured), "{load:?} {scope}: {cache}");
        assert!(least > 0.2, "much of it comes again: {load:?} {scope}: {cache}");
        audited(&desk);
        let simulate =
            ["simulate", "--trace", "sessions.jsonl", "60", "--hardware", "h200", "--salt-by", scope, "--json"];
        let out = desk.skyline(&simulate).args(load).assert().code(0).get_output().stdout.clone();
        let found: Value = serde_json::from_slice(&out).unwrap();
        let cache = &found["summary"]["prefix_cache"];
        let (least, measured) =
            (cache["expected_least"].as_f64().unwrap(), cache["measured"]["rate"].as_f64().unwrap());
        assert!((least - measured).abs() < 0.01, "{load:?} {scope}: {cache}");
    }
}

#[test]
fn a_dry_run_says_what_sessions_there_are() {
    let desk = Desk::new();
    desk.file("agents.jsonl", AGENTS);
    desk.file("dated.jsonl", DATED);
    desk.skyline(&["bench", "--trace", "agents.jsonl", "60", "--agents", "3", "--dry-run"]).assert().code(0).stdout(
        contains("sessions: 1 session of 5 requests, up to 2 agents in one, each request of 282")
            .and(contains("as many sessions as 3 agents get answered")),
    );
    desk.skyline(&["bench", "--trace", "dated.jsonl", "--dry-run"]).assert().code(0).stdout(
        contains("3 sessions of 4 requests, up to 1 agent in one")
            .and(contains("3 sessions, 1 of them in the warm-up")),
    );
}

#[test]
fn rounds_of_tracelab_in_csv_are_shown() {
    let desk = Desk::new();
    let rounds = "id,input_len,output_len,arrival_time,round_idx,tool_wait_after_ms,prefix_len\n\
                  a,128,4,0,0,50,0\na,64,4,0,1,0,128\n";
    desk.file("rounds.csv", &format!("\u{feff}{rounds}"));
    desk.skyline(&["trace", "show", "rounds.csv"])
        .assert()
        .code(0)
        .stdout(contains("1 session of 2 requests in the layout tracelab").and(contains("40 % of the prompt tokens")));
    let said = "4 fields, and the first line names 7 columns";
    for (bad, said) in [("b,1,2,3\n", said), ("b,1,2,3,first,0,0\n", "row 3, line 4: `round_idx` is \"first\"")] {
        desk.file("bad.csv", &[rounds, bad].concat());
        let show = ["trace", "show", "bad.csv"];
        desk.skyline(&show).assert().code(2).stderr(contains("line 4").and(contains(said)));
    }
}

#[test]
fn a_folder_of_payloads_has_a_conversation_in_each_file() {
    let desk = Desk::new();
    std::fs::create_dir(desk.path().join("payloads")).unwrap();
    let body = |text: &str| {
        format!("{{\"model\":\"m\",\"stream\":true,\"messages\":[{{\"role\":\"user\",\"content\":\"{text}\"}}]}}\n")
    };
    desk.file("payloads/a.jsonl", &[body("one"), body("two")].concat());
    desk.file("payloads/b.jsonl", &[body("three"), body("four"), body("five")].concat());
    for (path, requests) in [("payloads", vec![2, 3]), ("payloads/b.jsonl", vec![1, 1, 1])] {
        let out = desk.skyline(&["trace", "show", path, "--json"]).assert().code(0).get_output().stdout.clone();
        let shown: Value = serde_json::from_slice(&out).unwrap();
        let of_each = shown["sessions"].as_array().unwrap().iter().map(|session| session.as_array().unwrap().len());
        assert_eq!(of_each.collect::<Vec<_>>(), requests, "{path}");
    }
}
