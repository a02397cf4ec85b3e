//! Every command of the pages is run, shortened and against a mock. What takes minutes even so is `#[ignore]`d, and
//! `tests/interop/guide_commands.sh` runs it too.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use skyline::mock::{Backend, MockOptions, MockServer};
use skyline::simulator::Delay;

use super::commands::{Named, commands};
use super::desk::desk;
use super::pages::root;
use crate::servers::prometheus::prometheus_of;
use crate::support::Desk;

/// When a command is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    /// In any order.
    First,
    /// After the others, on what they stored.
    Later,
    /// Each alone, in the test that is ignored.
    Slow,
}

fn turn(named: &Named) -> Turn {
    match named.verb() {
        "ab" => Turn::Slow,
        "tune" if !named.has("--plan") && !named.has("--example") => Turn::Slow,
        "simulate" if ["--fit", "--tune", "--sweep-agents"].iter().any(|slow| named.has(slow)) => Turn::Slow,
        // Sessions of minutes, in which each step of an engine is simulated. `experiments::agents` has a short one.
        "sweep" if named.has("--agents") && named.has("coder.toml") => Turn::Slow,
        "merge" => Turn::Later,
        "matrix" if named.has("--resume") => Turn::Later,
        "report" if named.words.get(1).is_some_and(|path| path.contains("-sweep-")) => Turn::Later,
        _ => Turn::First,
    }
}

/// Where the commands are run, and against what.
struct Ground {
    desk: Desk,
    url: String,
    /// One that samples the same server.
    prometheus: String,
    /// When shards begin: late enough for a busy machine.
    start_at: String,
    run_before: Mutex<BTreeSet<Vec<String>>>,
    _mock: MockServer,
}

impl Ground {
    fn new() -> Self {
        let backend = Backend::fixed(256, Delay::Constant(0.002), Delay::Constant(0.0005), 1);
        let mock = MockServer::start(backend, MockOptions::default(), "127.0.0.1:0".parse().unwrap()).unwrap();
        let start_at = (jiff::Timestamp::now() + Duration::from_secs(45)).to_string();
        let url = format!("http://{}", mock.address());
        let prometheus = prometheus_of(&url);
        Self { desk: desk(), url, prometheus, start_at, run_before: Mutex::default(), _mock: mock }
    }

    /// The one folder in a folder of results.
    fn stored(&self, folder: &str) -> String {
        let mut found = std::fs::read_dir(self.desk.path().join(folder)).unwrap();
        let found: PathBuf = found.next().unwrap().unwrap().path();
        found.strip_prefix(self.desk.path()).unwrap_or(&found).display().to_string()
    }

