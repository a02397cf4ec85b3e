//! `skyline ab`: two mocks of different speed, told apart; rounds that alternate; commands; what is kept, resumed, refused.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use predicates::prelude::*;
use predicates::str::{contains, is_match};
use serde_json::Value;

use crate::mock_process::MockProcess;
use crate::support::{Desk, PATIENCE, answer, control, mock, serve, signal, stream};

/// A mock of this pace.
fn paced(options: &[&str]) -> MockProcess {
    mock(&[&["--itl", "1ms"], options].concat())
}

#[test]
fn the_page_of_one_server_is_not_read_for_both_sides() {
    let desk = Desk::new();
    let (a, b) = (paced(&["--ttft", "5ms"]), paced(&["--ttft", "5ms"]));
    let page = format!("{}/metrics", b.url);
    desk.skyline(&QUICK)
        .args(["--a", &a.url, "--b", &b.url, "--metrics-url", &page])
        .assert()
        .code(2)
        .stderr(contains("would count for both sides").and(contains("only pages of GPUs")));
}

/// Half a second of requests in each run, as few rounds as can tell by one metric, and no matter how busy this machine is.
const QUICK: [&str; 11] = [
    "ab",
    "quick.toml",
    "0.5",
    "--rounds",
    "7",
    "--metric",
    "p50 ttft",
    "--pause",
    "0s",
    "--no-calibration",
    "--allow-invalid",
];

fn read(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn header(folder: &Path, run: &str) -> Value {
    let log = std::fs::read_to_string(folder.join(run).join("run.jsonl")).unwrap();
    serde_json::from_str::<Value>(log.lines().next().unwrap()).unwrap()["header"].take()
}

#[test]
fn a_slower_server_is_found_and_every_run_is_kept() {
    let desk = Desk::new();
    let (a, b) = (paced(&["--ttft", "20ms"]), paced(&["--ttft", "800ms"]));
    let sides = ["--a", &a.url, "--b", &b.url, "--b-label", "flags=--slow", "--json"];
    let out =
        desk.skyline(&[&QUICK[..], &sides].concat()).assert().code(1).stderr(
            contains("what 7 rounds of 500 ms can find is not known yet").and(contains("by the rounds so far")),
        );
    let test: Value = serde_json::from_slice(&out.get_output().stdout).unwrap();
    assert_eq!((&test["schema"], &test["verdict"]), (&Value::from(2), &Value::from("worse")));
    let ttft = &test["metrics"][0];
    assert_eq!((&ttft["verdict"], &ttft["p"]), (&Value::from("worse"), &Value::from(0.015_625)));
    // Forty times as slow, less what a busy machine adds to both.
    assert!((1.2..45.0).contains(&ttft["ratio"]["value"].as_f64().unwrap()), "{ttft}");
    let unlike = serde_json::json!([{ "what": "flags", "a": "not reported", "b": "--slow" }]);
    assert_eq!(test["sides"]["unlike"], unlike);

    let folder = desk.run();
    let name = folder.file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with("quick-ab-"), "{name}");
    assert_eq!(read(&folder.join("ab.json")), test);
    assert!(std::fs::read_to_string(folder.join("report.html")).unwrap().contains("p50 ttft"));
    // Both sides of a round are asked the same, other rounds something else; each goes first in one of two rounds.
    let mut texts = BTreeSet::new();
    for round in 1..=7 {
        let [a, b] = ["a", "b"].map(|side| header(&folder, &format!("round-{round}/{side}")));
        assert_eq!(a["plan"]["hash"], b["plan"]["hash"]);
        assert_eq!(a["prompts"]["salt"], b["prompts"]["salt"]);
        assert!(texts.insert((a["prompts"]["salt"].to_string(), a["plan"]["hash"].to_string())));
        let a_first = a["started_at"].as_str() < b["started_at"].as_str();
        assert_eq!(test["rounds"][round - 1]["order"][0], if a_first { "a" } else { "b" });
    }
    for pair in test["rounds"].as_array().unwrap().chunks_exact(2) {
        assert_ne!(pair[0]["order"], pair[1]["order"]);
    }
    // The next comparison knows how much this one varied.
    let planned = desk.skyline(&[&QUICK[..], &sides, &["--dry-run"]].concat()).assert().code(0);
    let planned: Value = serde_json::from_slice(&planned.get_output().stdout).unwrap();
    let facts = planned["facts"].as_array().unwrap();
    let fact = |name: &str| facts.iter().find(|fact| fact[0] == name).unwrap()[1].as_str().unwrap();
    assert!(fact("find").starts_with("80 % of the time, a change of about ±"), "{planned}");
    assert_eq!(fact("known by"), format!("the rounds of results/{name}"));
    let again = ["report", folder.to_str().unwrap(), "--allow-invalid"];
    let shown = desk.skyline(&[&again[..], &["--json"]].concat()).assert().code(1);
    assert_eq!(serde_json::from_slice::<Value>(&shown.get_output().stdout).unwrap(), test);
    desk.skyline(&again).assert().code(1).stdout(contains("B is worse than").and(contains("p50 ttft")));
    desk.skyline(&["report", folder.join("round-2/b").to_str().unwrap(), "--allow-invalid"]).assert().code(0);
}

