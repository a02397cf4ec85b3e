//! README and the guide: how long they are, where their links lead, and every command in them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use predicates::str::contains;
use skyline::guide::{TOPICS, Topic};
use skyline::mock::{Backend, MockOptions, MockServer};
use skyline::simulator::Delay;

use crate::quick::QUICK;
use crate::support::Desk;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// README and the chapters, each with its folder.
fn pages() -> Vec<(PathBuf, String)> {
    let chapters = TOPICS.iter().map(|topic| root().join(format!("src/guide/{}.md", topic.name)));
    let paths = std::iter::once(root().join("README.md")).chain(chapters);
    paths.map(|path| (path.clone(), fs::read_to_string(path).unwrap())).collect()
}

#[test]
fn readme_is_short() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    assert!(readme.lines().count() <= 300, "{} lines", readme.lines().count());
    assert!(readme.len() <= 25_000, "{} bytes", readme.len());
    let pictures = readme.matches("```text").count() + readme.matches("![").count();
    assert_eq!(pictures, 1, "the pitch has one picture");
}

#[test]
fn links_lead_somewhere() {
    let link = regex::Regex::new(r"\]\(([^)#]+)").unwrap();
    for (path, text) in pages() {
        for found in link.captures_iter(&text).map(|found| found[1].to_owned()) {
            let there = path.parent().unwrap().join(&found);
            assert!(found.starts_with("https://") || there.exists(), "{}: {found}", path.display());
        }
    }
}

/// `skyline guide WORD`, and the words behind it in a line of "More:", in all pages and in the program itself.
#[test]
fn every_topic_that_is_named_exists() {
    let named = regex::Regex::new(r"skyline guide ([a-z][a-z-]+)").unwrap();
    let more = regex::Regex::new(r"(?s)More: (.*?)\.\n").unwrap();
    let also = regex::Regex::new(r"`(?:skyline\s+guide\s+)?([a-z-]+)`").unwrap();
    let mut texts: Vec<_> = pages()
        .into_iter()
        .map(|(path, text)| (path, text.replace("skyline\nguide", "skyline guide")))
        .collect();
    let mut folders = vec![root().join("src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                folders.push(entry);
            } else if entry.extension().is_some_and(|extension| extension == "rs") {
                texts.push((entry.clone(), fs::read_to_string(entry).unwrap()));
            }
        }
    }
    for (path, text) in texts {
        let mut words: Vec<String> = named.captures_iter(&text).map(|found| found[1].to_owned()).collect();
        if path.extension().is_some_and(|extension| extension == "md") {
            words.extend(more.captures_iter(&text).flat_map(|line| {
                also.captures_iter(&line[1]).map(|found| found[1].to_owned()).collect::<Vec<_>>()
            }));
        }
        for word in words {
            assert!(Topic::find(&word).is_some(), "{}: skyline guide {word}", path.display());
        }
    }
}

#[test]
fn the_guide_lists_shows_and_searches_its_topics() {
    let desk = Desk::new();
    desk.skyline(&["guide"]).assert().success().stdout(contains("\n  validity "));
    desk.skyline(&["guide", "validity"]).assert().success().stdout(contains("# When to believe a run"));
    desk.skyline(&["guide", "--search", "burst"])
        .assert()
        .success()
        .stdout(contains("Arrivals, and bursts  →  skyline guide workloads"));
    desk.skyline(&["guide", "objectivs"]).assert().code(2).stderr(contains("did you mean `objectives`?"));
    desk.skyline(&["sweep", "--help"]).assert().success().stdout(contains("More: skyline guide sweep"));
}

/// Programs that are not here, and why their commands are not run.
const OTHERS: [(&str, &str); 8] = [
    ("cargo", "builds and tests this very program"),
    ("vllm", "a server that needs its own installation"),
    ("check-jsonschema", "a tool from elsewhere; assert_schema does the same"),
    ("jq", "a tool from elsewhere"),
    ("mkdir", "a tool of the system"),
    ("less", "a pager"),
    ("man", "a pager"),
    ("head", "a tool of the system"),
];

/// A command of the pages: the file that names it, and its words behind `skyline`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Named {
    words: Vec<String>,
    file: String,
}

