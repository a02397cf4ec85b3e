//! Holds datasets to their files: what is read, what is refused, what a plan makes of them.

mod fields;
mod mistakes;
mod scores;
mod tags;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::error::DatasetError;
use super::sources::{Datasets, PromptNeed};
use crate::generator::prompts::builder::PromptBuilder;
use crate::generator::request::{PlannedRequest, Prompt};
use crate::generator::schedule::Schedule;
use crate::generator::tokens::tokenizer::TokenCounter;
use crate::units::hexadecimal;
use crate::workload::{DatasetFindings, PromptSource, WorkloadSpec};

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/datasets").join(name)
}

/// A workload of one class; `class` is what its table holds besides the name.
fn workload(class: &str) -> WorkloadSpec {
    let text = format!(
        "name = \"taken\"\nhorizon_s = 20\nwarmup_s = 0\ndrain_s = 1\nseed = 3\n\
         arrival = {{ kind = \"constant\", rate_per_s = 10 }}\n[[classes]]\nname = \"only\"\n{class}\n"
    );
    WorkloadSpec::from_toml(&text, "a test").unwrap()
}

/// Returns a workload of one class with a dataset and further fields of it.
fn with_dataset(path: &Path, fields: &str) -> WorkloadSpec {
    workload(&format!("prompt = {{ kind = \"dataset\", path = {:?}{fields} }}", path.to_str().unwrap()))
}

fn open(workload: WorkloadSpec) -> Result<(WorkloadSpec, Arc<Datasets>), DatasetError> {
    Datasets::open(workload, &TokenCounter::Estimate).map(|(spec, datasets)| (spec, Arc::new(datasets)))
}

fn findings(workload: &WorkloadSpec) -> DatasetFindings {
    match &workload.classes[0].prompt {
        PromptSource::Dataset(dataset) => *dataset.found.clone().unwrap(),
        other => panic!("{other:?}"),
    }
}

/// The plan, and what its requests say.
fn said(workload: WorkloadSpec) -> Vec<(PlannedRequest, Prompt)> {
    let (spec, datasets) = open(workload).unwrap();
    let prompts = PromptBuilder::with_word_list(&spec.classes, 1).with_datasets(Arc::clone(&datasets));
    let plan = Schedule::draw_from(&spec, datasets).plan().collect::<Vec<_>>();
    plan.into_iter().map(|request| (request, prompts.prompt(&request))).collect()
}

fn text(text: &str) -> Prompt {
    Prompt::Text(text.to_owned())
}

/// Writes a file and opens it as a dataset.
fn opened(name: &str, content: &str, fields: &str) -> Result<DatasetFindings, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, content).unwrap();
    let place = format!("{}/", folder.path().display());
    open(with_dataset(&path, fields))
        .map(|(spec, _)| findings(&spec))
        .map_err(|error| error.to_string().replace(&place, ""))
}

#[test]
fn sharegpt_s_first_turns_are_said_in_the_file_s_order() {
    let path = sample("sharegpt.json");
    let bytes = std::fs::read(&path).unwrap();
    let whole: Vec<Value> = serde_json::from_slice(&bytes).unwrap();
    let turn = |entry: &Value, turn: usize| entry["conversations"][turn]["value"].as_str().map(str::to_owned);
    let expected: Vec<(String, String)> =
        whole.iter().filter_map(|entry| Some((turn(entry, 0)?, turn(entry, 1)?))).collect();
    let spec = with_dataset(&path, ", skip_bad = true");
    let (spec_found, _) = open(spec.clone()).unwrap();
    let found = findings(&spec_found);
    assert_eq!((found.rows, found.filtered_rows, found.bad_rows), (4, 0, 2), "one has one turn, one none");
    assert_eq!(found.bytes, bytes.len() as u64);
    assert_eq!(found.sha256, hexadecimal(&Sha256::digest(&bytes)));

    let requests = said(spec);
    assert_eq!(requests.len(), 209, "twenty seconds and one of drain, the first after a tenth");
    for (place, (request, prompt)) in requests.iter().enumerate() {
        let (question, answer) = &expected[place % expected.len()];
        assert_eq!(*prompt, text(question));
        assert_eq!(request.row, Some(place as u64 % 4));
        assert_eq!(request.input_tokens, TokenCounter::Estimate.count(question));
        assert_eq!(request.output_tokens, TokenCounter::Estimate.count(answer));
    }
    let mean = expected.iter().map(|(_, answer)| f64::from(TokenCounter::Estimate.count(answer))).sum::<f64>();
    assert_eq!(spec_found.classes[0].output_tokens.mean(), mean / 4.0);
}

