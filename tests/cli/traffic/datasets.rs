//! Prompts from files over real HTTP: a server sees exactly what the file says.

use std::io::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex};

use predicates::str::contains;
use serde_json::{Value, json};

use crate::support::{Desk, control, serve, serve_by_hand, stream};

/// Copies a sample of the tests' data into the desk's folder.
fn put(desk: &Desk, name: &str) {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/datasets").join(name);
    desk.file(name, &std::fs::read_to_string(sample).unwrap());
}

/// A server that keeps the bodies of generation requests; the first is the test request before the run.
fn recording() -> (String, Arc<Mutex<Vec<Value>>>) {
    let bodies = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&bodies);
    let address = serve(move |seen| {
        control(seen).unwrap_or_else(|| {
            kept.lock().unwrap().push(serde_json::from_str(&seen.body).unwrap());
            stream(4)
        })
    });
    (format!("http://{address}"), bodies)
}

const FLIGHT: [&str; 6] = ["--requests", "6", "--rate", "4", "--allow-invalid", "--no-calibration"];

/// Flies the workload file, and gives the bodies that the server saw in the run.
fn flown(desk: &Desk, workload: &str, options: &[&str]) -> Vec<Value> {
    let (url, bodies) = recording();
    // No load after the sixth request, which has a quarter of a second to be sent.
    let arguments = [&["bench", workload, "--url", &url, "--drain", "0s"], options, &FLIGHT].concat();
    desk.skyline(&arguments).assert().code(0);
    let bodies = bodies.lock().unwrap();
    bodies[1..].to_vec()
}

#[test]
fn a_dataset_takes_the_place_of_the_workload_s_prompts() {
    let desk = Desk::new();
    put(&desk, "prompts.jsonl");
    let bodies = flown(&desk, "quick.toml", &["--dataset", "prompts.jsonl"]);
    let lines = std::fs::read_to_string(desk.file("copy", "").with_file_name("prompts.jsonl")).unwrap();
    let rows: Vec<Value> =
        lines.lines().filter(|line| !line.is_empty()).map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut expected: Vec<(Value, Value)> = Vec::new();
    for row in rows.iter().cycle().take(6) {
        let messages = match row.get("messages") {
            Some(messages) => messages.clone(),
            None => json!([{ "role": "user", "content": row["prompt"] }]),
        };
        expected.push((messages, row["output_tokens"].clone()));
    }
    let mut seen: Vec<(Value, Value)> =
        bodies.iter().map(|body| (body["messages"].clone(), body["max_tokens"].clone())).collect();
    // Connections may be overtaken by one another.
    for pairs in [&mut seen, &mut expected] {
        pairs.sort_by_key(|pair| format!("{pair:?}"));
    }
    assert_eq!(seen, expected);

    let summary = desk.summary();
    let taken = &summary["run"]["datasets"][0];
    assert_eq!(taken["sha256"], "3f9822ad34c8f7aac6fc930fcfc334b7fd4b73e9563ead13b6fd7f43e436be88");
    assert_eq!((&taken["rows"], &taken["requests"], &taken["salted"]), (&json!(3), &json!(6), &json!(false)));
    let report = desk.skyline(&["report", desk.run().to_str().unwrap(), "--allow-invalid"]).assert();
    report
        .stdout(contains("tiny: 3 rows of prompts.jsonl (315 bytes, SHA-256 3f9822ad34c8), in the file's"))
        .stdout(contains("sent up to 2 times each"))
        .stdout(contains("as given; the tokens of texts are estimated"));
    let log = std::fs::read_to_string(desk.run().join("run.jsonl")).unwrap();
    assert!(!log.contains("tallest mountain"), "texts of a dataset are not kept");
}

