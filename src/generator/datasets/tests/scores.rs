//! Expected answers in rows: read from each format, and refused where no answer can be compared with them.

use super::*;

const NUMBER: &str = r#", score = { rule = "number", column = "answer" }"#;
const ROOM: &str = "output_tokens = { kind = \"constant\", value = 64 }";

/// A workload whose rows are scored; its answers have room.
fn scored(path: &Path, fields: &str) -> WorkloadSpec {
    workload(&format!("{ROOM}\nprompt = {{ kind = \"dataset\", path = {:?}{fields} }}", path.to_str().unwrap()))
}

#[test]
fn each_format_says_what_rows_expect() {
    let folder = tempfile::tempdir().unwrap();
    let table = format!(", format = \"table\"{NUMBER}");
    for (name, content, fields) in [
        (
            "a.jsonl",
            "{\"prompt\": \"6 x 7?\", \"answer\": \"so #### 42\"}\n{\"prompt\": \"1 + 1?\", \"answer\": 2}\n",
            NUMBER,
        ),
        ("a.csv", "prompt,answer\n6 x 7?,so #### 42\n1 + 1?,2\n", NUMBER),
        (
            "b.jsonl",
            "{\"question\": \"6 x 7?\", \"answer\": \"so #### 42\"}\n{\"question\": \"1 + 1?\", \"answer\": 2}\n",
            &table,
        ),
    ] {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        let (_, datasets) = open(scored(&path, fields)).unwrap();
        let key = datasets.answer_keys().remove(0).unwrap();
        assert_eq!((key.is_right(0, "It is 42."), key.is_right(1, "It is 42.")), (Some(true), Some(false)), "{name}");
        assert_eq!((key.is_right(1, "2"), key.is_right(2, "2")), (Some(true), None), "{name}");
        let said = said(scored(&path, fields));
        assert_eq!((said[0].0.row, said[0].0.output_tokens, &said[0].1), (Some(0), 64, &text("6 x 7?")), "{name}");
    }
    let path = folder.path().join("plain.jsonl");
    std::fs::write(&path, "{\"prompt\": \"hello\", \"output_tokens\": 3}\n").unwrap();
    assert!(open(with_dataset(&path, "")).unwrap().1.answer_keys()[0].is_none());
}

#[test]
fn rows_that_no_answer_can_be_held_against_are_refused_with_the_cure() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |name: &str, content: &str, fields: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        open(scored(&path, fields)).unwrap_err().to_string()
    };
    let table = format!(", format = \"table\"{NUMBER}");
    for (name, content, fields, said) in [
        (
            "a.jsonl",
            "{\"prompt\": \"a\", \"anser\": 1}\n",
            NUMBER,
            "row 1, line 1: it has no `answer`, by which answers are scored; its fields are `anser`",
        ),
        (
            "a.jsonl",
            "{\"prompt\": \"a\", \"answer\": null}\n",
            NUMBER,
            "row 1, line 1: `answer` is empty, and answers are scored by it",
        ),
        (
            "a.jsonl",
            "{\"prompt\": \"a\", \"answer\": \"seven\"}\n",
            NUMBER,
            "`answer` is \"seven\", which does not end in a number alone",
        ),
        (
            "a.csv",
            "prompt,anser\na,1\n",
            NUMBER,
            "there is no column `answer` to score answers by; did you mean `anser`?",
        ),
        (
            "b.jsonl",
            "{\"question\": \"a\", \"anser\": 1}\n",
            &table,
            "there is no column `answer`; did you mean `anser`?",
        ),
    ] {
        let error = refused(name, content, fields);
        assert!(error.contains(said), "{name}: {error}");
    }
    // What the expected answer is long says nothing of how long the answer may be.
    let path = folder.path().join("c.jsonl");
    std::fs::write(&path, "{\"question\": \"a\", \"answer\": \"#### 1\"}\n").unwrap();
    let error = open(with_dataset(&path, &table)).unwrap_err().to_string();
    assert!(error.contains("its answer would be cut at the length of the expected one"), "{error}");
    assert!(error.contains("give the class `output_tokens`, or --output-tokens"), "{error}");
    // Such rows can be skipped.
    std::fs::write(&path, "{\"prompt\": \"a\", \"answer\": \"x\"}\n{\"prompt\": \"b\", \"answer\": 1}\n").unwrap();
    let (spec, datasets) = open(scored(&path, &format!(", skip_bad = true{NUMBER}"))).unwrap();
    assert_eq!((findings(&spec).rows, findings(&spec).bad_rows), (1, 1));
    assert_eq!(datasets.answer_keys()[0].as_ref().unwrap().is_right(0, "1"), Some(true));
}
