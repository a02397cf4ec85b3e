//! Golden prompts and the forms of answers, from the workload to the report and the exit code.

use std::collections::HashMap;
use std::path::Path;

use predicates::str::contains;
use serde_json::{Value, json};
use skyline::mock::{Backend, MockOptions, MockServer};

use crate::quick::QUICK;
use crate::support::Desk;

/// The quick workload with two golden prompts, five times each under load.
fn gated() -> String {
    let checks = r#"
check_every_s = 0.2
[[checks]]
name = "capital"
prompt = "What, in a sentence that a child of six years would understand at once, is really the capital of France?"
expect = { contains = "Paris", min_characters = 6 }
[[checks]]
name = "year"
messages = [{ role = "user", content = "In which year?" }]
max_tokens = 4
expect = { regex = "^[0-9]+$" }
[arrival]"#;
    QUICK.replace("\n[arrival]", checks)
}

/// The quick workload with classes that ask for JSON, for tool calls and for more than there is room for.
fn formed() -> String {
    QUICK.split("[[classes]]").next().unwrap().to_owned()
        + r#"
[[classes]]
name = "extraction"
input_tokens = { kind = "constant", value = 10 }
output_tokens = { kind = "constant", value = 30 }
answer = { kind = "json_schema", in_slo = true, schema = { type = "object", required = ["city"], properties = { city = { type = "string" } } } }
[[classes]]
name = "agent"
input_tokens = { kind = "constant", value = 10 }
output_tokens = { kind = "constant", value = 30 }
[classes.answer]
kind = "tools"
choice = "required"
tools = [{ name = "weather", parameters = { type = "object", required = ["days"], properties = { days = { type = "integer", minimum = 1 } } } }]
[[classes]]
name = "cut"
input_tokens = { kind = "constant", value = 10 }
output_tokens = { kind = "constant", value = 1 }
answer = { kind = "json_schema", schema = { type = "object", required = ["a"], properties = { a = { const = "long enough" } } } }
[[classes]]
name = "words"
input_tokens = { kind = "constant", value = 10 }
output_tokens = { kind = "constant", value = 5 }
"#
}

/// A mock with these answers and faults, and the file in which it tells what it did.
fn mock(desk: &Desk, answers: &[&str], faults: &[&str]) -> (MockServer, String, std::path::PathBuf) {
    let truth = desk.file("truth.ndjson", "");
    let options = MockOptions {
        answers: answers.iter().map(|answer| answer.parse().unwrap()).collect(),
        faults: faults.iter().map(|fault| fault.parse().unwrap()).collect(),
        truth: Some(truth.clone()),
        seed: 3,
        ..MockOptions::default()
    };
    let server = MockServer::start(Backend::preset().unwrap(), options, "127.0.0.1:0".parse().unwrap()).unwrap();
    let url = format!("http://{}", server.address());
    (server, url, truth)
}

/// What the mock did, a record a request.
fn truth(server: MockServer, file: &Path) -> Vec<Value> {
    let _ = server.stop();
    let text = std::fs::read_to_string(file).unwrap();
    text.lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|line| line["id"].is_string())
        .collect()
}

fn has(record: &Value, fault: &str) -> bool {
    record["faults"].as_array().is_some_and(|faults| faults.contains(&json!(fault)))
}