#[test]
fn paths_begin_at_the_folder_of_the_workload_file() {
    let desk = Desk::new();
    let folder = desk.file("copy", "").with_file_name("inner");
    std::fs::create_dir(&folder).unwrap();
    put(&desk, "sharegpt.json");
    std::fs::rename(folder.with_file_name("sharegpt.json"), folder.join("sharegpt.json")).unwrap();
    let quick = crate::quick::QUICK;
    let (head, _) = quick.split_once("[[classes]]").unwrap();
    let class = "[[classes]]\nname = \"chat\"\noutput_tokens = { kind = \"constant\", value = 4 }\n\
                 prompt = { kind = \"dataset\", path = \"sharegpt.json\", filter = \"vllm\" }\n";
    std::fs::write(folder.join("chat.toml"), format!("{head}{class}")).unwrap();
    let bodies = flown(&desk, "inner/chat.toml", &["--endpoint", "completions"]);
    let firsts = ["Summarize the main", "Write a \"hello\" in", "Wie weit ist"];
    for (place, first) in firsts.iter().enumerate() {
        let begins = |body: &&Value| body["prompt"].as_str().unwrap().starts_with(first);
        assert_eq!(bodies.iter().filter(begins).count(), 2, "row {place}");
    }
    desk.skyline(&["simulate", "inner/chat.toml", "--hardware", "h100"])
        .assert()
        .code(0)
        .stdout(contains("chat: 3 rows of inner/sharegpt.json"))
        .stdout(contains("3 left out by the filter"));
}

#[test]
fn token_ids_are_sent_as_ids() {
    let desk = Desk::new();
    let quick = crate::quick::QUICK;
    let (head, _) = quick.split_once("[classes.prompt]").unwrap();
    desk.file("ids.toml", &format!("{head}prompt = {{ kind = \"random_tokens\", vocabulary = 5000 }}\n"));
    let bodies = flown(&desk, "ids.toml", &["--endpoint", "completions"]);
    assert_eq!(bodies.len(), 6);
    for body in &bodies {
        let ids = body["prompt"].as_array().unwrap();
        assert!((4..=12).contains(&ids.len()) && ids.iter().all(|id| id.as_u64().unwrap() < 5_000), "{body}");
    }
    let refused = desk.skyline(&["bench", "ids.toml"]).assert().code(2);
    refused.stderr(contains("class `tiny`: the prompts are token ids, which the endpoint chat cannot carry\nhint: give --endpoint completions"));
    assert_eq!(desk.runs().len(), 1, "the refused one left nothing");
    // The mock counts one token an id.
    let desk = Desk::new();
    desk.file("ids.toml", &format!("{head}prompt = {{ kind = \"random_tokens\", vocabulary = 5000 }}\n"));
    let arguments = [&["bench", "ids.toml", "--endpoint", "completions"][..], &FLIGHT].concat();
    desk.skyline(&arguments).assert().code(0);
    let balance = &desk.summary()["tokens"]["input"];
    assert_eq!(balance["requested_tokens"], balance["received_tokens"], "{balance}");
}

#[test]
fn the_mock_takes_images_in_its_stride() {
    let desk = Desk::new();
    let images = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/datasets/images");
    let quick = crate::quick::QUICK;
    let images = format!("images = {{ folder = {:?} }}\n[classes.prompt]", images.to_str().unwrap());
    desk.file("look.toml", &quick.replace("[classes.prompt]", &images));
    let arguments = [&["bench", "look.toml"][..], &FLIGHT].concat();
    desk.skyline(&arguments).assert().code(0).stdout(contains("tiny: 2 images of "));
    let summary = desk.summary();
    assert_eq!(summary["requests"]["completed"], 6);
    assert_eq!(summary["run"]["images"][0]["images"], 2);
    let refused = desk.skyline(&["bench", "look.toml", "--endpoint", "completions"]).assert().code(2);
    refused.stderr(contains("the requests have images, which the endpoint completions cannot carry"));
}

