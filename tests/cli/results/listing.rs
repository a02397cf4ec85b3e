//! The latest result, and the results in a folder.

use crate::support::Desk;

const RUN: &str = include_str!("../../data/runs/schema-5/run.jsonl");

#[test]
fn without_a_path_the_latest_result_is_shown_and_a_folder_is_listed() {
    let desk = Desk::new();
    let nothing = desk.skyline(&["report"]).assert().code(2);
    let words = String::from_utf8_lossy(&nothing.get_output().stderr).into_owned();
    assert!(words.contains("no result is stored in results") && words.contains("skyline bench"), "{words}");
    for name in ["tiny-vllm-20261121T040506Z", "tiny-vllm-20261122T040506Z", "tiny-vllm-20261120T040506Z"] {
        desk.file(&format!("results/{name}/run.jsonl"), RUN);
    }
    let latest = desk.skyline(&["report", "--allow-invalid", "--json"]).assert().success();
    let words = String::from_utf8_lossy(&latest.get_output().stderr).into_owned();
    assert!(words.contains("the latest result: results/tiny-vllm-20261122T040506Z"), "{words}");
    let listed = desk.skyline(&["report", "results/"]).assert().success();
    let list = String::from_utf8(listed.get_output().stdout.clone()).unwrap();
    let named: Vec<_> = list.lines().filter(|line| line.contains("tiny-vllm-") && !line.contains("skyline")).collect();
    assert_eq!(named.len(), 3, "{list}");
    assert!(named[0].contains("20261122") && named[2].contains("20261120"), "{list}");
    assert!(list.contains("skyline report results/tiny-vllm-20261122T040506Z"), "{list}");
    let json = desk.skyline(&["report", "results", "--json"]).assert().success();
    let json: serde_json::Value = serde_json::from_slice(&json.get_output().stdout).unwrap();
    assert_eq!(json["results"][0]["name"], "tiny-vllm-20261122T040506Z");
    desk.skyline(&["report", "results", "--objective", "p50 ttft < 1s"]).assert().code(2);
}

#[test]
fn a_folder_of_one_result_is_that_result_and_others_say_what_they_hold() {
    let desk = Desk::new();
    let name = "tiny-vllm-20261121T040506Z";
    desk.file(&format!("one/{name}/run.jsonl"), RUN);
    for newer in ["tiny-vllm-20261121T040506Z", "tiny-vllm-20261122T040506Z"] {
        desk.file(&format!("two/{newer}/run.jsonl"), RUN);
    }
    desk.file("notes/todo.txt", "nothing of ours");
    std::fs::create_dir(desk.path().join("empty")).unwrap();
    let outputs = |typed: &[&str]| {
        let output = desk.skyline(typed).output().unwrap();
        let [out, words] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        (output.status.code(), out, words)
    };
    let whole = format!("one/{name}");
    for (typed, same) in [
        (vec!["audit", "one"], vec!["audit", whole.as_str()]),
        (
            vec!["compare", "one", whole.as_str(), "--allow-invalid"],
            vec!["compare", whole.as_str(), whole.as_str(), "--allow-invalid"],
        ),
    ] {
        let (code, out, words) = outputs(&typed);
        assert_eq!((code, &out), (outputs(&same).0, &outputs(&same).1), "{typed:?}: {words}");
        assert!(!out.is_empty(), "{typed:?}");
    }
    for typed in [
        vec!["audit", "two"],
        vec!["compare", "two", "one"],
        vec!["capacity", "two", "--target-rate", "5"],
        vec!["merge", "two", "one"],
    ] {
        let (code, _, words) = outputs(&typed);
        let says = "two holds 2 results, and one is needed\nhint: name it, such as two/tiny-vllm-20261122T040506Z";
        assert!(code == Some(2) && words.contains(says), "{typed:?}: {words}");
    }
    for (folder, holds) in [("empty", "it is empty"), ("notes", "it holds todo.txt")] {
        for verb in ["report", "audit"] {
            let (code, _, words) = outputs(&[verb, folder]);
            let says = format!("there is no result in {folder}: {holds}\nhint: name the folder of a run");
            assert!(code == Some(2) && words.contains(&says), "{verb} {folder}: {words}");
        }
    }
}
