//! `skyline matrix`: tables of experiments against servers that it starts itself.

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

use crate::support::{Desk, Seen, answer, control, free_port, mock, serve, signal, stream};

/// Two variants of a mock without physics that differ in their time to the first token.
fn two_variants(port: u16) -> String {
    format!(
        r#"
name = "delays"
[defaults]
workload = "quick.toml"
repeats = 2
[server]
url = "http://127.0.0.1:{port}"
engine = "mock"
serve = "exec $SKYLINE mock --port {port} --itl 1ms {{flags}}"
reset = "echo reset $SKYLINE_ROW of $SKYLINE_VARIANT"
[[variants]]
name = "slow"
flags = "--ttft 150ms"
[[variants]]
name = "quick"
flags = "--ttft 20ms"
[[rows]]
name = "A"
question = "Does the delay show?"
hypothesis = "It is all there is."
expect = ["mean ttft < 300ms"]
[[rows]]
name = "B"
expect = ["p50 ttft < 0.8 x @slow"]
variants = ["slow", "quick"]
[accept]
objectives = ["mean ttft < 100ms"]
"#
    )
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

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
    file("name = \"t\"\n[[rows]]\nname = \"A\"\n[[rows]]\nname = \"B\"\nworkload = \"nothing.toml\"\n")
        .stderr(
            contains("2 rows of `t` cannot be run")
                .and(contains("row A: `input_tokens` is missing"))
                .and(contains("row B: cannot read nothing.toml")),
        );
    file("name = \"t\"\n[[rows]]\nname = \"A\"\nworkload = \"quick.toml\"\n[accept]\nobjectives = [\"p95 ttft of x < 1s\"]\n")
        .stderr(contains("row A: the objective `p95 ttft of x < 1s` does not fit"));
    desk.file("u.toml", "name = \"t\"\n[server]\nurl = \"http://127.0.0.1:1\"\n[[rows]]\nname = \"A\"\nworkload = \"quick.toml\"\n");
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

#[test]
fn variants_are_started_flown_decided_on_and_ended() {
    let desk = Desk::new();
    let port = free_port();
    desk.file("t.toml", &two_variants(port));
    let quick = ["--allow-invalid", "--no-calibration", "--quiet", "--pause", "0s"];
    let out = desk.skyline(&[&["matrix", "t.toml", "--json"][..], &quick].concat()).assert();
    let matrix: Value = serde_json::from_slice(&out.get_output().stdout).unwrap();
    let folder = desk.run();
    assert_eq!(read(&folder.join("matrix.json")), matrix);
    desk.assert_schema("matrix", &matrix);
    let place = |cell: &Value| format!("{} {}", cell["variant"], cell["row"]).replace('"', "");
    let cells: Vec<_> = matrix["cells"].as_array().unwrap().iter().map(place).collect();
    assert_eq!(cells, ["slow A", "slow B", "quick A", "quick B"]);
    // 150 ms are told from 20 ms however busy the machine is, and 100 ms lie between.
    let standings: Vec<_> = matrix["decision"]["variants"]
        .as_array()
        .unwrap()
        .iter()
        .map(|variant| &variant["standing"])
        .collect();
    // Unless the machine spoiled a row: such a row accepts nothing.
    let accepted = if matrix["caution"].is_null() { "accepted" } else { "undecided" };
    assert_eq!(standings, ["rejected", accepted], "{matrix:#}");
    assert_eq!(matrix["cells"][3]["tests"][0]["differing"], serde_json::json!(["variant"]));

    // The flags are with every run, and what the commands wrote beside them.
    let summary = read(&folder.join("quick/row-B/run-2/summary.json"));
    let labels = &summary["run"]["deployment"]["labels"];
    assert_eq!(
        (&labels["variant"], &labels["row"], &labels["flags"]),
        (&"quick".into(), &"B".into(), &"--ttft 20ms".into())
    );
    let commands = std::fs::read_to_string(folder.join("commands.log")).unwrap();
    assert_eq!(
        commands.lines().filter(|line| !line.starts_with("---")).collect::<Vec<_>>()[..3],
        ["reset A of slow", "reset A of slow", "reset B of slow"]
    );
    assert!(std::fs::read_to_string(folder.join("server-slow.log")).unwrap().contains("mock --port"));
    let decision = std::fs::read_to_string(folder.join("decision.md")).unwrap();
    assert!(
        decision.contains(&format!("{accepted}: quick")) && decision.contains("--ttft 20ms"),
        "{decision}"
    );
    assert!(decision.contains("rejected: slow"), "{decision}");
    // So few requests make no p99.
    let sign = "too few samples in a run to rely on";
    assert!(decision.contains(sign) && decision.contains("\\* | "), "{decision}");
    let text = std::fs::read_to_string(folder.join("matrix.txt")).unwrap();
    assert!(text.contains(&format!("  * {sign}\n")) && text.contains("* "), "{text}");
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err(), "no server is left");

    // All of it is there: nothing is started and nothing flown again.
    let resume = ["--resume", folder.to_str().unwrap()];
    let again = desk.skyline(&[&["matrix", "t.toml", "--json"][..], &quick, &resume].concat()).assert();
    assert_eq!(serde_json::from_slice::<Value>(&again.get_output().stdout).unwrap(), matrix);
    assert_eq!(std::fs::read_to_string(folder.join("commands.log")).unwrap(), commands);
    desk.skyline(&[&["matrix", "t.toml", "--top-p", "0.9"][..], &quick, &resume].concat())
        .assert()
        .code(2)
        .stderr(contains("row-A.server.parameters.top_p was null, and is 0.9 now"));
    // Shown again it is judged from the logs; without the runs' being believed nothing is accepted.
    let path = folder.to_str().unwrap();
    let shown = desk.skyline(&["report", path, "--json", "--allow-invalid"]).assert();
    let shown_code = shown.get_output().status.code();
    assert_eq!(serde_json::from_slice::<Value>(&shown.get_output().stdout).unwrap(), matrix);
    assert_eq!(shown_code, again.get_output().status.code());
    let text = desk.skyline(&["report", path, "--allow-invalid"]).assert();
    let text = String::from_utf8_lossy(&text.get_output().stdout).into_owned();
    assert_eq!(text, std::fs::read_to_string(folder.join("matrix.txt")).unwrap());
    assert!(text.contains(accepted) && text.contains("rejected"), "{text}");
    desk.skyline(&["report", path, "--objective", "p50 ttft < 1s"])
        .assert()
        .code(2)
        .stderr(contains("row-A"));
    desk.file("t.toml", &two_variants(port).replace("150ms", "151ms"));
    desk.skyline(&[&["matrix", "t.toml"][..], &quick, &resume].concat())
        .assert()
        .code(2)
        .stderr(contains("another experiment").and(contains("151ms")));
}