#[test]
fn what_is_wrong_with_a_dataset_is_told_before_anything_is_sent() {
    let desk = Desk::new();
    desk.file("bad.jsonl", "{\"prompt\": \"a\", \"output_tokens\": 3}\n{\"prompt\": 7}\n");
    desk.file("short.jsonl", "{\"prompt\": \"a\"}\n");
    desk.file("rows.txt", "");
    for (arguments, said) in [
        (
            &["bench", "quick.toml", "--dataset", "bad.jsonl"][..],
            "bad.jsonl, row 2, line 2, column 12: invalid type: integer `7`, expected a string",
        ),
        (&["bench", "quick.toml", "--dataset", "short.jsonl"], "or --output-tokens"),
        (
            &["bench", "quick.toml", "--dataset", "rows.txt"],
            "`--dataset` is \"rows.txt\", whose extension does not imply a format",
        ),
        (&["bench", "bursty_mix", "--dataset", "bad.jsonl"], "`bursty_mix` has 2"),
        (&["bench", "quick.toml", "--skip-bad"], "`--skip-bad` is about a dataset or a trace, and `quick` has neither"),
        (&["simulate", "quick.toml", "--dataset", "none.csv"], "cannot read the dataset none.csv"),
        (
            &["bench", "quick.toml", "--dataset", "bad.jsonl", "--dataset-filter", "vllm"],
            "`classes[0].prompt.filter` is a rule for sharegpt, and `format` is jsonl",
        ),
    ] {
        desk.skyline(arguments).assert().code(2).stderr(contains(said));
    }
    assert!(desk.runs().is_empty());
    let skipping = ["bench", "quick.toml", "--dataset", "bad.jsonl", "--skip-bad"];
    let run = desk.skyline(&[&skipping[..], &FLIGHT].concat()).assert().code(0);
    run.stderr(contains("bad.jsonl: ignored 1 row that cannot be used, 1 left"))
        .stdout(contains("1 row ignored that could not be used"));
    let given = ["simulate", "quick.toml", "--dataset", "short.jsonl", "--output-tokens", "5"];
    desk.skyline(&given).assert().code(0);
}

#[test]
fn a_simulated_dataset_is_counted_as_a_run_counts_it() {
    let desk = Desk::new();
    put(&desk, "prompts.jsonl");
    let tokenizer = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/tiny-tokenizer.json");
    let counted = ["--tokenizer", tokenizer];
    let dataset = ["--dataset", "prompts.jsonl"];
    flown(&desk, "quick.toml", &[dataset, counted].concat());
    let simulated = |options: &[&str]| {
        let shown = desk
            .skyline(
                &[&["simulate", "quick.toml", "--json", "--drain", "0s"], &dataset[..], options, &FLIGHT[..5]].concat(),
            )
            .assert()
            .code(predicates::prelude::predicate::in_iter([0, 1]));
        let summary: Value = serde_json::from_slice(&shown.get_output().stdout).unwrap();
        summary["summary"]["run"]["plan_hash"].clone()
    };
    assert_eq!(simulated(&counted), desk.summary()["run"]["plan_hash"]);
    assert_ne!(simulated(&[]), desk.summary()["run"]["plan_hash"]);
    desk.skyline(&["simulate", "quick.toml", "--tokenizer", tokenizer])
        .assert()
        .code(2)
        .stderr(contains("--tokenizer counts the rows of a dataset, and `quick` has none"));
}

/// A hub that has one repository, and what it was asked.
fn hub(id: &'static str, files: &'static [(&'static str, &'static [u8])]) -> (String, Arc<Mutex<Vec<String>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen_by_it = Arc::clone(&asked);
    let address = serve_by_hand(move |seen, socket| {
        seen_by_it.lock().unwrap().push(seen.path.clone());
        let token = seen.head.to_ascii_lowercase().contains("authorization: bearer hf_test");
        let wanted = seen.path.strip_prefix(&format!("/{id}/resolve/")).and_then(|rest| rest.split_once('/'));
        let file = wanted.filter(|(revision, _)| ["v1", "main", "0a1b2c"].contains(revision));
        let file = file.and_then(|(_, name)| files.iter().find(|(known, _)| *known == name));
        let is_list = seen.path.starts_with("/api/") && !seen.path.ends_with("/v2");
        let (status, etag, body) = if !token {
            (
                "401 Unauthorized\r\nx-error-message: Access to dataset org/rows is restricted.",
                String::new(),
                Vec::new(),
            )
        } else if is_list {
            let names: Vec<_> = files.iter().map(|(name, _)| json!({ "rfilename": name })).collect();
            ("200 OK", String::new(), json!({ "sha": "0a1b2c", "siblings": names }).to_string().into_bytes())
        } else if let Some((_, content)) = file {
            ("200 OK", format!("{:x}", crc32fast::hash(content)), content.to_vec())
        } else {
            ("404 Not Found", String::new(), Vec::new())
        };
        let length = body.len();
        let head = format!(
            "HTTP/1.1 {status}\r\nx-repo-commit: 0a1b2c\r\netag: \"{etag}\"\r\ncontent-length: {length}\r\nconnection: \
             close\r\n\r\n"
        );
        let _ = socket.write_all(head.as_bytes()).and_then(|()| socket.write_all(&body));
    });
    (format!("http://{address}"), asked)
}