#[test]
fn a_server_against_itself_is_not_told_apart_and_a_script_may_ask_for_more() {
    let desk = Desk::new();
    let mock = paced(&["--ttft", "30ms"]);
    // Half of the figure does not matter: a hiccup of this machine is no difference.
    let again = format!("{}/v1/", mock.url);
    let same = ["--a", &mock.url, "--b", &again, "--margin", "50%", "--require", "better"];
    desk.skyline(&[&QUICK[..], &same].concat())
        .assert()
        .code(1)
        .stdout(contains("EQUIVALENT").or(contains("INCONCLUSIVE")).or(contains("count because of --allow-invalid")))
        .stderr(contains("are one server, which gets the same requests twice").and(contains("an even number")));
    // Shown again, the same is asked.
    desk.skyline(&["report", desk.run().to_str().unwrap(), "--allow-invalid"]).assert().code(1);
}

#[test]
fn one_machine_is_switched_once_a_round_and_reset_before_each_run() {
    let desk = Desk::new();
    let mock = paced(&["--ttft", "10ms"]);
    let commands = [
        "--url",
        &mock.url,
        "--switch-cmd",
        "token=hf_secret; echo switch $SKYLINE_SIDE >> said; cut -d' ' -f19,40,41 /proc/$$/stat >> priorities; echo ready",
        "--reset-cmd",
        "echo reset $SKYLINE_SIDE >> said; cut -d' ' -f19,40,41 /proc/$$/stat >> priorities",
        "--margin",
        "50%",
    ];
    let out = desk.skyline(&[&QUICK[..], &commands].concat()).assert().code(predicate::in_iter([0, 1]));
    let said = std::fs::read_to_string(desk.run().parent().unwrap().parent().unwrap().join("said")).unwrap();
    let said: Vec<_> = said.lines().collect();
    assert_eq!(said[..6], ["switch a", "reset a", "switch b", "reset b", "reset b", "switch a"]);
    let of = |what: &str| said.iter().filter(|line| line.starts_with(what)).count();
    assert_eq!((of("switch"), of("reset")), (8, 14));
    // Threads that measure may run in real time; what is started beside them has the niceness of the test, and no policy.
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let niceness = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(16).unwrap();
    let priorities = std::fs::read_to_string(desk.path().join("priorities")).unwrap();
    assert_eq!(priorities.lines().count(), 22);
    assert!(priorities.lines().all(|line| line == format!("{niceness} 0 0")), "{priorities}");
    let log = std::fs::read_to_string(desk.run().join("commands.log")).unwrap();
    assert!(log.contains("Z switch\nready\n") && log.contains("Z reset\n"), "{log}");
    // What was typed for a shell may hold a secret.
    let words = String::from_utf8_lossy(&out.get_output().stderr).into_owned();
    assert!(words.contains("switching to B\n"), "{words}");
    let kept = ["asked.json", "ab.json", "report.html", "round-1/a/run.jsonl"]
        .map(|file| std::fs::read_to_string(desk.run().join(file)).unwrap());
    assert!(kept[0].contains("switch_cmd_sha256") && kept[3].contains("--switch-cmd"), "{}", kept[0]);
    assert!(!kept.concat().contains("hf_secret") && !log.contains("hf_secret") && !words.contains("hf_secret"));
}

