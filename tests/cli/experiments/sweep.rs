//! `skyline sweep`: what it keeps and says, how it goes on after an interrupt, and what it refuses.

use std::path::Path;

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::{Value, json};

#[cfg(unix)]
use crate::support::signal;
use crate::support::{Desk, PATIENCE, answer, control, serve, stream};

/// Short runs, one of each load, whatever else this machine has to do.
pub(super) const SHORT: [&str; 10] =
    ["--force", "--repeats", "1", "--max-seconds", "1s", "--pause", "0s", "--warmup-requests", "2", "--allow-invalid"];

pub(super) fn read(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// The runs of a sweep by their numbers.
pub(super) fn trials(sweep: &Value) -> Vec<Value> {
    let points = sweep["points"].as_array().unwrap();
    let mut trials: Vec<_> = points.iter().flat_map(|point| point["trials"].as_array().unwrap().clone()).collect();
    trials.sort_by_key(|trial| trial["number"].as_u64());
    trials
}

/// Whether its runs are valid depends on how busy this machine is; what it keeps and says does not.
#[test]
fn a_list_of_rates_is_measured_kept_and_shown_again() {
    let desk = Desk::new();
    let sweep = ["sweep", "quick.toml", "--rates", "20,10", "--objective", "p50 ttft < 10s", "--gpus", "2"];
    let out = desk.skyline(&[&sweep[..], &SHORT].concat()).assert();
    let out = out.get_output();
    let (text, words) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    for part in ["objectives  p50 ttft < 10s", "Loads, low to high", "TTFT p99", "/GPU", "10.0/s", "20.0/s"] {
        assert!(text.contains(part), "{part}: {text}{words}");
    }
    assert!(words.contains("run 1: 10.0/s for 1 s") && words.contains("all of it: skyline report"), "{words}");

    let folder = desk.run();
    let kept = read(&folder.join("sweep.json"));
    assert_eq!(kept["schema"], 2);
    let loads: Vec<_> = kept["points"].as_array().unwrap().iter().map(|point| &point["load"]["value"]).collect();
    assert_eq!(loads, [&Value::from(10.0), &Value::from(20.0)]);
    for trial in trials(&kept) {
        let summary = read(&folder.join(trial["run"].as_str().unwrap()).join("summary.json"));
        assert_eq!(summary["run"]["plan_hash"], trial["plan_hash"]);
        assert_eq!(summary["run"]["arrival"]["rate_per_s"], trial["load"]["value"]);
    }
    assert_eq!(read(&folder.join("asked.json"))["plan"]["objectives"][0], "p50 ttft < 10s");

    let path = folder.to_str().unwrap();
    let again = desk.skyline(&["report", path, "--allow-invalid", "--json"]).assert();
    assert_eq!(serde_json::from_slice::<Value>(&again.get_output().stdout).unwrap(), kept);
    // Held against what no server does, by the same runs, of which nine requests are too few to say so. That of p95 they miss
    // however much they depend on one another, as they do on a busy machine.
    desk.skyline(&["report", path, "--allow-invalid", "--objective", "p95 ttft < 1ms"]).assert().code(1).stdout(
        contains("objectives  p95 ttft < 1ms")
            .and(contains("20.0/s failed, and no lower"))
            .and(contains("run for other objectives")),
    );
}

#[cfg(unix)]
#[test]
fn an_interrupted_sweep_goes_on_and_flies_nothing_again() {
    use std::time::{Duration, Instant};

    let desk = Desk::new();
    let sweep = ["sweep", "quick.toml", "--rates", "10,14,20", "--seed", "4", "--quiet"];
    let typed = [&sweep[..], &SHORT].concat();
    let mut child = desk.start(&typed);
    let begin = Instant::now();
    let folder = loop {
        // Far more than the first run takes on a slow machine.
        assert!(begin.elapsed() < PATIENCE, "no run finished");
        std::thread::sleep(Duration::from_millis(20));
        let Some(folder) = desk.runs().into_iter().next() else { continue };
        // The second run is on: the first is kept.
        if folder.join("run-002/run.jsonl").exists() {
            break folder;
        }
    };
    signal(&child, "-INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let before = read(&folder.join("sweep.json"));
    assert_eq!(before["stopped"], "interrupted");
    let first = std::fs::read(folder.join("run-001/run.jsonl")).unwrap();

    let resume = [&typed[..], &["--resume", folder.to_str().unwrap()]].concat();
    let resumed = desk.skyline(&resume).assert();
    let words = String::from_utf8_lossy(&resumed.get_output().stderr).into_owned();
    assert_eq!(desk.run(), folder, "{words}");
    assert_eq!(std::fs::read(folder.join("run-001/run.jsonl")).unwrap(), first);
    let after = read(&folder.join("sweep.json"));
    assert_ne!(after["stopped"], "interrupted", "{words}");
    let (kept, all) = (trials(&before), trials(&after));
    assert_eq!(all[..kept.len()], kept[..]);

    // Whoever is not interrupted plans the same first run, as far as this machine lets it count.
    let other = Desk::new();
    let alone: Vec<_> = typed.iter().map(|word| if *word == "10,14,20" { "10" } else { *word }).collect();
    let _ = other.skyline(&alone).assert();
    let whole = trials(&read(&other.run().join("sweep.json")));
    assert_eq!((&whole[0]["plan_hash"], &whole[0]["load"]), (&all[0]["plan_hash"], &all[0]["load"]));

    // And another sweep is not gone on with in this folder.
    let mut another: Vec<_> = resume.iter().map(|word| if *word == "0s" { "1s" } else { *word }).collect();
    another.extend(["--endpoint", "completions"]);
    desk.skyline(&another).assert().code(2).stderr(
        contains("server.endpoint was \"chat\", and is \"completions\" now")
            .and(contains("pause_s was 0.0, and is 1.0 now")),
    );
    let another: Vec<_> = resume.iter().map(|word| if *word == "4" { "5" } else { *word }).collect();
    desk.skyline(&another)
        .assert()
        .code(2)
        .stderr(contains("another experiment").and(contains("plan.first_seed was 4, and is 5 now")));
}

#[test]
fn users_are_swept() {
    let desk = Desk::new();
    let sweep = ["sweep", "quick.toml", "--users", "1,4", "--quiet"];
    desk.skyline(&[&sweep[..], &SHORT].concat()).assert().stdout(contains("users"));
    let kept = read(&desk.run().join("sweep.json"));
    let users: Vec<_> = kept["points"].as_array().unwrap().iter().map(|point| &point["load"]).collect();
    assert_eq!(users, [&json!({ "kind": "users", "value": 1 }), &json!({ "kind": "users", "value": 4 })]);
    // How long the first run must be is known from a few answers, not by waiting for as long as any run may take.
    let asked = read(&desk.run().join("asked.json"));
    let per_s = asked["plan"]["fewest_users_per_s"].as_f64().unwrap();
    assert!(per_s > 0.0 && per_s < 1_000.0, "{per_s}");
    let folder = desk.run();
    let again = [&sweep[..], &SHORT, &["--resume", folder.to_str().unwrap(), "--json"]].concat();
    let again = desk.skyline(&again).assert();
    let again: Value = serde_json::from_slice(&again.get_output().stdout).unwrap();
    assert_eq!(again["plan"]["fewest_users_per_s"].as_f64(), Some(per_s), "it is not measured anew");
}

#[test]
fn what_this_machine_cannot_send_is_not_taken_for_the_servers_limit() {
    let desk = Desk::new();
    let sweep = ["sweep", "quick.toml", "--rates", "10,1000000", "--objective", "p50 ttft < 10s", "--quiet"];
    let out = desk.skyline(&[&sweep[..], &SHORT[1..]].concat()).assert();
    let words = String::from_utf8_lossy(&out.get_output().stderr).into_owned();
    if words.contains("not calibrated") {
        // A machine so busy does not know what it can send.
        return;
    }
    // Where not even the lowest rate can be sent, the cure is one that a sweep has.
    let too_much = ["sweep", "quick.toml", "--rates", "900000"];
    let refused = desk.skyline(&[&too_much[..], &SHORT[1..]].concat()).assert().code(3);
    let cure = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert!(cure.contains("--rates or --start-rate") && !cure.contains("--shard"), "{cure}");
    // Its own limit, or that it spoiled the runs before.
    let text = String::from_utf8_lossy(&out.get_output().stdout).into_owned();
    assert!(text.contains("this machine") && !text.contains("1,000,000/s"), "{text}");
    let kept = read(&desk.run().join("sweep.json"));
    assert_eq!((&kept["stopped"], &kept["answer"]["failed"]), (&Value::from("generator"), &Value::Null));
}

#[test]
fn mistakes_are_told_before_anything_is_sent() {
    let desk = Desk::new();
    let closed = std::fs::read_to_string(desk.file("x", "").with_file_name("quick.toml"))
        .unwrap()
        .replace("kind = \"constant\"\nrate_per_s = 20", "kind = \"users\"\nusers = 3");
    desk.file("closed.toml", &closed);
    for (typed, report) in [
        (&["--rates", "0"][..], "`0` is not a rate above 0"),
        (&["--rates", "1:8"], "write it as FROM:TO:xFACTOR"),
        (&["--rates", "-1"], "`-1` is not a rate above 0"),
        (&["--rate", "4"], "--rates"),
        (&["--users", "1,2", "--rates", "3"], "cannot be used with"),
        (&["--sustain", "60"], "--objective"),
        (&["--bracket", "5"], "is not a share from 0.1% to 50%"),
        (&["--objective", "goodput > 5/s"], "throughput rises with the load"),
        (&["--objective", "p5_tokens_per_s_per_request > 5/s"], "the speed of requests is neither"),
        (&["--objective", "tokens_per_s_per_user < 5/s"], "reverse the comparison"),
        (&["--objective", "mlperf:lama"], "there are mlperf:llama-3.1-8b"),
        (&["--resume", "nowhere"], "name the folder of the interrupted experiment"),
        (&["400"], "--max-seconds, the longest, is 300"),
        (&["--start-rate", "1", "--rates", "2"], "cannot be used with"),
        (&["--objective", "cache_loss < 2%"], "its prompts share nothing that a cache could lose"),
        (&["--agents"], "nothing says how many are too many"),
        (&["--agents", "--objective", "p50 ttft < 9s"], "`quick` has no sessions, so it has no agents"),
        (&["--tier", "fast"], "it has no name; write it like fast='p95 ttft < 1s"),
        (&["--tier", "fast=p50 tft < 1s"], "`tft` is not a latency; did you mean `ttft`?"),
        (&["--tier", "a=p50 ttft < 1s", "--tier", "a=p50 ttft < 2s"], "two tiers are called `a`"),
        (&["--tier", "a=goodput > 5/s"], "throughput rises with the load"),
        (&["--agents", "--users", "3", "--objective", "p50 ttft < 9s"], "cannot be used with"),
        (&["--rates", "0.0001"], "--users or --agents, and no run is longer than --max-seconds"),
    ] {
        let out = desk.skyline(&[&["sweep", "quick.toml"], typed].concat()).assert().code(2);
        let words = String::from_utf8_lossy(&out.get_output().stderr).into_owned();
        assert!(words.contains(report), "{typed:?}: {words}");
    }
    desk.skyline(&["sweep", "closed.toml", "--rates", "1,2"])
        .assert()
        .code(2)
        .stderr(contains("closed loop of 3 users").and(contains("--users 1:3:x2")));
    assert!(desk.runs().is_empty());
}

/// What is found depends on how busy this machine is; that a search begins, ends and goes on does not.
#[test]
fn a_search_of_its_own_goes_on_where_it_began() {
    let desk = Desk::new();
    let sweep = ["sweep", "quick.toml", "--objective", "p50 ttft < 10s", "--max-runs", "3", "--bracket", "50%"];
    // Before the burst nobody knows of a rate at which one second has a request.
    let longer = SHORT.map(|word| if word == "1s" { "3s" } else { word });
    let typed = [&sweep[..], &longer, &["--samples", "8"]].concat();
    let out = desk.skyline(&typed).assert();
    let words = String::from_utf8_lossy(&out.get_output().stderr).into_owned();
    assert!(words.contains("searching from") && words.contains(", which takes "), "{words}");
    let folder = desk.run();
    let kept = read(&folder.join("sweep.json"));
    let from = kept["plan"]["axis"]["from_per_s"].as_f64().unwrap();
    let flown = trials(&kept);
    // A machine so busy that it spoils a run has it flown again.
    assert!(flown.len() >= 2, "{kept}");
    assert_eq!(flown[0]["load"]["value"].as_f64(), Some(from));
    let log = std::fs::read(folder.join("run-002/run.jsonl")).unwrap();
    // It measures no other rate to begin with, and finds its runs.
    let again = desk.skyline(&[&typed[..], &["--resume", folder.to_str().unwrap()]].concat()).assert();
    let words = String::from_utf8_lossy(&again.get_output().stderr).into_owned();
    assert!(words.contains("had been stored before"), "{words}");
    assert_eq!(desk.run(), folder);
    assert_eq!(read(&folder.join("sweep.json")), kept);
    assert_eq!(std::fs::read(folder.join("run-002/run.jsonl")).unwrap(), log);
    // When it ends may be said anew: it goes on, and repeats nothing.
    let more = typed.iter().map(|word| match *word {
        "3" => "5",
        "50%" => "1%",
        other => other,
    });
    let more: Vec<_> = more.chain(["--resume", folder.to_str().unwrap()]).collect();
    let _ = desk.skyline(&more).assert();
    let refined = trials(&read(&folder.join("sweep.json")));
    assert_eq!(refined[..flown.len()], flown[..], "{refined:?}");
    // Runs that a busy machine spoils may have taken all that there are.
    let spoiled = flown.iter().any(|trial| trial["invalid"].as_array().is_some_and(|why| !why.is_empty()));
    assert!(refined.len() > flown.len() || spoiled && flown.len() >= 5, "{refined:?}");
    assert_eq!(std::fs::read(folder.join("run-002/run.jsonl")).unwrap(), log);
    assert_eq!(read(&folder.join("asked.json"))["plan"]["precision"], 0.02);
}

#[test]
fn the_plan_of_a_search_says_when_it_ends() {
    let desk = Desk::new();
    let plan = ["sweep", "quick.toml", "--objective", "p95 ttft < 1s", "--plan"];
    desk.skyline(&plan).assert().success().stdout(contains("ends").and(contains("after about 5 min")));
    let closer = [&plan[..], &["--bracket", "3%"]].concat();
    desk.skyline(&closer).assert().success().stdout(contains("once the answer is known to ±3 %"));
    let both = [&closer[..], &["--within", "20m"]].concat();
    desk.skyline(&both).assert().success().stdout(contains("±3 %, or after about 20 min"));
    assert!(desk.runs().is_empty());
}

/// It does not even calibrate this machine: that would disturb the other process.
#[test]
fn a_sweep_that_another_process_runs_is_left_alone() {
    let desk = Desk::new();
    let folder = desk.file("results/mine/asked.json", "{}").with_file_name("");
    let lock = std::fs::File::create(folder.join(".lock")).unwrap();
    lock.try_lock().unwrap();
    let nobody = ["sweep", "quick.toml", "--rates", "10", "--url", "http://127.0.0.1:9", "--wait", "0s"];
    desk.skyline(&[&nobody[..], &["--resume", folder.to_str().unwrap()]].concat())
        .assert()
        .code(2)
        .stderr(contains("is being run by another skyline"));
}

#[test]
fn the_answer_is_held_for_longer() {
    let desk = Desk::new();
    let sweep = ["sweep", "quick.toml", "--rates", "10", "--objective", "p50 ttft < 10s", "--sustain", "2s"];
    let out = desk.skyline(&[&sweep[..], &SHORT].concat()).assert();
    let kept = read(&desk.run().join("sweep.json"));
    if kept["answer"]["passed"].is_null() {
        // A machine so busy spoils the run whose load was to be held.
        return;
    }
    let held = &kept["sustained"];
    assert_eq!((&held["load"], &held["seconds"]), (&kept["answer"]["passed"], &Value::from(2.0)));
    let header = read(&desk.run().join("sustained/summary.json"));
    assert_eq!(header["window"]["planned_end_s"], 2.0);
    let code = match (held["held"].as_bool().unwrap(), held["unknown"].is_string()) {
        (true, _) => 0,
        (false, false) => 1,
        (false, true) => 3,
    };
    assert_eq!(out.get_output().status.code(), Some(code), "{held}");
}

/// A server that dies in the second run: neither a bound nor the end, and the sweep goes on when the server is back.
#[test]
fn a_server_that_goes_away_bounds_nothing_and_the_sweep_goes_on_later() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    let desk = Desk::new();
    let results = desk.file("results/.keep", "").with_file_name("");
    let dead = Arc::new(AtomicBool::new(true));
    let (looked, is_dead) = (results.clone(), Arc::clone(&dead));
    let address = serve(move |seen| {
        let second = || {
            let mut folders = std::fs::read_dir(&looked).unwrap().flatten();
            folders.any(|folder| folder.path().join("run-002").exists())
        };
        match control(seen) {
            Some(said) => said,
            None if is_dead.load(Ordering::Relaxed) && second() => answer("500 Oops", "text/plain", "dead"),
            None => stream(8),
        }
    });
    let url = format!("http://{address}");
    let sweep = ["sweep", "quick.toml", "--engine", "openai", "--url", &url, "--rates", "10,20"];
    let typed = [&sweep[..], &SHORT, &["--objective", "p50 ttft < 10s"]].concat();
    let out = desk.skyline(&typed).assert().code(3);
    let words = String::from_utf8_lossy(&out.get_output().stderr).into_owned();
    assert!(words.contains("resume with:"), "{words}");
    std::fs::remove_file(results.join(".keep")).unwrap();
    let folder = desk.run();
    let kept = read(&folder.join("sweep.json"));
    assert_eq!((trials(&kept).len(), &kept["stopped"]), (1, &Value::from("server_gone")));
    assert!(kept["answer"]["failed"].is_null(), "{kept}");

    dead.store(false, Ordering::Relaxed);
    let _ = desk.skyline(&[&typed[..], &["--resume", folder.to_str().unwrap()]].concat()).assert();
    let after = read(&folder.join("sweep.json"));
    // A machine so busy that it spoils a run has it flown again.
    assert!(trials(&after).len() >= 2 && after["stopped"] == "all_measured", "{after}");
    assert!(folder.join("run-002.broken-off-1/run.jsonl").exists());
}

#[test]
fn what_is_too_short_for_a_decision_says_so_before_any_load() {
    let desk = Desk::new();
    let said = |options: &[&str]| {
        let sweep = ["sweep", "quick.toml", "--url=http://127.0.0.1:9", "--objective", "p95 ttft < 500ms", "--plan"];
        let out = desk.skyline(&[&sweep[..], options].concat()).assert().code(0);
        String::from_utf8_lossy(&out.get_output().stdout).contains("the exit code will probably be 1")
    };
    assert!(said(&["--within=1m"]) && !said(&["--within=1m", "--undecided=pass"]) && !said(&[]));
    let list = ["--rates=4,8", "--max-seconds=2s", "--samples=40"];
    assert!(said(&list) && !said(&["--rates=4,8"]));
}