#[test]
fn lines_say_prompts_and_messages_as_they_stand() {
    let requests = said(with_dataset(&sample("prompts.jsonl"), ""));
    let system = r#"{"role": "system", "content": "You answer in one word."}"#;
    let messages = format!(r#"[{system}, {{"role": "user", "content": "Capital of France?"}}]"#);
    let expected = [
        (text("What is the tallest mountain on Earth?"), 12),
        (Prompt::Messages(messages), 3),
        (text("Line one\nline two, with \"quotes\" and é."), 40),
    ];
    for ((request, prompt), (said, output)) in requests.iter().zip(expected.iter().cycle()) {
        assert_eq!((prompt, request.output_tokens), (said, *output));
    }
    let (_, datasets) = open(with_dataset(&sample("prompts.jsonl"), "")).unwrap();
    assert_eq!(datasets.needs().collect::<Vec<_>>(), [PromptNeed::Messages]);
    assert!(!datasets.writes_words());
}

#[test]
fn csv_columns_are_found_by_name() {
    let requests = said(with_dataset(&sample("prompts.csv"), ""));
    let expected = [("What is a monad?", 25), ("Say \"hi\", please.\nThen stop.", 5), ("Größer als 7?", 9)];
    for ((request, prompt), (said, output)) in requests.iter().zip(expected.iter().cycle()) {
        assert_eq!((prompt, request.output_tokens), (&text(said), *output));
    }
    let named = ", prompt_column = \"topic\", output_tokens_column = \"id\"";
    let error = open(with_dataset(&sample("prompts.csv"), named)).unwrap_err().to_string();
    assert!(error.contains("prompts.csv, row 3, line 5, column `topic`: the prompt is empty"), "{error}");
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_file() {
    for (name, content) in [
        ("a.csv", "\u{feff}prompt,output_tokens\nOne,5\nTwo,6\n"),
        ("a.jsonl", "\u{feff}{\"prompt\":\"One\",\"output_tokens\":5}\r\n{\"prompt\":\"Two\",\"output_tokens\":6}"),
        (
            "a.json",
            "\u{feff}[{\"conversations\":[{\"value\":\"One\"},{\"value\":\"1\"}]},\
             {\"conversations\":[{\"value\":\"Two\"},{\"value\":\"2\"}]}]",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        let requests = said(with_dataset(&path, ""));
        assert_eq!((&requests[0].1, &requests[1].1), (&text("One"), &text("Two")), "{name}");
    }
}

#[test]
fn a_file_that_was_changed_gives_empty_prompts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    std::fs::write(&path, "{\"prompt\":\"One\",\"output_tokens\":5}\n").unwrap();
    let (spec, datasets) = open(with_dataset(&path, "")).unwrap();
    let prompts = PromptBuilder::with_word_list(&spec.classes, 1).with_datasets(Arc::clone(&datasets));
    let request = Schedule::draw_from(&spec, datasets).plan().next().unwrap();
    assert_eq!(prompts.prompt(&request), text("One"));
    std::fs::write(&path, "{}").unwrap();
    assert_eq!(prompts.prompt(&request), text(""));
}

#[test]
fn vllm_s_filter_keeps_what_vllm_keeps() {
    // Words of one token each: prompt and answer lengths, and whether vLLM's is_valid_sequence keeps them.
    let cases =
        [(3, 50, false), (4, 4, true), (4, 3, false), (1_024, 1_024, true), (1_024, 1_025, false), (1_025, 4, false)];
    let words = |count: usize| vec!["the"; count].join(" ");
    let turn = |text: String| serde_json::json!({ "from": "human", "value": text });
    let mut rows: Vec<Value> = cases
        .iter()
        .map(|&(prompt, answer, _)| serde_json::json!({ "conversations": [turn(words(prompt)), turn(words(answer))] }))
        .collect();
    rows.push(serde_json::json!({ "conversations": [turn(words(9))] }));
    rows.push(serde_json::json!({ "conversations": [] }));
    let content = serde_json::to_string(&rows).unwrap();
    let found = opened("a.json", &content, ", filter = \"vllm\"").unwrap();
    let kept = cases.iter().filter(|(_, _, kept)| *kept).count() as u64;
    assert_eq!((found.rows, found.filtered_rows, found.bad_rows), (kept, 8 - kept, 0));
    assert_eq!((found.mean_input_tokens, found.mean_output_tokens), (514.0, Some(514.0)));

    // With a length of its own, that of the answer in the file does not matter: 1,024 + 1,024 still goes, as
    // does (4, 3).
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.json");
    std::fs::write(&path, content).unwrap();
    let spec = workload(&format!(
        "output_tokens = {{ kind = \"constant\", value = 1024 }}\n\
         prompt = {{ kind = \"dataset\", path = {:?}, filter = \"vllm\" }}",
        path.to_str().unwrap()
    ));
    let (spec, datasets) = open(spec).unwrap();
    assert_eq!(findings(&spec).rows, 4);
    assert!(Schedule::draw_from(&spec, datasets).plan().all(|request| request.output_tokens == 1_024));
}

#[test]
fn shuffled_rows_come_once_in_each_round() {
    let rows: Vec<String> = (0..50).map(|row| format!("{{\"prompt\": \"row {row}\", \"output_tokens\": 1}}")).collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    std::fs::write(&path, rows.join("\n")).unwrap();
    let order = |seed: u64| -> Vec<u64> {
        let spec = WorkloadSpec { seed, ..with_dataset(&path, ", order = \"shuffled\"") };
        said(spec).iter().map(|(request, _)| request.row.unwrap()).collect()
    };
    let rows = order(3);
    let rounds: Vec<Vec<u64>> = rows.chunks_exact(50).map(<[u64]>::to_vec).collect();
    for round in &rounds {
        let mut sorted = round.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..50).collect::<Vec<_>>());
    }
    assert!(rounds.len() == 4 && rounds[0] != rounds[1], "another order in each round");
    assert_eq!(rows, order(3));
    assert_ne!(rows, order(4));
}