/// Takes the ends of all intervals away.
fn without_intervals(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|key, _| key != "low" && key != "high");
            fields.values_mut().for_each(without_intervals);
        }
        Value::Array(values) => values.iter_mut().for_each(without_intervals),
        _ => {}
    }
}

/// A matrix of schema 1: what stops it is called otherwise since.
#[test]
fn a_stored_matrix_is_judged_again_from_its_logs() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/experiments/matrix-schema-1");
    let report = ["report", folder.to_str().unwrap(), "--json", "--allow-invalid"];
    let out = Desk::new().skyline(&report).assert().code(1);
    let again: Value = serde_json::from_slice(&out.get_output().stdout).unwrap();
    let stored = read(&folder.join("matrix.json"));
    assert_eq!(
        (&stored["stopped"]["kind"], &again["stopped"]["kind"]),
        (&"all_flown".into(), &"all_run".into())
    );
    assert_eq!(again["decision"]["contract"]["stop_when"], "all_run");
    // That three requests meet `p50 ttft < 100ms` is not taken for known any more.
    assert_eq!(stored["decision"]["variants"][0]["standing"], "accepted");
    let reasons = again["decision"]["variants"][0]["reasons"].to_string();
    assert_eq!(again["decision"]["variants"][0]["standing"], "undecided");
    assert!(reasons.contains("cannot tell: p50 ttft < 100ms") && reasons.contains("0 of 3"), "{reasons}");
    // Whether its runs can be trusted, what they tell and how sure a figure is follows today's rules; the figures are the stored ones.
    let cells = |matrix: &Value| {
        let mut cells = matrix["cells"].clone();
        let cell = cells[0].as_object_mut().unwrap();
        let judged = ["outcome", "valid", "reasons", "standing", "tests", "contract"];
        cell.retain(|key, _| !judged.contains(&key.as_str()));
        for run in cell["runs"].as_array_mut().unwrap() {
            run.as_object_mut().unwrap().retain(|key, _| key != "outcome" && key != "valid");
        }
        without_intervals(&mut cells);
        cells
    };
    assert_eq!(cells(&again), cells(&stored));
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
    let failed: Vec<bool> =
        matrix["cells"].as_array().unwrap().iter().map(|cell| cell["failed"].is_string()).collect();
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
fn a_server_that_cannot_serve_is_told_with_its_last_words_and_the_next_is_flown() {
    let desk = Desk::new();
    let port = free_port();
    let text =
        two_variants(port).replace("flags = \"--ttft 150ms\"", "serve = \"echo no such model >&2; exit 4\"");
    desk.file("t.toml", &text);
    desk.skyline(&["matrix", "t.toml", "--allow-invalid", "--no-calibration", "--repeats", "1"])
        .assert()
        .code(3)
        .stderr(contains("the server ended by itself: it exited with 4").and(contains("\n  no such model\n")))
        .stdout(contains("could not be run").and(contains("accepted: quick")));
    // Something that answers where a server is about to be started would be measured in its place.
    let _other = TcpListener::bind(("127.0.0.1", port)).unwrap();
    desk.skyline(&["matrix", "t.toml", "--no-calibration", "--only", "A"])
        .assert()
        .code(3)
        .stderr(contains("a server already answers at 127.0.0.1"));
}

