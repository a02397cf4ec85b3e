//! `skyline sweep --agents`: the largest number of agents, and of each tier in one search.

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::{Value, json};

use super::sweep::{SHORT, read, trials};
use crate::support::{Desk, mock};

/// Sessions of three requests, one after another.
const AGENTS: &str = r#"
name = "agents"
horizon_s = 5
warmup_s = 0
drain_s = 30
arrival = { kind = "constant", rate_per_s = 2 }
[[classes]]
name = "agent"
input_tokens = 20
output_tokens = 5
[classes.session]
steps = [{ name = "task" }, { name = "loop", turns = 2, delay_s = 0.01 }]
"#;

#[test]
fn agents_are_searched() {
    let desk = Desk::new();
    desk.file("agents.toml", AGENTS);
    // Where one answer goes at a time, a second agent waits for half of the answers of the first.
    let server = mock(&["--slots", "1", "--ttft", "50ms", "--itl", "1ms"]);
    let objective = ["--objective", "p50 ttft < 60ms", "--engine", "vllm", "--url", &server.url];
    let sweep = [&["sweep", "agents.toml", "--agents", "--max-runs", "4"], &objective[..]].concat();
    let out = desk.skyline(&[&sweep[..], &SHORT].concat()).assert();
    let out = out.get_output();
    let (text, words) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert!(words.contains("searching from 4 agents on") && words.contains("run 1: 4 agents for 1 s"), "{words}");
    assert!(text.contains("4 agents") && !text.contains("users"), "{text}");
    let kept = read(&desk.run().join("sweep.json"));
    assert_eq!(kept["plan"]["axis"], json!({ "kind": "agents", "from": 4 }));
    assert_eq!(kept["plan"]["requests_per_arrival"], 3.0);
    let loads: Vec<_> = trials(&kept).iter().map(|trial| trial["load"].clone()).collect();
    assert_eq!(loads[0], json!({ "kind": "agents", "value": 4 }));
    assert!(loads.contains(&json!({ "kind": "agents", "value": 2 })), "{text}");
    let path = desk.run();
    let again = desk.skyline(&["report", path.to_str().unwrap(), "--allow-invalid", "--json"]).assert();
    assert_eq!(serde_json::from_slice::<Value>(&again.get_output().stdout).unwrap(), kept);
}

/// One answer at a time: with two agents or more half of the answers wait, and with none of them for ten seconds.
#[test]
fn one_search_of_agents_serves_all_tiers() {
    let desk = Desk::new();
    desk.file("agents.toml", AGENTS);
    let server = mock(&["--slots", "1", "--ttft", "50ms", "--itl", "1ms"]);
    let tiers = ["--tier", "fast=p50 ttft < 60ms,tokens_per_s_per_user > 1", "--tier", "slow=p50 ttft < 10s"];
    let sweep = ["sweep", "agents.toml", "--agents", "--max-runs", "5", "--engine", "vllm", "--url", &server.url];
    let typed = [&sweep[..], &tiers, &["--objective", "error_rate < 50%"], &SHORT].concat();
    desk.skyline(&[&typed[..], &["--dry-run"]].concat()).assert().success().stdout(
        contains("tiers").and(contains("fast: error_rate < 50%; p50 ttft < 60ms; tokens_per_s_per_user > 1 · slow:")),
    );
    let out = desk.skyline(&typed).assert();
    let out = out.get_output();
    let (text, words) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert!(
        words.contains("; the highest load is fast probably below 4 agents, slow probably above 4 agents"),
        "{words}"
    );
    let heading = "Tiers: the highest load of each";
    assert!(text.contains(heading) && text.contains("slow: error_rate < 50%; p50 ttft < 10s"), "{text}");
    let folder = desk.run();
    let kept = read(&folder.join("sweep.json"));
    assert_eq!(
        kept["plan"]["tiers"][1],
        json!({ "name": "slow", "objectives": ["error_rate < 50%", "p50 ttft < 10s"] })
    );
    let of = |place: usize| &kept["tiers"][place];
    assert_eq!((&of(0)["name"], &of(1)["name"]), (&json!("fast"), &json!("slow")));
    // More agents than four are the slow tier's alone, fewer the fast one's: a search serves both.
    let loads: Vec<_> = trials(&kept).iter().map(|trial| trial["load"]["value"].as_u64().unwrap()).collect();
    assert!(loads.iter().any(|agents| *agents > 4) && loads.iter().any(|agents| *agents < 4), "{loads:?}");
    assert!(kept["points"].as_array().unwrap().iter().all(|point| point["tiers"].as_array().unwrap().len() == 2));

    let path = folder.to_str().unwrap();
    let again = desk.skyline(&["report", path, "--allow-invalid", "--json"]).assert();
    assert_eq!(serde_json::from_slice::<Value>(&again.get_output().stdout).unwrap(), kept, "a report keeps the tiers");
    let csv = ["report", path, "--allow-invalid", "--format", "csv"];
    let _ = desk.skyline(&csv).assert();
    let answers = std::fs::read_to_string(folder.join("answers.csv")).unwrap();
    assert!(answers.lines().nth(1).unwrap().starts_with("fast,agents,") && answers.lines().count() == 3, "{answers}");
    let resume = [&typed[..], &["--resume", path, "--json"]].concat();
    let resumed: Value = serde_json::from_slice(&desk.skyline(&resume).assert().get_output().stdout).unwrap();
    assert_eq!(resumed["tiers"], kept["tiers"], "so does a sweep that is resumed");
    let other: Vec<_> = resume.iter().map(|word| if *word == tiers[3] { "slow=p50 ttft < 9s" } else { word }).collect();
    desk.skyline(&other).assert().code(2).stderr(contains("plan.tiers"));
    // Other objectives have one highest load together.
    let other = ["report", path, "--allow-invalid", "--objective", "p50 ttft < 10s"];
    let other = desk.skyline(&other).assert();
    assert!(!String::from_utf8_lossy(&other.get_output().stdout).contains(heading));
}