    /// The same command, short and against the mock.
    fn shortened(&self, named: &Named) -> Vec<String> {
        let verb = named.verb();
        // The desk asks for all of a result anyway; what is there twice is a mistake.
        let mut words = named.words.clone();
        words.retain(|word| !["--full", "--allow-invalid", "--quiet"].contains(&word.as_str()));
        let mut short: Vec<String> = Vec::new();
        for (place, word) in words.iter().enumerate() {
            let before = if place == 0 { "" } else { words[place - 1].as_str() };
            let is_length = (1..=2).contains(&place) && word.parse::<f64>().is_ok();
            short.push(match (before, word.as_str()) {
                _ if is_length && ["bench", "ab", "sweep"].contains(&verb) => "1".to_owned(),
                _ if is_length && verb == "simulate" => "5".to_owned(),
                ("--rate", _) if verb == "launch" => "20".to_owned(),
                ("--metrics-url", "nvml") => self.url.clone(),
                ("--prometheus", _) => self.prometheus.clone(),
                (_, word) if word.contains(" of tag ") || word.contains(" of slice ") => "p95 ttft < 500ms".to_owned(),
                ("--otlp", _) => "http://127.0.0.1:9".to_owned(),
                ("--tokenizer", _) => root().join("tests/data/tiny-tokenizer.json").display().to_string(),
                ("--dataset", word) if word.starts_with("hf:") => {
                    root().join("tests/data/datasets/table/chats.parquet").display().to_string()
                }
                ("--start-at", _) => self.start_at.clone(),
                ("--resume", _) => self.stored("tables"),
                ("--fit", _) => "fits".to_owned(),
                (option, _) if let Some(value) = shorter(verb, option) => value.to_owned(),
                // Another server at another name of this machine.
                ("--url", "http://b:8000") => self.url.replace("127.0.0.1", "localhost"),
                (_, word) if word.starts_with("http") => self.url.clone(),
                (_, "results/FIRST") => self.stored("shard-1"),
                (_, "results/SECOND") => self.stored("shard-2"),
                ("report", word) if word.contains("-sweep-") => self.stored("sweeps"),
                ("--out", word) => word.to_owned(),
                (_, word) if verb == "capacity" && word.starts_with("results/") => "sweep".to_owned(),
                (_, word) if word.starts_with("results/") && word.contains("sweep") => "sweep".to_owned(),
                (_, word) if word.starts_with("results/") && word.contains("-ab-") => "ab".to_owned(),
                (_, word) if word.starts_with("results/") => "run".to_owned(),
                (_, word) => word.replace("=/srv/", "=").replace("of NAME", "of chat"),
            });
        }
        let more: &[&str] = match verb {
            "bench" if named.has("primed") || named.has("agentx") => {
                &["--no-calibration", "--allow-invalid", "--quiet", "--warmup", "0.5s", "--drain", "5s"]
            }
            "bench" => &["--no-calibration", "--allow-invalid", "--quiet", "--warmup", "0s", "--drain", "5s"],
            "sweep" | "ab" => {
                &["--no-calibration", "--allow-invalid", "--quiet", "--pause", "0s", "--warmup-requests", "1"]
            }
            "tune" if !named.has("--plan") && !named.has("--example") => {
                &["--no-calibration", "--allow-invalid", "--quiet", "--pause", "0s", "--seconds", "1"]
            }
            "matrix" if !named.has("--plan") && !named.has("--example") => {
                &["--no-calibration", "--allow-invalid", "--quiet", "--pause", "0s"]
            }
            "simulate" if named.has("--sweep") => &["--allow-invalid", "--quiet", "--samples", "50", "--max-runs", "3"],
            "simulate" => &["--allow-invalid"],
            "compare" => &["--allow-invalid", "--vary", "model", "--vary", "workload", "--vary", "rate"],
            "report" if !named.has("--json-schema") => &["--allow-invalid"],
            "calibrate" => &["--seconds", "1"],
            "mock" if !named.has("--port") => &["--port", "0"],
            _ => &[],
        };
        short.extend(more.iter().map(|word| (*word).to_owned()));
        let mut add = |words: &[&str]| short.extend(words.iter().map(|word| (*word).to_owned()));
        match verb {
            "sweep" if !named.has("--rates") => {
                add(&["--samples", "5", "--max-seconds", "1s", "--max-runs", "2"]);
                if !named.has("--start-rate") && !named.has("--agents") {
                    add(&["--start-rate", "8"]);
                }
                add(&["--out", if named.has("--sustain") { "others" } else { "sweeps" }]);
            }
            "ab" if !named.has("--rounds") => add(&["--rounds", "8"]),
            "matrix" if named.words == ["matrix", "experiments.toml"] || named.has("--resume") => {
                add(&["--out", "tables"]);
            }
            "bench" if named.has("1/2") => add(&["--out", "shard-1"]),
            "bench" if named.has("2/2") => add(&["--out", "shard-2"]),
            "bench" if named.has("--serving-model") => add(&["--out", "fits"]),
            // One mock for all: those of a run's own are started by the shortest commands.
            "bench" if named.words.len() > 4 && !named.has("--url") => add(&["--url", &self.url]),
            _ => {}
        }
        short
    }