#[test]
fn a_dataset_of_the_hub_is_fetched_once_and_its_commit_recorded() {
    const CHATS: &[u8] = include_bytes!("../../data/datasets/table/chats.parquet");
    const QUESTIONS: &[u8] = include_bytes!("../../data/datasets/table/questions.parquet");
    const FILES: &[(&str, &[u8])] = &[
        ("README.md", b""),
        ("data/train-00000-of-00002.parquet", QUESTIONS),
        ("data/train-00001-of-00002.parquet", QUESTIONS),
        ("data/test-00000-of-00001.parquet", CHATS),
        ("data/cut-00000-of-00001.parquet", QUESTIONS.split_at(1_500).0),
    ];
    let (hub, asked) = hub("datasets/org/rows", FILES);
    let desk = Desk::new();
    let home = desk.path().join("hub");
    let skyline = |arguments: &[&str]| {
        let mut command = desk.skyline(arguments);
        command.env("HF_ENDPOINT", &hub).env("HF_HOME", &home).env("HF_TOKEN", "hf_test");
        command
    };
    let dataset = |name: &'static str| ["bench", "quick.toml", "--dataset", name];
    for (name, said) in [
        ("hf:org/rows@v1#dev", "no set of files is called dev: data/cut, data/test, data/train"),
        ("hf:org/rows@v1#dev", "name one of them, as in --dataset hf:org/rows@v1#data/cut"),
        ("hf:org/rows@v2", "/api/datasets/org/rows/revision/v2: 404 Not Found"),
        ("hf:org/rows/more", "this names no dataset of the hub"),
        ("hf:org/rows@v1#cut", "hf:org/rows@v1#data/cut-00000-of-00001.parquet: it is cut short or damaged"),
        ("hf:org/rows@v1#cut", "is fetched again"),
        ("hf:org/rows@v1#train", "hf:org/rows@v1#data/train-00000-of-00002.parquet, row 3: it does not say how long"),
    ] {
        skyline(&dataset(name)).assert().code(2).stderr(contains(said));
    }
    assert!(desk.runs().is_empty());
    let refused = desk.skyline(&dataset("hf:org/rows@v1")).env("HF_ENDPOINT", &hub).env("HF_HOME", &home).assert();
    refused.code(2).stderr(contains("401 Unauthorized (Access to dataset org/rows is restricted.)\n"));

    // Two rows are in the first file: the second is not asked for.
    let (head, _) = crate::quick::QUICK.split_once("input_tokens").unwrap();
    let two = "prompt = { kind = \"dataset\", path = \"hf:org/rows@v1\", rows = 2 }";
    desk.file("two.toml", &format!("{head}{two}\n"));
    skyline(&["bench", "two.toml", "--dry-run"]).assert().code(0);
    let (server, bodies) = recording();
    let test = [&dataset("hf:org/rows@v1#test")[..], &["--url", &server, "--drain", "0s"], &FLIGHT].concat();
    skyline(&test).assert().code(0).stdout(contains("tiny: 2 rows of hf:org/rows@v1#test (1,332 bytes, SHA-256 "));
    assert!(bodies.lock().unwrap()[1..].iter().any(|body| body["messages"][0]["content"] == "Be brief."));
    let taken = desk.summary()["run"]["datasets"][0].clone();
    assert_eq!(taken["revision"], "0a1b2c");
    assert_eq!(taken["files"], json!(["data/test-00000-of-00001.parquet"]));
    let snapshot = home.join("hub/datasets--org--rows/snapshots/0a1b2c");
    assert_eq!(std::fs::read(snapshot.join("data/test-00000-of-00001.parquet")).unwrap(), CHATS);
    assert!(!snapshot.join("data/train-00001-of-00002.parquet").exists());
    let run = desk.run();

    // Offline it is the same plan, and the check of a stored run reads no more than the cache.
    let before = asked.lock().unwrap().len();
    let hash = desk.summary()["run"]["plan_hash"].as_str().unwrap()[..12].to_owned();
    let planned = [&test[..], &["--dry-run"]].concat();
    skyline(&planned).env("HF_HUB_OFFLINE", "1").assert().code(0).stdout(contains(format!("hash {hash}")));
    let check = |home: &Path| {
        let mut command = desk.skyline(&["report", run.to_str().unwrap(), "--json", "--allow-invalid"]);
        command.env("HF_ENDPOINT", &hub).env("HF_HOME", home).assert()
    };
    check(&home).code(0).stdout(contains("records agree with the plan, drawn again from the header\""));
    check(&desk.path().join("elsewhere")).stdout(contains("hf:org/rows@v1#test is missing"));
    assert_eq!(asked.lock().unwrap().len(), before);
    skyline(&dataset("hf:org/rows@v1#gone")).env("HF_HUB_OFFLINE", "1").assert().code(2).stderr(contains("data/test"));
}