#[test]
fn the_plan_s_hash_tells_the_rows_and_no_plan_is_drawn_without_them() {
    let hash = |fields: &str| {
        let (spec, datasets) = open(with_dataset(&sample("prompts.jsonl"), fields)).unwrap();
        Schedule::draw_from(&spec, datasets).facts().hash
    };
    // The same spec and file give the same plan for ever. Made independently in Python: hashlib over
    // b"skyline plan 1\0", struct.pack("<H", 0) and the file's SHA-256 in hexadecimal, and
    // struct.pack("<QHIIBQ", int((k + 1) / 10 * 1e9), 0, input, output, 1, k % 3) for k to 198, with the
    // lengths (8, 12), (10, 3) and (13, 40), of which the first were counted by hand.
    assert_eq!(hash(""), "8f41dbb329301f1f1379fe98cabb3358dc2be498a72bbf543562716d11f5b0dd");
    assert_eq!(hash(""), hash(", salt = false"));
    assert_ne!(hash(""), hash(", order = \"shuffled\""));
    assert_ne!(hash(""), hash(", rows = 2"));
    let (spec, datasets) = open(with_dataset(&sample("prompts.jsonl"), ", order = \"shuffled\"")).unwrap();
    assert_eq!(Schedule::draw(&spec).plan().count(), 0);
    // Shards say what the whole says.
    let whole = Schedule::draw_from(&spec, datasets);
    let mut joined: Vec<PlannedRequest> =
        (0..2).flat_map(|shard| whole.shard(shard, 2).unwrap().plan().collect::<Vec<_>>()).collect();
    joined.sort_by_key(|request| request.index);
    assert!(whole.plan().eq(joined));
}

