//! Conclusions of a table, and stored ones that are judged again.

use std::net::TcpStream;
use std::path::Path;

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

use super::{read, two_variants};
use crate::support::{Desk, free_port};

#[test]
fn variants_are_started_flown_decided_on_and_ended() {
    let desk = Desk::new();
    let port = free_port();
    desk.file("t.toml", &two_variants(&desk, port));
    let quick = ["--allow-invalid", "--no-calibration", "--quiet", "--pause", "0s"];
    let out = desk.skyline(&[&["matrix", "t.toml", "--json"][..], &quick].concat()).assert();
    let matrix: Value = serde_json::from_slice(&out.get_output().stdout).unwrap();
    let folder = desk.run();
    assert_eq!(read(&folder.join("matrix.json")), matrix);
    desk.assert_schema("matrix", &matrix);
    let place = |cell: &Value| format!("{} {}", cell["variant"], cell["row"]).replace('"', "");
    let cells: Vec<_> = matrix["cells"].as_array().unwrap().iter().map(place).collect();
    assert_eq!(cells, ["slow A", "slow B", "quick A", "quick B"]);
    // 600 ms are told from 20 ms however busy the machine is, and 300 ms lie between.
    let standings: Vec<_> =
        matrix["decision"]["variants"].as_array().unwrap().iter().map(|variant| &variant["standing"]).collect();
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
    assert!(decision.contains(&format!("{accepted}: quick")) && decision.contains("--ttft 20ms"), "{decision}");
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
    desk.skyline(&["report", path, "--objective", "p50 ttft < 1s"]).assert().code(2).stderr(contains("row-A"));
    desk.file("t.toml", &two_variants(&desk, port).replace("600ms", "601ms"));
    desk.skyline(&[&["matrix", "t.toml"][..], &quick, &resume].concat())
        .assert()
        .code(2)
        .stderr(contains("another experiment").and(contains("601ms")));
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
    assert_eq!((&stored["stopped"]["kind"], &again["stopped"]["kind"]), (&"all_flown".into(), &"all_run".into()));
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