/// The commands in blocks of shell, each once.
fn commands() -> Vec<Named> {
    let block = regex::Regex::new(r"(?s)```sh\n(.*?)```").unwrap();
    let mut commands = BTreeSet::new();
    for (path, text) in pages() {
        let file = path.strip_prefix(root()).unwrap().display().to_string();
        for block in block.captures_iter(&text) {
            for line in block[1].replace("\\\n", " ").lines().filter(|line| !line.trim().is_empty()) {
                let words = shlex::split(line).unwrap_or_else(|| panic!("{file}: {line}"));
                for part in words.split(|word| ["&&", "|"].contains(&word.as_str())) {
                    let part: Vec<_> = part.iter().skip_while(|word| word.contains('=')).cloned().collect();
                    let Some((program, words)) = part.split_first() else { continue };
                    if program == "skyline" {
                        let words = words.iter().take_while(|word| !word.starts_with('>')).cloned().collect();
                        commands.insert(Named { words, file: file.clone() });
                    } else {
                        assert!(OTHERS.iter().any(|(other, _)| other == program), "{file}: {program}");
                    }
                }
            }
        }
    }
    commands.into_iter().collect()
}

#[test]
fn the_program_understands_every_command_of_its_pages() {
    let commands = commands();
    assert!(commands.len() > 80, "{}", commands.len());
    for Named { words, file } in commands {
        let all = [&["skyline".to_owned()], words.as_slice()].concat();
        if let Err(error) = skyline::cli::understands(&all) {
            panic!("{file}: {}\n{error}", all.join(" "));
        }
    }
}

/// Why a command is parsed and not run.
fn too_long(words: &[String]) -> Option<&'static str> {
    let has = |option: &str| words.iter().any(|word| word == option);
    match words[0].as_str() {
        "mock" => Some("serves until it is ended; tests/cli/mock.rs runs it"),
        "sweep" | "ab" => Some("many runs; tests/cli/experiments runs them"),
        "matrix" if !has("--plan") && !has("--example") => Some("many runs; tests/cli/experiments runs them"),
        "merge" => Some("takes two generators; tests/cli/runs/shards.rs runs it"),
        "bench" if has("--shard") => Some("takes two generators; tests/cli/runs/shards.rs runs it"),
        "bench" if has("--paired-open") => Some("two runs; tests/cli/runs/closed_loop.rs runs it"),
        "simulate" if has("--sweep") || has("--fit") => Some("many runs; tests/library runs them"),
        "capacity" if has("--replicas") => Some("models queues for seconds; tests/cli/experiments runs it"),
        "report" if words.get(1).is_some_and(|path| path.contains("-sweep-")) => {
            Some("wants every run of a sweep")
        }
        _ if has("--trace-from") => Some("wants a public trace of days"),
        _ => None,
    }
}

/// The same command, short and against the mock at `url`.
fn shortened(words: &[String], url: &str) -> Vec<String> {
    let seconds = if words[0] == "simulate" { "5" } else { "1" };
    let mut short: Vec<String> = Vec::new();
    // The desk asks for all of a result anyway; what is there twice is a mistake.
    let mut words = words.to_vec();
    words.retain(|word| !["--full", "--allow-invalid"].contains(&word.as_str()));
    for (place, word) in words.iter().enumerate() {
        let before = if place == 0 { "" } else { words[place - 1].as_str() };
        let is_seconds = place == 2 && ["bench", "simulate"].contains(&words[0].as_str());
        short.push(match word.as_str() {
            word if is_seconds && word.parse::<f64>().is_ok() => seconds.to_owned(),
            word if word.starts_with("http") && before != "--otlp" => url.to_owned(),
            _ if before == "--otlp" => "http://127.0.0.1:9".to_owned(),
            _ if before == "--tokenizer" => {
                root().join("tests/data/tiny-tokenizer.json").display().to_string()
            }
            _ if before == "--repeats" => "2".to_owned(),
            word if word.starts_with("results/") && word.contains("sweep") => "sweep".to_owned(),
            "results/SWEEP" => "sweep".to_owned(),
            word if word.starts_with("results/") && word.contains("-ab-") => "ab".to_owned(),
            word if word.starts_with("results/") => "run".to_owned(),
            word => word.replace("=/srv/", "="),
        });
    }
    match words[0].as_str() {
        "bench" => {
            let more = ["--no-calibration", "--allow-invalid", "--quiet", "--warmup", "0s", "--drain", "5s"];
            short.extend(more.map(str::to_owned));
            if !words.iter().any(|word| word == "--url") {
                short.extend(["--url".to_owned(), url.to_owned()]);
            }
        }
        "simulate" => short.push("--allow-invalid".to_owned()),
        "compare" => {
            let more = ["--allow-invalid", "--vary", "model", "--vary", "workload", "--vary", "rate"];
            short.extend(more.map(str::to_owned));
        }
        "report" if !words.iter().any(|word| word == "--json-schema") => {
            short.push("--allow-invalid".to_owned());
        }
        "calibrate" => short.extend(["--seconds".to_owned(), "1".to_owned()]),
        _ => {}
    }
    short
}

