//! Servers that a table starts: those that fail, rest, are gone, or are left behind by an interrupt.

use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

use super::{read, two_variants};
use crate::support::{Desk, PATIENCE, free_port, signal};

/// The quick variant is accepted, unless this machine spoiled a row: such a row accepts nothing.
fn judged() -> impl Predicate<str> {
    contains("accepted: quick").or(contains("undecided: quick"))
}

#[test]
fn a_server_that_cannot_serve_is_told_with_its_last_words_and_the_next_is_flown() {
    let desk = Desk::new();
    let port = free_port();
    let text =
        two_variants(&desk, port).replace("flags = \"--ttft 600ms\"", "serve = \"echo no such model >&2; exit 4\"");
    desk.file("t.toml", &text);
    desk.skyline(&["matrix", "t.toml", "--allow-invalid", "--no-calibration", "--repeats", "1"])
        .assert()
        .code(3)
        .stderr(contains("the server ended by itself: it exited with 4").and(contains("\n  no such model\n")))
        .stdout(contains("could not be run").and(judged()));
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
    let said = contains("row A: in run 2 the server was gone").and(contains("variant server is started: "));
    desk.skyline(&typed).assert().code(3).stderr(said);
    let folder = desk.run();
    assert!(folder.join("server-server.log").exists());
    let log = std::fs::read_to_string(folder.join("row-A/run-1/run.jsonl")).unwrap();
    let header: Value = serde_json::from_str(log.lines().next().unwrap()).unwrap();
    let since =
        |name: &str| header["header"]["cold_start"][name].as_f64().unwrap_or_else(|| panic!("{name}: {header:#}"));
    let order = ["listening_s", "ready_s", "first_token_s"].map(since);
    assert!(order[0] > 0.0 && order.is_sorted(), "{order:?}");
    let row = |matrix: &Value| matrix["cells"][0].clone();
    let lost = read(&folder.join("matrix.json"));
    assert_eq!((&row(&lost)["failed_by"], row(&lost)["runs"].as_array().unwrap().len()), (&"server".into(), 1));
    assert_eq!(row(&lost)["standing"], "inconclusive", "{lost:#}");
    assert_eq!(lost["decision"]["variants"][0]["standing"], "rejected");

    let resume = ["--resume", folder.to_str().unwrap()];
    let _ = desk.skyline(&[&typed[..], &resume].concat()).assert().code(predicate::in_iter([0, 1]));
    let whole = read(&folder.join("matrix.json"));
    assert_eq!((row(&whole)["runs"].as_array().unwrap().len(), &whole["cells"][0]["failed"]), (2, &Value::Null));
}

#[cfg(unix)]
#[test]
fn a_server_comes_to_rest_between_two_runs() {
    let desk = Desk::new();
    desk.file("t.toml", "name = \"rest\"\n[[rows]]\nname = \"A\"\nworkload = \"quick.toml\"\nrepeats = 2\n");
    let typed = ["matrix", "t.toml", "--engine", "mock", "--allow-invalid", "--no-calibration", "--pause", "3s"];
    desk.skyline(&typed).assert().code(0);
    let matrix = read(&desk.run().join("matrix.json"));
    let begun = |run: usize| {
        let at = matrix["cells"][0]["runs"][run]["started_at"].as_str().unwrap();
        at.parse::<jiff::Timestamp>().unwrap()
    };
    let between = begun(1).duration_since(begun(0)).as_secs_f64();
    // No bound above: a busy machine takes as long as it likes.
    assert!(between > 4.5, "{between} s");
}

#[cfg(unix)]
#[test]
fn an_interrupted_table_leaves_no_server_and_goes_on() {
    let desk = Desk::new();
    let port = free_port();
    desk.file("t.toml", &two_variants(&desk, port));
    let typed = ["matrix", "t.toml", "--allow-invalid", "--no-calibration", "--pause", "0s"];
    let mut child = desk.start(&typed);
    let begin = Instant::now();
    let kept = |name: &str| desk.runs().first().is_some_and(|folder| folder.join(name).exists());
    while !kept("slow/row-A/run-2/run.jsonl") {
        assert!(begin.elapsed() < PATIENCE, "the second run does not begin");
        std::thread::sleep(Duration::from_millis(20));
    }
    signal(&child, "-INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err(), "no server is left");
    let folder = desk.run();
    assert_eq!(read(&folder.join("matrix.json"))["stopped"]["kind"], "interrupted");
    let first = std::fs::read(folder.join("slow/row-A/run-1/run.jsonl")).unwrap();

    let resume = ["--resume", folder.to_str().unwrap()];
    desk.skyline(&[&typed[..], &resume].concat()).assert().stdout(judged());
    assert_eq!(std::fs::read(folder.join("slow/row-A/run-1/run.jsonl")).unwrap(), first, "flown once");
    assert_eq!(read(&folder.join("matrix.json"))["cells"].as_array().unwrap().len(), 4);
}

#[cfg(unix)]
#[test]
fn a_server_does_not_outlive_a_table_that_is_killed() {
    let desk = Desk::new();
    let port = free_port();
    desk.file("t.toml", &two_variants(&desk, port));
    let mut child = desk.start(&["matrix", "t.toml", "--no-calibration"]);
    let serves = || TcpStream::connect(("127.0.0.1", port)).is_ok();
    let until = |wanted: bool| {
        let begin = Instant::now();
        while serves() != wanted {
            assert!(begin.elapsed() < PATIENCE, "the server is {}there", if wanted { "not " } else { "" });
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    until(true);
    child.kill().unwrap();
    child.wait().unwrap();
    until(false);
}