#[test]
fn who_interrupts_gets_no_verdict_and_goes_on_later() {
    let desk = Desk::new();
    let (a, b) = (paced(&["--ttft", "20ms"]), paced(&["--ttft", "200ms"]));
    let url = b.url.clone();
    let typed = [&QUICK[..], &["--a", &a.url, "--b", &url, "--json"]].concat();
    let mut first = desk.start(&typed);
    let begin = Instant::now();
    // The second round is on.
    while !desk.runs().iter().any(|folder| folder.join("round-2/b/run.jsonl").exists()) {
        assert!(begin.elapsed() < PATIENCE, "no second round");
        std::thread::sleep(Duration::from_millis(20));
    }
    signal(&first, "-INT");
    assert_eq!(first.wait().unwrap().code(), Some(130));
    let folder = desk.run();
    let so_far = read(&folder.join("ab.json"));
    assert_eq!(so_far["verdict"], "unfinished");
    assert_eq!(so_far["metrics"][0]["verdict"], Value::Null);
    let folder = folder.to_str().unwrap();
    desk.skyline(&["report", folder, "--allow-invalid"]).assert().code(130).stdout(contains("no verdict"));

    // Another question is not gone on with.
    let other = [&typed[..], &["--resume", folder, "--margin", "6%"]].concat();
    desk.skyline(&other).assert().code(2).stderr(contains("margin was 0.05, and is 0.06 now"));
    let other = [&typed[..], &["--resume", folder, "--temperature", "0.5"]].concat();
    let report = contains("a.parameters.temperature was 0.0, and is 0.5 now")
        .and(contains("b.parameters.temperature was 0.0, and is 0.5 now"));
    desk.skyline(&other).assert().code(2).stderr(report);
    let out = desk.skyline(&[&typed[..], &["--resume", folder]].concat()).assert();
    let test: Value = serde_json::from_slice(&out.get_output().stdout).unwrap();
    assert_eq!(test["rounds"].as_array().unwrap().len(), 7);
    assert_ne!(test["metrics"][0]["verdict"], Value::Null);
    assert_eq!(test["rounds"][0], so_far["rounds"][0]);
    for round in 1..=7 {
        let [a, b] = ["a", "b"].map(|side| header(Path::new(folder), &format!("round-{round}/{side}")));
        assert_eq!(a["prompts"]["salt"], b["prompts"]["salt"]);
    }

    // A round of which only one half is there is flown anew, both halves; and an experiment from before the order was drawn
    // goes on in the order of then: A B, B A, A B …
    std::fs::remove_dir_all(Path::new(folder).join("round-3/b")).unwrap();
    let manifest = Path::new(folder).join("asked.json");
    let mut asked = read(&manifest);
    assert_eq!(asked.as_object_mut().unwrap().remove("order"), Some(Value::from("drawn")));
    std::fs::write(&manifest, asked.to_string()).unwrap();
    let drawn = |round: usize| test["rounds"][round - 1]["order"][0].clone();
    assert_ne!([5, 6, 7].map(drawn), ["a", "b", "a"].map(Value::from), "the drawn order is another one");
    for round in 5..=7 {
        std::fs::remove_dir_all(Path::new(folder).join(format!("round-{round}"))).unwrap();
    }
    let out = desk.skyline(&[&typed[..], &["--resume", folder]].concat()).assert();
    let anew: Value = serde_json::from_slice(&out.get_output().stdout).unwrap();
    let a = |test: &Value, round: usize| test["rounds"][round - 1]["a"]["started_at"].as_str().unwrap().to_owned();
    assert_eq!([2, 4].map(|round| a(&anew, round)), [2, 4].map(|round| a(&test, round)));
    assert!(a(&anew, 3) > a(&test, 3));
    assert!(Path::new(folder).join("round-3/a.broken-off-1/run.jsonl").exists());
    assert_eq!((&anew["order"], anew["rounds"].as_array().unwrap().len()), (&Value::Null, 7));
    for (round, first) in [(5, "a"), (6, "b"), (7, "a")] {
        let start_of = |side| header(Path::new(folder), &format!("round-{round}/{side}"))["started_at"].take();
        let a_first = start_of("a").as_str() < start_of("b").as_str();
        assert_eq!(if a_first { "a" } else { "b" }, first, "round {round}");
    }

    // A side that is gone is found before the other is asked anything.
    let last = Path::new(folder).join("round-7");
    std::fs::remove_dir_all(&last).unwrap();
    drop(b);
    desk.skyline(&[&typed[..], &["--resume", folder, "--wait", "0s"]].concat())
        .assert()
        .code(3)
        .stderr(contains("error: side B: "));
    assert!(!last.exists());
}

/// One interrupt is enough: nothing has been measured that would have to be reported.
#[test]
fn who_interrupts_the_wait_for_a_server_waits_no_longer() {
    let desk = Desk::new();
    let nobody = "http://127.0.0.1:9";
    let mut waiting = Command::new(assert_cmd::cargo::cargo_bin("skyline"))
        .current_dir(desk.path())
        .args([&QUICK[..], &["--a", nobody, "--b", nobody]].concat())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut words = BufReader::new(waiting.stderr.take().unwrap()).lines();
    assert!(words.any(|line| line.unwrap().contains("waiting for http://127.0.0.1:9")));
    signal(&waiting, "-INT");
    assert!(words.any(|line| line.unwrap().contains("stopped while the server was awaited")));
    assert_eq!(waiting.wait().unwrap().code(), Some(130));
}

#[test]
fn failures_are_compared_whatever_was_chosen() {
    let desk = Desk::new();
    // With this seed the test request is answered.
    let failing = ["--ttft", "200ms", "--fault", "http_500=0.5", "--seed", "2"];
    let (a, b) = (paced(&["--ttft", "400ms"]), paced(&failing));
    desk.skyline(&[&QUICK[..], &["--a", &a.url, "--b", &b.url, "--warmup-requests", "0"]].concat())
        .assert()
        .code(1)
        .stdout(is_match("error_rate, % .* worse\n").unwrap())
        .stdout(contains("leave failed requests out"));
}