/// Before the second run of the row `reset` ends the server, once.
#[cfg(unix)]
#[test]
fn a_server_that_is_gone_ends_its_row_and_what_it_spoiled_is_flown_again() {
    let desk = Desk::new();
    let port = free_port();
    desk.file(
        "t.toml",
        &format!(
            r#"
name = "gone"
[server]
url = "http://127.0.0.1:{port}"
engine = "vllm"
serve = "echo $$ > pid; exec $SKYLINE mock --port {port} --ttft 20ms --itl 1ms"
reset = "if [ -e first ] && [ ! -e second ]; then kill -9 $(cat pid); touch second; fi; touch first"
[[rows]]
name = "A"
workload = "quick.toml"
repeats = 2
expect = ["max ttft < 300s"]
[accept]
objectives = ["max ttft < 300s"]
"#
        ),
    );
    let typed = ["matrix", "t.toml", "--allow-invalid", "--no-calibration", "--pause", "0s"];
    desk.skyline(&typed).assert().code(3).stderr(contains("row A: in run 2 the server was gone"));
    let folder = desk.run();
    let row = |matrix: &Value| matrix["cells"][0].clone();
    let lost = read(&folder.join("matrix.json"));
    assert_eq!(
        (&row(&lost)["failed_by"], row(&lost)["runs"].as_array().unwrap().len()),
        (&"server".into(), 1)
    );
    assert_eq!(row(&lost)["standing"], "inconclusive", "{lost:#}");
    assert_eq!(lost["decision"]["variants"][0]["standing"], "rejected");

    let resume = ["--resume", folder.to_str().unwrap()];
    desk.skyline(&[&typed[..], &resume].concat()).assert().code(0);
    let whole = read(&folder.join("matrix.json"));
    assert_eq!(
        (row(&whole)["runs"].as_array().unwrap().len(), &whole["cells"][0]["failed"]),
        (2, &Value::Null)
    );
}