#[test]
fn files_of_equal_lengths_give_plans_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let planned = |name: &str, said: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, format!("{{\"prompt\":\"{said}\",\"output_tokens\":5}}\n")).unwrap();
        let (spec, datasets) = open(with_dataset(&path, "")).unwrap();
        let schedule = Schedule::draw_from(&spec, datasets);
        (schedule.plan().collect::<Vec<_>>(), schedule.facts().hash)
    };
    let (one, other) = (planned("a.jsonl", "What is blue?"), planned("b.jsonl", "What is pink?"));
    assert_eq!(one.0, other.0, "the same lengths at the same moments");
    assert_ne!(one.1, other.1);
    assert_eq!(one, planned("c.jsonl", "What is blue?"), "by what a file says, not by what it is called");
}

#[test]
fn vllm_s_filter_counts_special_tokens_as_vllm_does() {
    // The tokenizer puts one token before every text: three words are four of vLLM's tokens, 1,024 are too many.
    let tokenizer = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/tiny-tokenizer.json");
    let counter = TokenCounter::open(Some(tokenizer)).unwrap();
    let text = |tokens: u32| {
        let texts = (1..3_000).map(|letters| "a ".repeat(letters));
        texts.into_iter().find(|text| counter.count(text) == tokens).unwrap()
    };
    let rows: Vec<Value> = [(3, 3), (2, 3), (3, 2), (1_023, 3), (1_024, 3)]
        .iter()
        .map(|&(prompt, answer)| {
            serde_json::json!({ "conversations": [{ "value": text(prompt) }, { "value": text(answer) }] })
        })
        .collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.json");
    std::fs::write(&path, serde_json::to_string(&rows).unwrap()).unwrap();
    let (spec, _) = Datasets::open(with_dataset(&path, ", filter = \"vllm\""), &counter).unwrap();
    let found = findings(&spec);
    assert_eq!((found.rows, found.filtered_rows), (2, 3));
    assert_eq!(found.mean_input_tokens, f64::from(3 + 1_023) / 2.0, "lengths are those of the texts");
}

#[test]
fn a_salt_puts_other_words_before_each_prompt() {
    let requests = said(with_dataset(&sample("prompts.csv"), ", salt = true"));
    let texts: Vec<String> = requests
        .iter()
        .map(|(_, prompt)| match prompt {
            Prompt::Text(text) => text.clone(),
            other => panic!("{other:?}"),
        })
        .collect();
    let (lead, rest) = texts[0].split_once("\n\n").unwrap();
    assert_eq!(rest, "What is a monad?");
    assert!(lead.split(' ').count() >= 4);
    assert_eq!(requests[0].0.input_tokens, TokenCounter::Estimate.count(rest) + 5);
    assert!(TokenCounter::Estimate.count(&texts[0]).abs_diff(requests[0].0.input_tokens) <= 1);
    let first_words: std::collections::HashSet<_> = texts.iter().map(|text| text.split(' ').next().unwrap()).collect();
    assert_eq!(first_words.len(), texts.len(), "no two begin alike");
}