    /// Runs a command, unless it is one that was run already when both are short; what went wrong.
    fn run(&self, named: &Named) -> Option<String> {
        let words = self.shortened(named);
        if !self.run_before.lock().unwrap().insert(words.clone()) {
            return None;
        }
        if named.verb() == "mock" {
            return serve(self.desk.path(), &words);
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let output = self.desk.skyline(&words).output().unwrap();
        // A missed objective and a regression are answers; so little load may leave an experiment without one.
        let is_answer = match output.status.code() {
            Some(0 | 1) => true,
            Some(3) => ["sweep", "ab"].contains(&named.verb()) || named.has("--fit") || turn(named) == Turn::Later,
            _ => false,
        };
        (!is_answer).then(|| {
            let (shown, said) = (&output.stdout, &output.stderr);
            let [shown, said] = [shown, said].map(|text| String::from_utf8_lossy(text).into_owned());
            format!("{}: {}: {:?}\n{said}\n{shown}", named.file, words.join(" "), output.status)
        })
    }
}

/// A value for an option that makes a command short.
fn shorter(verb: &str, option: &str) -> Option<&'static str> {
    Some(match (verb, option) {
        ("sweep" | "matrix", "--repeats") | (_, "--rate-scale") => "1",
        (_, "--repeats") => "2",
        ("sweep", "--rates") => "10,20",
        ("sweep", "--warmup") | (_, "--sustain" | "--max-seconds" | "--seconds" | "--trace-for") => "1s",
        ("bench", "--rate") | (_, "--requests") => "20",
        (_, "--samples") => "5",
        (_, "--rounds") => "8",
        (_, "--think-time" | "--profile") => "100ms",
        (_, "--ramp") => "5:20:1s",
        (_, "--trace-from") => "0s",
        (_, "--time-scale") => "0.01",
        (_, "--port") => "0",
        (_, "--before" | "--after") => "true",
        _ => return None,
    })
}

/// Starts a server, waits until it says where it listens, and ends it as a supervisor does.
fn serve(folder: &Path, words: &[String]) -> Option<String> {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("skyline"));
    let mut mock = command.current_dir(folder).args(words).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(mock.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("http://") && said.read_line(&mut line).unwrap() > 0 {}
    Command::new("kill").args(["-TERM", &mock.id().to_string()]).status().unwrap();
    said.read_to_string(&mut line).unwrap();
    let status = mock.wait().unwrap();
    (status.code() != Some(0)).then(|| format!("{words:?}: {status}\n{line}"))
}

/// Runs the commands, so many at a time; fails with all that went wrong.
fn run_all(ground: &Ground, named: Vec<Named>, at_a_time: usize) {
    let left = Mutex::new(named.into_iter());
    let failed = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..at_a_time {
            scope.spawn(|| {
                loop {
                    let next = left.lock().unwrap().next();
                    let Some(named) = next else { break };
                    let wrong = ground.run(&named);
                    failed.lock().unwrap().extend(wrong);
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn the_commands_of_the_pages_run() {
    let ground = Ground::new();
    let (mut first, rest): (Vec<_>, Vec<_>) = commands().into_iter().partition(|named| turn(named) == Turn::First);
    let slow = rest.iter().filter(|named| turn(named) == Turn::Slow).count();
    assert!(first.len() > 100 && slow <= 14, "{} of {}", first.len(), first.len() + rest.len());
    // Shards begin together, some seconds from now.
    first.sort_by_key(|named| !named.has("--shard"));
    run_all(&ground, first, 6);
    let later = rest.into_iter().filter(|named| turn(named) == Turn::Later);
    run_all(&ground, later.collect(), 3);
}

#[test]
#[ignore = "takes minutes: rounds of an A/B test, fitted engines, searches of agents, a tuning; `tests/interop/guide_commands.sh` runs it"]
fn the_slow_commands_of_the_pages_run() {
    let ground = Ground::new();
    let measured = commands().into_iter().filter(|named| named.has("--serving-model") && named.verb() == "bench");
    run_all(&ground, measured.collect(), 1);
    run_all(&ground, commands().into_iter().filter(|named| turn(named) == Turn::Slow).collect(), 1);
}