#[test]
fn a_vocabulary_by_rank_is_found_on_the_hub_in_its_cache_and_in_a_folder() {
    const RANKS: &[u8] = include_bytes!("../../data/tokenizers/cl100k_base.tiktoken");
    const FILES: &[(&str, &[u8])] = &[("README.md", b""), ("cl100k_base.tiktoken", RANKS)];
    let (hub, asked) = hub("org/model", FILES);
    let desk = Desk::new();
    put(&desk, "prompts.jsonl");
    let home = desk.path().join("hub");
    let plan = |tokenizer: &str, offline: &str| {
        let counted = ["bench", "quick.toml", "--dataset", "prompts.jsonl", "--tokenizer", tokenizer, "--dry-run"];
        let mut command = desk.skyline(&counted);
        command.env("HF_ENDPOINT", &hub).env("HF_HOME", &home).env("HF_TOKEN", "hf_test");
        command.env("HF_HUB_OFFLINE", offline).assert()
    };
    let missing = plan("org/model", "1").code(2);
    missing.stderr(contains("models--org--model, and HF_HUB_OFFLINE lets nothing be fetched"));
    let hash = |tokenizer, offline| {
        let shown = plan(tokenizer, offline).code(0);
        let shown = String::from_utf8(shown.get_output().stdout.clone()).unwrap();
        shown.split_once("hash ").unwrap().1[..12].to_owned()
    };
    let fetched = hash("org/model", "0");
    let before = asked.lock().unwrap().len();
    assert_eq!(asked.lock().unwrap()[0], "/org/model/resolve/main/tokenizer.json");
    let cached = home.join("hub/models--org--model/snapshots/0a1b2c");
    let file = cached.join("cl100k_base.tiktoken");
    for (tokenizer, offline) in
        [("org/model", "1"), ("org/model", "0"), (cached.to_str().unwrap(), "0"), (file.to_str().unwrap(), "0")]
    {
        assert_eq!(hash(tokenizer, offline), fetched, "{tokenizer}");
    }
    assert_eq!(asked.lock().unwrap().len(), before);
    assert_ne!(hash(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/tiny-tokenizer.json"), "0"), fetched);
    desk.file("mine.tiktoken", "IQ== 0\n");
    plan("mine.tiktoken", "0")
        .code(2)
        .stderr(contains("`mine.tiktoken` cannot be read as a tokenizer: it does not say"));
}