/// What the commands read.
fn desk() -> Desk {
    let desk = Desk::new();
    let checks =
        "\n[[checks]]\nname = \"any\"\nprompt = \"Say something.\"\nexpect = { min_characters = 1 }\n";
    let quick = QUICK.replace("horizon_s = 2", "horizon_s = 1");
    for name in ["my.toml", "fitted.toml"] {
        desk.file(name, &format!("{quick}{checks}"));
    }
    let table = desk.skyline(&["matrix", "--example"]).assert().success();
    desk.file("experiments.toml", std::str::from_utf8(&table.get_output().stdout).unwrap());
    desk.file("measured.csv", "batch,ms\n1,10\n8,12\n");
    let usage = r#""usage": {"prompt_tokens": 8, "completion_tokens": 9}"#;
    let lines = (0..9).map(|second| format!("{{\"ts\": \"2026-01-02T03:04:0{second}Z\", {usage}}}\n"));
    desk.file("access.jsonl", &lines.collect::<Vec<_>>().concat());
    for folder in ["frames", "reports"] {
        fs::create_dir(desk.path().join(folder)).unwrap();
    }
    for (from, to) in [
        ("datasets/sharegpt.json", "ShareGPT_V3.json"),
        ("datasets/prompts.jsonl", "questions.jsonl"),
        ("traces/mooncake.jsonl", "conversation_trace.jsonl"),
        ("traces/burst_gpt_1.csv", "BurstGPT_1.csv"),
        ("foreign/vllm.json", "vllm-result.json"),
        ("foreign/vllm.json", "vllm.json"),
        ("foreign/vllm.json", "monday.json"),
        ("foreign/vllm.json", "friday.json"),
        ("foreign/sglang.jsonl", "sglang.jsonl"),
        ("foreign/guidellm.json", "guidellm.json"),
        ("foreign/aiperf", "aiperf-out"),
        ("experiments/sweep-schema-1", "sweep"),
        ("experiments/ab-schema-1", "ab"),
        ("runs/schema-5", "run"),
        ("runs/schema-5", "results/run"),
    ] {
        copy(&root().join("tests/data").join(from), &desk.path().join(to));
    }
    desk
}

fn copy(from: &Path, to: &Path) {
    if from.is_file() {
        fs::copy(from, to).unwrap();
        return;
    }
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(|entry| entry.unwrap()) {
        copy(&entry.path(), &to.join(entry.file_name()));
    }
}

#[test]
fn the_commands_of_the_pages_run() {
    let backend = Backend::fixed(256, Delay::Constant(0.002), Delay::Constant(0.0005), 1);
    let mock = MockServer::start(backend, MockOptions::default(), "127.0.0.1:0".parse().unwrap()).unwrap();
    let url = format!("http://{}", mock.address());
    let desk = desk();
    let run: BTreeSet<Vec<String>> = commands()
        .into_iter()
        .filter(|named| too_long(&named.words).is_none())
        .map(|named| shortened(&named.words, &url))
        .collect();
    assert!(run.len() > 40, "{}", run.len());
    let left = Mutex::new(run.into_iter().collect::<Vec<_>>());
    let failed = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                loop {
                    let Some(words) = left.lock().unwrap().pop() else { break };
                    let words: Vec<&str> = words.iter().map(String::as_str).collect();
                    let output = desk.skyline(&words).output().unwrap();
                    // A missed objective and a regression are answers.
                    if !matches!(output.status.code(), Some(0 | 1)) {
                        let said = String::from_utf8_lossy(&output.stderr).into_owned();
                        failed.lock().unwrap().push(format!(
                            "{}: {:?}\n{said}",
                            words.join(" "),
                            output.status
                        ));
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