/// An experiment as the first version stored it.
#[test]
fn a_stored_experiment_is_judged_again_from_its_logs() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/experiments/ab-schema-1");
    let report = ["report", folder.to_str().unwrap(), "--json"];
    let desk = Desk::new();
    let out = desk.skyline(&[&report[..], &["--allow-invalid"]].concat()).assert().code(1);
    let again: Value = serde_json::from_slice(&out.get_output().stdout).unwrap();
    let stored = read(&folder.join("ab.json"));
    assert_eq!((&stored["schema"], &again["verdict"]), (&Value::from(1), &stored["verdict"]));
    for key in ["metric", "a", "b", "p", "adjusted_p", "ratio", "difference", "bootstrap", "verdict"] {
        assert_eq!(again["metrics"][0][key], stored["metrics"][0][key], "{key}");
    }
    // Whether a round's runs can be trusted follows today's rules.
    let rounds = |test: &Value| {
        let mut rounds = test["rounds"].as_array().unwrap().clone();
        for round in &mut rounds {
            for side in ["a", "b"] {
                let side = round[side].as_object_mut().unwrap();
                side.retain(|key, _| !["outcome", "valid", "overloaded"].contains(&key.as_str()));
            }
        }
        rounds
    };
    assert_eq!(rounds(&again), rounds(&stored));
    // Without leave, runs that cannot be trusted do not count.
    desk.skyline(&report).assert().code(3).stdout(contains("\"verdict\": \"invalid\""));
    desk.skyline(&[&report[..], &["--objective", "p95 ttft < 1s"]].concat())
        .assert()
        .code(2)
        .stderr(contains("show one of its runs"));
}

#[test]
fn mistakes_are_told_before_anything_is_sent() {
    let desk = Desk::new();
    let ab = |more: &[&str]| desk.skyline(&[&["ab", "quick.toml"], more].concat()).assert().code(2);
    let sides = ["--a", "http://127.0.0.1:9", "--b", "http://127.0.0.1:9"];
    let with = |more: &[&str]| ab(&[&sides[..], more].concat());
    with(&["--rounds", "7"])
        .stderr(contains("7 rounds cannot show a difference in 5 metrics").and(contains("at least 8 rounds")));
    with(&["--metric", "p97 ttft"]).stderr(contains("`p97` is not a statistic"));
    with(&["--metric", "p95 ttft of nobody"]).stderr(contains("no request belongs to `nobody`"));
    with(&["--margin", "5"]).stderr(contains("write it like 5%"));
    with(&["--url", "http://127.0.0.1:9"]).stderr(contains("cannot be used with"));
    with(&["--resume", "nowhere"]).stderr(contains("--resume: cannot read nowhere/asked.json"));
    ab(&["--a", "http://127.0.0.1:9", "--b", "ftp://x"]).stderr(contains("--b: "));
    ab(&[]).stderr(contains("--a <URL>"));
    ab(&["--switch-cmd", "true"]).stderr(contains("name them with --a and --b"));
    assert!(desk.runs().is_empty());
}

/// A server that is updated between two rounds: the next round is not flown, and the rounds before are kept.
#[test]
fn rounds_of_a_server_that_was_exchanged_are_not_pooled() {
    let desk = Desk::new();
    let results = desk.file("results/.keep", "").with_file_name("");
    let watched = results.clone();
    let address = serve(move |seen| {
        let second = || {
            let mut folders = std::fs::read_dir(&watched).unwrap().flatten();
            folders.any(|folder| folder.path().join("round-1/b/summary.json").exists())
        };
        if seen.path == "/version" && second() {
            return answer("200 OK", "application/json", r#"{"version":"10.0"}"#);
        }
        control(seen).unwrap_or_else(|| stream(8))
    });
    let mock = paced(&["--ttft", "5ms"]);
    let url = format!("http://{address}");
    let sides = ["--engine", "vllm", "--b-engine", "mock", "--a", &url, "--b", &mock.url];
    let out = desk.skyline(&[&QUICK[..], &sides].concat()).assert().code(3);
    let words = String::from_utf8_lossy(&out.get_output().stderr).into_owned();
    for part in ["side A", "server version changed from 9.9 to 10.0", "not one experiment", "resume with:"] {
        assert!(words.contains(part), "no {part} in {words}");
    }
    std::fs::remove_file(results.join(".keep")).unwrap();
    // B flies first in the second round, and A not at all.
    assert!(!desk.run().join("round-2/a").exists() && desk.run().join("ab.json").exists());
}