#[cfg(unix)]
#[test]
fn a_server_comes_to_rest_between_two_runs() {
    let desk = Desk::new();
    desk.file("t.toml", "name = \"rest\"\n[[rows]]\nname = \"A\"\nworkload = \"quick.toml\"\nrepeats = 2\n");
    let typed =
        ["matrix", "t.toml", "--engine", "mock", "--allow-invalid", "--no-calibration", "--pause", "5s"];
    desk.skyline(&typed).assert().code(0);
    let matrix = read(&desk.run().join("matrix.json"));
    let begun = |run: usize| {
        let at = matrix["cells"][0]["runs"][run]["started_at"].as_str().unwrap();
        at.parse::<jiff::Timestamp>().unwrap()
    };
    let between = begun(1).duration_since(begun(0)).as_secs_f64();
    // No bound above: a busy machine takes as long as it likes.
    assert!(between > 6.0, "{between} s");
}

#[cfg(unix)]
#[test]
fn an_interrupted_table_leaves_no_server_and_goes_on() {
    let desk = Desk::new();
    let port = free_port();
    desk.file("t.toml", &two_variants(port));
    let typed = ["matrix", "t.toml", "--allow-invalid", "--no-calibration", "--pause", "0s"];
    let mut child = desk.start(&typed);
    let begin = Instant::now();
    let kept = |name: &str| desk.runs().first().is_some_and(|folder| folder.join(name).exists());
    while !kept("slow/row-A/run-2/run.jsonl") {
        assert!(begin.elapsed() < Duration::from_secs(50), "the second run does not begin");
        std::thread::sleep(Duration::from_millis(20));
    }
    signal(&child, "-INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err(), "no server is left");
    let folder = desk.run();
    assert_eq!(read(&folder.join("matrix.json"))["stopped"]["kind"], "interrupted");
    let first = std::fs::read(folder.join("slow/row-A/run-1/run.jsonl")).unwrap();

    let resume = ["--resume", folder.to_str().unwrap()];
    desk.skyline(&[&typed[..], &resume].concat()).assert().stdout(contains("accepted: quick"));
    assert_eq!(std::fs::read(folder.join("slow/row-A/run-1/run.jsonl")).unwrap(), first, "flown once");
    assert_eq!(read(&folder.join("matrix.json"))["cells"].as_array().unwrap().len(), 4);
}

#[cfg(unix)]
#[test]
fn a_server_does_not_outlive_a_table_that_is_killed() {
    let desk = Desk::new();
    let port = free_port();
    desk.file("t.toml", &two_variants(port));
    let mut child = desk.start(&["matrix", "t.toml", "--no-calibration"]);
    let serves = || TcpStream::connect(("127.0.0.1", port)).is_ok();
    let until = |wanted: bool| {
        let begin = Instant::now();
        while serves() != wanted {
            assert!(
                begin.elapsed() < Duration::from_secs(50),
                "the server is {}there",
                if wanted { "not " } else { "" }
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    until(true);
    child.kill().unwrap();
    child.wait().unwrap();
    until(false);
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
        (header["engine"]["parameters"].clone(), requests)
    };
    let (plain, hot) = (header("plain").0, header("hot").0);
    assert_eq!(
        (&plain["temperature"], &plain["top_k"], &plain["top_p"]),
        (&0.0.into(), &5.into(), &Value::Null)
    );
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
    let misspelt =
        std::fs::read_to_string(desk.path().join("t.toml")).unwrap().replace("temperature", "temprature");
    desk.file("u.toml", &misspelt);
    desk.skyline(&["matrix", "u.toml"])
        .assert()
        .code(2)
        .stderr(contains("temprature").and(contains("temperature")));
}
