//! Questions of a table: its plan, its mistakes, its rows and what they vary.

use std::sync::{Arc, Mutex};

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

use super::read;
use crate::support::{Desk, Seen, answer, control, mock, serve, stream};

#[test]
fn the_example_can_be_printed_and_planned() {
    let desk = Desk::new();
    let example = desk.skyline(&["matrix", "--example"]).assert().code(0);
    let text = String::from_utf8(example.get_output().stdout.clone()).unwrap();
    desk.file("mine.toml", &text);
    let plan = |file: &str| {
        let plan = desk.skyline(&["matrix", file, "--plan"]).assert().code(0);
        String::from_utf8(plan.get_output().stdout.clone()).unwrap()
    };
    let mine = plan("mine.toml");
    assert_eq!(mine, plan("rows_a_to_f"));
    insta::assert_snapshot!(mine);
    let one = desk.skyline(&["matrix", "mine.toml", "--plan", "--only", "C"]).assert().code(0);
    one.stdout(contains("1 row in 3 runs"));
    let json = desk.skyline(&["matrix", "mine.toml", "--plan", "--json"]).assert().code(0);
    let json: Value = serde_json::from_slice(&json.get_output().stdout).unwrap();
    assert_eq!(json["cells"]["row-A"]["plans"].as_array().unwrap().len(), 3);
    assert!(desk.runs().is_empty(), "nothing is flown, nothing is created");
}

#[test]
fn mistakes_come_all_at_once_and_before_anything_is_started() {
    let desk = Desk::new();
    let file = |text: &str| {
        desk.file("t.toml", text);
        desk.skyline(&["matrix", "t.toml"]).assert().code(2).stdout("")
    };
    file("name = \"t\"\n[[rows]]\nname = \"A\"\nrat_per_s = 1\nexpect = [\"p50 ttft < Z\"]\n").stderr(
        contains("2 mistakes in t.toml")
            .or(contains("1 mistake in t.toml"))
            .and(contains("line 4: `rows[0].rat_per_s` is not a field of a row; did you mean `rate_per_s`?")),
    );
    file("name = \"t\"\n[[rows]]\nname = \"A\"\n[[rows]]\nname = \"B\"\nworkload = \"nothing.toml\"\n").stderr(
        contains("2 rows of `t` cannot be run")
            .and(contains("row A: `input_tokens` is missing"))
            .and(contains("row B: cannot read nothing.toml")),
    );
    file("name = \"t\"\n[[rows]]\nname = \"A\"\nworkload = \"quick.toml\"\n[accept]\nobjectives = [\"p95 ttft of x < 1s\"]\n")
        .stderr(contains("row A: the objective `p95 ttft of x < 1s` does not fit"));
    desk.file(
        "u.toml",
        "name = \"t\"\n[server]\nurl = \"http://127.0.0.1:1\"\n[[rows]]\nname = \"A\"\nworkload = \"quick.toml\"\n",
    );
    desk.skyline(&["matrix", "u.toml", "--url", "http://127.0.0.1:2"])
        .assert()
        .code(2)
        .stderr(contains("--url and variant server both say which server is meant"));
    desk.skyline(&["matrix", "u.toml", "--only", "Z"])
        .assert()
        .code(2)
        .stderr(contains("row `Z`, which does not exist"));
    assert!(desk.runs().is_empty());
}

/// Two servers that are there all the time, at addresses of their own.
fn two_addresses(a: &str, b: &str) -> String {
    format!(
        r#"
name = "places"
[defaults]
workload = "quick.toml"
[server]
engine = "mock"
[[variants]]
name = "one"
url = "{a}"
[[variants]]
name = "other"
url = "{b}"
[[rows]]
name = "A"
"#
    )
}

#[test]
fn a_row_whose_prompts_no_context_holds_fails_alone() {
    let mock = mock(&["--max-model-len", "512"]);
    let desk = Desk::new();
    let rows = "input_tokens = 600\n[[rows]]\nname = \"B\"\n";
    desk.file("t.toml", &(two_addresses(&mock.url, &mock.url) + rows));
    let typed = ["matrix", "t.toml", "--no-calibration", "--allow-invalid"];
    desk.skyline(&typed).assert().stderr(contains("row A: ").and(contains("exceed 512 tokens")));
    let matrix = read(&desk.run().join("matrix.json"));
    let failed: Vec<bool> = matrix["cells"].as_array().unwrap().iter().map(|cell| cell["failed"].is_string()).collect();
    assert_eq!(failed, [true, false, true, false], "{matrix:#}");
}

