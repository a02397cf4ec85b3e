//! Pauses in which nothing is in flight: cut, in a run and in virtual time, by what its log says.

use std::path::Path;
use std::time::Duration;

use predicates::str::contains;
use serde_json::Value;
use skyline::clock::Timestamp;
use skyline::generator::check_plan;
use skyline::record::{PlanCheck, RunLog};

use crate::support::{Desk, mock};

/// Sessions of three requests with long pauses. A helper works beside the second.
const AGENTS: &str = r#"
name = "pausing"
horizon_s = 4
warmup_s = 0
drain_s = 5
[arrival]
kind = "users"
users = 3
ramp_s = 0.2
[[classes]]
name = "agent"
input_tokens = { kind = "uniform", min = 20, max = 60 }
output_tokens = 5
[classes.session]
steps = [
    { name = "task" },
    { name = "loop", turns = 2, delay_s = { kind = "uniform", min = 2.0, max = 9.0 } },
    { name = "helper", after = "task", history = "new", delay_s = 3.0 },
]
"#;
const CAP: Duration = Duration::from_millis(300);

/// Holds the requests of a log to the rule. Between what ends and what is due, nothing is in flight for longer than the
/// cap, and where the clock of the agents jumps it is for exactly that long. Returns how often it jumps.
fn jumps(log: &RunLog) -> usize {
    let mut records: Vec<_> = log.records.iter().collect();
    records.sort_by_key(|record| (record.scheduled, record.index));
    let (mut until, mut ahead, mut jumps) = (Timestamp::ZERO, 0, 0);
    for record in &records {
        let own = record.turn().unwrap().graph.unwrap().ahead_ns;
        assert!(own >= ahead, "the clock never goes back");
        if own > ahead {
            assert_eq!(record.scheduled, until.after(CAP), "request {}", record.index);
            jumps += 1;
        }
        assert!(record.scheduled <= until.max(Timestamp::from_secs_f64(0.2)).after(CAP), "request {}", record.index);
        (until, ahead) = (until.max(record.ended), own);
    }
    let held = check_plan(log);
    assert!(matches!(&held, PlanCheck::Held { unchecked, .. } if unchecked.is_empty()), "{held:?}");
    jumps
}

fn read(folder: &Path) -> (RunLog, Value) {
    let summary = serde_json::from_slice(&std::fs::read(folder.join("summary.json")).unwrap()).unwrap();
    (RunLog::read(folder).unwrap(), summary)
}

#[test]
fn where_nothing_is_in_flight_for_long_all_that_waits_comes_sooner() {
    let (desk, server) = (Desk::new(), mock(&["--ttft", "5ms", "--itl", "1ms"]));
    desk.file("pausing.toml", AGENTS);
    let cap = ["--system-idle-cap", "300ms"];
    let bench = ["bench", "pausing.toml", "--engine", "mock", "--url", &server.url, "--no-calibration"];
    desk.skyline(&bench).args(cap).arg("--allow-invalid").assert().code(0);
    let (log, summary) = read(&desk.run());
    let found = jumps(&log);
    assert!(found >= 2 && log.records.len() > 5, "{found} of {}", log.records.len());
    let skipped = summary["sessions"]["skipped_idle_s"].as_f64().unwrap();
    assert!(skipped > 0.5, "{skipped}");
    let path = desk.run();
    desk.skyline(&["report", path.to_str().unwrap(), "--allow-invalid"])
        .assert()
        .stdout(contains("of pauses in which nothing was in flight"));

    // In virtual time the same rule holds.
    let virtually = Desk::new();
    virtually.file("pausing.toml", AGENTS);
    let simulate = ["simulate", "pausing.toml", "60", "--hardware", "h100", "--out", "kept"];
    virtually.skyline(&simulate).args(cap).arg("--allow-invalid").assert().code(0);
    let kept = std::fs::read_dir(virtually.path().join("kept")).unwrap().next().unwrap().unwrap().path();
    let (log, _) = read(&kept);
    assert!(jumps(&log) > 30);
}

#[test]
fn a_cap_needs_agents_and_one_client() {
    let desk = Desk::new();
    desk.file("pausing.toml", AGENTS);
    let url = ["--url", "http://127.0.0.1:9", "--dry-run", "--system-idle-cap", "10s"];
    for (options, said) in [
        (&["bench", "quick.toml", "--users", "2"][..], "only agents that play sessions have pauses"),
        (&["bench", "pausing.toml", "--requests", "9"], "a number of requests ends the run; give [SECONDS]"),
        (&["bench", "pausing.toml", "--shard", "1/2", "--salt", "1"], "one of several generators does not know"),
    ] {
        desk.skyline(options).args(url).assert().code(2).stderr(contains(said));
    }
    desk.skyline(&["bench", "pausing.toml"]).args(url).assert().code(0);
}