#[test]
fn random_tokens_are_as_many_as_asked() {
    let class = "input_tokens = { kind = \"vllm_range\", length = 20, ratio = 0.5 }\n\
                 output_tokens = { kind = \"sglang_range\", length = 10, ratio = 0.5 }\n";
    let requests = said(workload(&format!("{class}prompt = {{ kind = \"random_tokens\", vocabulary = 300 }}")));
    for (request, prompt) in &requests {
        let Prompt::TokenIds(ids) = prompt else { panic!("{prompt:?}") };
        assert_eq!(ids.len(), request.input_tokens as usize);
        assert!(ids.iter().all(|&id| id < 300));
    }
    let ends = |lengths: fn(&PlannedRequest) -> u32| {
        let lengths = || requests.iter().map(|(request, _)| lengths(request));
        (lengths().min().unwrap(), lengths().max().unwrap())
    };
    assert_eq!(ends(|request| request.input_tokens), (10, 30), "from length − half to length + half");
    assert_eq!(ends(|request| request.output_tokens), (5, 10), "from half to length");
    assert_ne!(requests[0].1, requests[1].1);

    let without = workload(&format!("{class}prompt = {{ kind = \"random_tokens\" }}"));
    let error = open(without.clone()).unwrap_err().to_string();
    assert!(error.contains("class `only`") && error.contains("hint: add `vocabulary`"), "{error}");
    let tokenizer = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/tiny-tokenizer.json");
    assert!(Datasets::open(without, &TokenCounter::open(Some(tokenizer)).unwrap()).is_ok());
}

#[test]
fn images_go_along_as_data_urls() {
    use base64::Engine as _;
    let folder = sample("images");
    let class = format!(
        "input_tokens = {{ kind = \"constant\", value = 12 }}\noutput_tokens = {{ kind = \"constant\", value = 3 }}\n\
         images = {{ folder = {:?}, per_request = {{ kind = \"uniform\", min = 1, max = 3 }} }}",
        folder.to_str().unwrap()
    );
    let url = |kind: &str, name: &str| {
        let bytes = std::fs::read(folder.join(name)).unwrap();
        format!("data:image/{kind};base64,{}", base64::engine::general_purpose::STANDARD.encode(bytes))
    };
    let known = [url("gif", "dot.gif"), url("png", "red.png")];
    let requests = said(workload(&class));
    let mut seen = [0; 4];
    for (request, prompt) in &requests {
        let Prompt::Messages(messages) = prompt else { panic!("{prompt:?}") };
        let messages: Value = serde_json::from_str(messages).unwrap();
        let parts = messages[0]["content"].as_array().unwrap();
        assert_eq!((parts.len() - 1, &parts[0]["type"]), (usize::from(request.images), &Value::from("text")));
        seen[parts.len() - 1] += 1;
        for part in &parts[1..] {
            assert!(known.iter().any(|url| part["image_url"]["url"] == *url), "{part}");
        }
    }
    assert!(seen[0] == 0 && seen[1..].iter().all(|&count| count > 40), "{seen:?}");

    let broken = tempfile::tempdir().unwrap();
    let spec = workload(&class.replace(folder.to_str().unwrap(), broken.path().to_str().unwrap()));
    assert!(open(spec.clone()).unwrap_err().to_string().contains("holds no image"));
    std::fs::write(broken.path().join("notes.txt"), "hello").unwrap();
    let error = open(spec).unwrap_err().to_string();
    assert!(error.contains("notes.txt is not a PNG, JPEG, GIF or WebP image"), "{error}");
    // A hole in a file takes no room on the disk, and must take none in memory.
    std::fs::File::create(broken.path().join("large.png")).unwrap().set_len(3 << 30).unwrap();
    let error = open(workload(&class.replace(folder.to_str().unwrap(), broken.path().to_str().unwrap())));
    let error = error.unwrap_err().to_string();
    assert!(error.contains("large.png take 3072 MiB, and at most 256 MiB"), "{error}");
}