#[test]
fn the_page_of_one_server_is_not_read_for_all_variants() {
    let desk = Desk::new();
    let server = || serve(|seen: &Seen| control(seen).unwrap_or_else(|| stream(8)));
    let (a, b) = (format!("http://{}", server()), format!("http://{}", server()));
    desk.file("t.toml", &two_addresses(&a, &b));
    let flown = |table: &str, page: &str| {
        let mut command = desk.skyline(&["matrix", table, "--no-calibration", "--allow-invalid"]);
        command.args(["--metrics-url", page]).assert()
    };
    // That of a variant is known by its address, and that of another engine by what it says.
    let page = serve(|_| answer("200 OK", "text/plain", "vllm:num_requests_running 3\n"));
    for page in [format!("{b}/metrics"), format!("http://{page}/metrics")] {
        let refused = contains("is the metrics page of a server, and would count for every variant");
        flown("t.toml", &page).code(2).stderr(refused.and(contains("only pages of GPUs")));
    }
    // That of devices is read in the runs of both, and that of a server where all rows have the same.
    let gpus = serve(|_| answer("200 OK", "text/plain", "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 90\n"));
    flown("t.toml", &format!("http://{gpus}/metrics")).code(0);
    desk.file("same.toml", &two_addresses(&a, &a));
    flown("same.toml", &format!("http://{page}/metrics")).code(0);
}

#[test]
fn rows_vary_sampling_and_bodies_and_send_all_at_once() {
    let bodies = Arc::new(Mutex::new(Vec::<Value>::new()));
    let log = Arc::clone(&bodies);
    let address = serve(move |seen: &Seen| {
        control(seen).unwrap_or_else(|| {
            log.lock().unwrap().push(serde_json::from_str(&seen.body).unwrap());
            stream(4)
        })
    });
    let desk = Desk::new();
    desk.file(
        "t.toml",
        &format!(
            r#"
name = "asked"
[server]
url = "http://{address}"
engine = "vllm"
[defaults]
input_tokens = 16
output_tokens = 4
rate_per_s = 5
horizon_s = 2
[[rows]]
name = "plain"
[[rows]]
name = "hot"
temperature = 0.7
top_p = 0.9
extra_body = {{ repetition_penalty = 1.1 }}
[[rows]]
name = "burst"
arrival = "all_at_once"
requests = 12
"#
        ),
    );
    let typed = ["matrix", "t.toml", "--no-calibration", "--allow-invalid", "--top-k", "5"];
    desk.skyline(&[&typed[..], &["--dry-run"]].concat())
        .assert()
        .code(0)
        .stdout(contains("temperature 0.7, top_p 0.9").and(contains("all at once 12 requests")));
    desk.skyline(&typed).assert().stdout(contains("row").and(contains("burst")));
    let header = |row: &str| {
        let run = std::fs::read_to_string(desk.run().join(format!("row-{row}/run-1/run.jsonl"))).unwrap();
        let lines: Vec<Value> = run.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let header = lines[0]["header"].clone();
        let requests: Vec<_> = lines.iter().filter_map(|line| line.get("request").cloned()).collect();
        (header["engines"][0]["parameters"].clone(), requests)
    };
    let (plain, hot) = (header("plain").0, header("hot").0);
    assert_eq!((&plain["temperature"], &plain["top_k"], &plain["top_p"]), (&0.0.into(), &5.into(), &Value::Null));
    assert_eq!((&hot["temperature"], &hot["top_k"], &hot["top_p"]), (&0.7.into(), &5.into(), &0.9.into()));
    assert!(hot["extra_body_sha256"].is_string() && plain.get("extra_body_sha256").is_none(), "{hot}");
    let with_penalty = bodies.lock().unwrap().iter().filter(|body| body["repetition_penalty"] == 1.1).count();
    assert!(with_penalty >= 5, "{with_penalty}");
    let burst = header("burst").1;
    assert_eq!(burst.len(), 12);
    assert!(burst.iter().all(|request| request["scheduled_ns"] == 0), "{burst:?}");
    let matrix = read(&desk.run().join("matrix.json"));
    let variables = &matrix["cells"][1]["variables"];
    assert_eq!(
        (&variables["sampling"], &variables["extra_body"]),
        (&"temperature 0.7, top_p 0.9".into(), &r#"{"repetition_penalty":1.1}"#.into()),
    );
    assert_eq!(matrix["cells"][2]["variables"]["load"], "12 requests");
    // A misspelt parameter is answered with the right one, before anything is sent.
    let misspelt = std::fs::read_to_string(desk.path().join("t.toml")).unwrap().replace("temperature", "temprature");
    desk.file("u.toml", &misspelt);
    desk.skyline(&["matrix", "u.toml"]).assert().code(2).stderr(contains("temprature").and(contains("temperature")));
}