#[test]
fn golden_prompts_are_counted_before_and_under_load_and_decide_the_exit_code() {
    let desk = Desk::new();
    desk.file("gated.toml", &gated());
    let (server, url, file) = mock(&desk, &["capital of France?=It is Paris"], &["broken_answer=0.4"]);
    let arguments =
        ["bench", "gated.toml", "--no-calibration", "--allow-invalid", "--save-text", "--url", &url, "--objective"];
    let run = desk.skyline(&[&arguments[..], &["check_pass_rate >= 95%"]].concat()).assert().code(1);
    let output = run.get_output();
    let (shown, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(
        said.contains("warning: check `year` failed: the answer has no match of \"^[0-9]+$\": \" the quick"),
        "{said}"
    );
    assert!(
        shown.contains("Checks, in no other figure") && shown.contains("missed: check_pass_rate >= 95%"),
        "{shown}"
    );

    // The mock knows which answers it broke: the prompt of this check has twenty words, none other has.
    let asked: Vec<Value> = truth(server, &file).into_iter().filter(|record| record["prompt_tokens"] == 20).collect();
    let broken = |records: &[Value]| records.iter().filter(|record| has(record, "broken_answer")).count();
    let quality = &desk.summary()["quality"];
    let [capital, year] = [0, 1].map(|place| quality["checks"][place].clone());
    assert_eq!((asked.len(), &capital["before"]["requested"]), (6, &json!(1)), "{capital}");
    assert_eq!(capital["before"]["unmet"], json!(broken(&asked[..1])));
    assert_eq!(
        (&capital["under_load"]["requested"], &capital["under_load"]["unmet"]),
        (&json!(5), &json!(broken(&asked[1..])))
    );
    assert!(broken(&asked) > 0 && broken(&asked) < 6, "the seed lets some pass and some fail");
    assert_eq!(capital["examples"][0]["excerpt"], json!("It is"));
    assert_eq!((&year["before"]["passed"], &year["under_load"]["unmet"]), (&json!(0), &json!(5)));
    assert_eq!(quality["pass_rate"], json!((6 - broken(&asked)) as f64 / 12.0));

    // They are no requests, and the counters add up with them.
    let measured = desk.lines("request").iter().filter(|request| request["phase"] == "measured").count();
    assert_eq!(desk.summary()["requests"]["planned"], json!(measured));
    let counters = desk.checks("counter_identity");
    assert!(!counters.is_empty() && counters.iter().all(|check| check["outcome"] == "passed"), "{counters:?}");
    assert_eq!(desk.lines("check").len(), 12);

    // The same from the log, for any objective.
    let folder = desk.run();
    let stored = desk.skyline(&[
        "report",
        folder.to_str().unwrap(),
        "--json",
        "--allow-invalid",
        "--objective",
        "check_pass_rate > 5%",
    ]);
    let again: Value = serde_json::from_slice(&{ stored }.assert().code(0).get_output().stdout).unwrap();
    assert_eq!(&again["quality"], quality);
}

#[test]
fn answers_are_held_against_the_form_that_was_asked_for() {
    let desk = Desk::new();
    desk.file("formed.toml", &formed());
    let (server, url, file) = mock(&desk, &[], &["broken_answer=0.3", "off_schema=0.3"]);
    let arguments = ["bench", "formed.toml", "--no-calibration", "--allow-invalid", "--url", &url, "--objective"];
    desk.skyline(&[&arguments[..], &["valid_answers >= 99%"]].concat())
        .assert()
        .code(1)
        .stdout(contains("Answers of a form"))
        .stdout(contains("missed: valid_answers >= 99%"));

    // The mock's name for a request ends with its place in the plan.
    let ids: HashMap<String, Value> = truth(server, &file)
        .into_iter()
        .map(|record| (record["id"].as_str().unwrap().trim_start_matches("chatcmpl-").to_owned(), record))
        .collect();
    let prefix = desk.lines("header")[0]["engines"][0]["request_id_prefix"].as_str().unwrap().to_owned();
    let mut kinds: HashMap<String, u64> = HashMap::new();
    for request in desk.lines("request").iter().filter(|request| request["outcome"]["kind"] == "completed") {
        let made = &ids[&format!("{prefix}{:012x}", request["index"].as_u64().unwrap())];
        let expected = match (request["class"].as_u64().unwrap(), has(made, "broken_answer"), has(made, "off_schema")) {
            (3, ..) => Value::Null,
            (2, false, false) => json!({ "kind": "cut_at_limit" }),
            // Broken in the middle and then cut, or short enough to be whole: not what this test is about.
            (2, ..) => continue,
            (_, false, false) => json!({ "kind": "valid" }),
            (0, true, _) => json!({ "kind": "invalid", "fault": "not_json" }),
            (0, false, true) => json!({ "kind": "invalid", "fault": "not_of_schema" }),
            (_, true, _) => json!({ "kind": "invalid", "fault": "arguments_not_json" }),
            (_, false, true) => json!({ "kind": "invalid", "fault": "arguments_not_of_schema" }),
        };
        assert_eq!(request["validity"], expected, "{request} {made}");
        if request["phase"] == "measured" && request["class"] == 0 {
            *kinds.entry(expected["kind"].to_string()).or_default() += 1;
        }
    }
    let class = &desk.summary()["answers"]["by_class"][0];
    assert_eq!((&class["class"], &class["form"]), (&json!("extraction"), &json!("json_schema")));
    assert_eq!(class["valid"], json!(kinds["\"valid\""]), "{class}");
    assert_eq!(class["invalid"], json!(kinds["\"invalid\""]), "{class}");
    // It was asked for with `in_slo`, the tool calls were not.
    let groups = desk.summary()["parts"].clone();
    assert_eq!(groups[0]["slo"]["of_another_form"], class["invalid"]);
    assert_eq!(groups[1]["slo"]["of_another_form"], json!(0));
    // Only the last class was asked for a length.
    let lengths = &desk.summary()["tokens"]["output"];
    assert_eq!(lengths["requests"], groups[3]["completed"], "{lengths}");
}

#[test]
fn what_an_endpoint_cannot_carry_is_refused_before_anything_is_sent() {
    let desk = Desk::new();
    desk.file("gated.toml", &gated());
    desk.file("formed.toml", &formed());
    for (workload, says) in [
        ("gated.toml", "check `year` has chat messages, which the endpoint completions cannot carry"),
        ("formed.toml", "class `extraction` asks for answers of a form, which the endpoint completions does not have"),
    ] {
        let arguments = ["bench", workload, "--no-calibration", "--endpoint", "completions"];
        desk.skyline(&arguments).assert().code(2).stderr(contains(says));
    }
    assert!(desk.runs().is_empty());
}

#[test]
fn check_asks_the_golden_prompts_of_a_workload() {
    let desk = Desk::new();
    desk.file("gated.toml", &gated());
    let (_server, url, _) = mock(&desk, &["capital of France?=It is Paris", "which year?=1789"], &[]);
    let arguments = ["check", "--workload", "gated.toml", "--url", &url];
    desk.skyline(&arguments).assert().code(0).stdout(contains("`capital` passed")).stdout(contains("`year` passed"));
    // The embedded mock knows no answers.
    desk.skyline(&arguments[..3])
        .assert()
        .code(1)
        .stdout(contains("`capital` failed: the answer does not contain \"Paris\""));
    // What an answer repeats of a secret is not shown.
    let (_server, url, _) = mock(&desk, &["capital of France?=hunter2-secret"], &[]);
    let arguments = ["check", "--workload", "gated.toml", "--url", &url];
    let report = desk.skyline(&arguments).env("OPENAI_API_KEY", "hunter2-secret").assert().code(1);
    let report = String::from_utf8_lossy(&report.get_output().stdout).into_owned();
    assert!(report.contains("\"***\"") && !report.contains("hunter2"), "{report}");
    desk.skyline(&["check", "--workload", "quick.toml"]).assert().code(2).stderr(contains("`quick` has no `checks`"));
}

#[test]
fn golden_prompts_can_be_added_to_any_workload() {
    let desk = Desk::new();
    let golden = "[[checks]]\nname = \"added\"\nslice = \"mine\"\nprompt = \"Say something.\"\nexpect = { min_characters = 1 }\n";
    std::fs::write(desk.path().join("golden.toml"), golden).unwrap();
    std::fs::write(desk.path().join("gated.toml"), gated()).unwrap();
    let golden_run = ["bench", "gated.toml", "--golden", "golden.toml", "--no-calibration", "--allow-invalid"];
    _ = desk.skyline(&golden_run).assert();
    let quality = desk.summary()["quality"].clone();
    let names: Vec<_> = quality["checks"].as_array().unwrap().iter().map(|check| check["name"].clone()).collect();
    assert_eq!(names, ["capital", "year", "added"]);
    assert_eq!(quality["slices"][0]["before"]["passed"], 1, "{quality}");

    std::fs::write(desk.path().join("golden.toml"), golden.replace("added", "year")).unwrap();
    let twice = desk.skyline(&["bench", "gated.toml", "--golden", "golden.toml"]).assert().code(2);
    let said = String::from_utf8(twice.get_output().stderr.clone()).unwrap();
    assert!(said.contains("`--golden` has a check `year`, and so has the workload"), "{said}");
    let absent = desk.skyline(&["bench", "gated.toml", "--golden", "basic"]).assert().code(2);
    let said = String::from_utf8(absent.get_output().stderr.clone()).unwrap();
    assert!(said.contains("there is no golden set `basic`; give `basics`"), "{said}");
    let shown = desk.skyline(&["workloads", "show", "basics"]).assert().success();
    assert!(String::from_utf8(shown.get_output().stdout.clone()).unwrap().contains("[[checks]]"));
}

#[test]
fn answers_are_scored_by_the_rows_of_a_dataset() {
    let desk = Desk::new();
    desk.file("quick.toml", QUICK);
    let row = |number: u32, answer: u32| {
        format!("{{\"question\": \"What is {number} x 7 ?\", \"answer\": \"so #### {answer}\"}}\n")
    };
    desk.file("sums.jsonl", &[row(6, 42), row(5, 35), row(4, 28), row(3, 99)].concat());
    let say = |number: u32, answer: u32| format!("is {number} x=The number is {answer}.");
    let answers = [say(6, 42), say(5, 35), say(4, 28), say(3, 21)];
    let (server, url, file) = mock(&desk, &answers.each_ref().map(String::as_str), &["broken_answer=0.3"]);
    let dataset = ["--dataset", "sums.jsonl", "--dataset-format", "table", "--output-tokens", "16", "--url", &url];
    let bench = [&["bench", "quick.toml", "--no-calibration", "--allow-invalid"], &dataset[..]].concat();
    let columns = ["--dataset-columns", "prompt=question,answer=answer", "--score"];
    let scored = [&bench[..], &columns, &["number", "--objective", "accuracy >= 99%"]].concat();
    let run = desk.skyline(&scored).assert().code(1);
    let shown = String::from_utf8_lossy(&run.get_output().stdout).into_owned();
    assert!(shown.contains("missed: accuracy >= 99%") && shown.contains("Accuracy: answers that"), "{shown}");

    // The mock knows which answers it broke; one row expects what it never says.
    let made: Vec<Value> = truth(server, &file).into_iter().filter(|record| record["prompt_tokens"] != 0).collect();
    let prefix = desk.lines("header")[0]["engines"][0]["request_id_prefix"].as_str().unwrap().to_owned();
    let (mut right, mut scored) = (0, 0);
    for request in desk.lines("request").into_iter().filter(|request| request["phase"] == "measured") {
        let id = format!("chatcmpl-{prefix}{:012x}", request["index"].as_u64().unwrap());
        let made = made.iter().find(|made| made["id"] == json!(id)).unwrap();
        let row = request["index"].as_u64().unwrap() % 4;
        let expected = row != 3 && !has(made, "broken_answer");
        assert_eq!(request["score"], json!({ "row": row, "right": expected }), "{request} {made}");
        right += u64::from(expected);
        scored += 1;
    }
    let accuracy = &desk.summary()["accuracy"];
    assert_eq!((&accuracy["right"], &accuracy["prompts"]), (&json!(right), &json!(4)), "{accuracy}");
    assert_eq!(accuracy["accuracy"], json!(right as f64 / scored as f64));
    assert!(right > 10 && right < 30 && scored > 35, "the seed breaks some");
    assert_eq!(desk.summary()["slo"]["wrong"], json!(scored - right));
    assert_eq!(desk.summary()["slo"]["slo_attainment"], json!(1.0));

    std::fs::remove_dir_all(desk.run()).unwrap();
    // A program decides after the load, and one that does not exist is refused before it.
    let (_server, url, _) = mock(&desk, &answers.each_ref().map(String::as_str), &[]);
    let bench: Vec<&str> =
        bench.iter().map(|word| if word.starts_with("http") { url.as_str() } else { word }).collect();
    let mut by_program = [&bench[..], &columns, &["command:grep -q 42", "--requests", "8"]].concat();
    desk.skyline(&by_program).assert().code(0);
    assert!(desk.lines("scored").len() >= 8);
    assert_eq!(desk.summary()["accuracy"]["right"], json!(2), "the row with 42, twice");
    let runs = desk.runs().len();
    by_program[bench.len() + 3] = "command:no-such-program";
    desk.skyline(&by_program).assert().code(2).stderr(contains("`no-such-program`, which is to score answers"));
    let unnamed = [&bench[..], &["--score", "number"]].concat();
    desk.skyline(&unnamed).assert().code(2).stderr(contains("name their column, as in --dataset-columns answer=NAME"));
    assert_eq!(desk.runs().len(), runs);
}
