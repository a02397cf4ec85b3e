//! Rows and files that are no dataset: refused, or passed over where that is asked.

use super::*;

#[test]
fn every_bad_row_has_its_place_its_cause_and_its_cure() {
    let hint = "\nhint: correct the row, or skip such rows with skip_bad = true in the workload file or --skip-bad";
    for (name, content, said) in [
        (
            "a.json",
            "[{\"conversations\": [{\"value\": \"x\"},\n {\"value\": 7}]}]",
            "row 1, line 2, column 12: invalid type: integer `7`, expected a string",
        ),
        (
            "a.json",
            "[\n  7]",
            "row 1, line 2, column 3: invalid type: integer `7`, expected an object with named fields",
        ),
        (
            "a.json",
            "[{\"conversations\": [{\"value\": \"x\"}]}]",
            "row 1, line 1, column 2: it does not say how long its answer is; give the class `output_tokens`, or \
             --output-tokens",
        ),
        (
            "a.json",
            "[{\"conversations\": [{\"value\": \"x\"}, {\"value\": \"y\"}]}, {\"id\": 3}]",
            "row 2, line 1, column 55: it has no `conversations`; its fields are `id`",
        ),
        (
            "a.json",
            "[[[[\"x\"], [\"y\"]]]]",
            "row 1, line 1, column 2: invalid type: sequence, expected an object with named fields",
        ),
        (
            "a.jsonl",
            "[\"hello\", null, 12]",
            "row 1, line 1, column 1: invalid type: sequence, expected an object with named fields",
        ),
        ("a.jsonl", "{\"prompt\": \"\"}", "row 1, line 1: `prompt` is empty"),
        (
            "a.jsonl",
            "{\"messages\": [{\"role\": \"use\", \"content\": 3}]}",
            "row 1, line 1, column 14: in `messages`: `content` of message 1 is 3, neither a text nor a list of parts",
        ),
        ("a.jsonl", "{\"messages\": [{\"role\": \"user\"}]}", "row 1, line 1: `messages` hold no text"),
        ("a.csv", "prompt,output_tokens\nx,5\n,6\n", "row 2, line 3, column `prompt`: the prompt is empty"),
        (
            "a.jsonl",
            "{\"prompt\": \"x\", \"output_tokens\": 1}\n\n{oops}",
            "row 2, line 3, column 2: key must be a string",
        ),
        (
            "a.jsonl",
            "{\"text\": \"x\", \"max_tokens\": 3}",
            "row 1, line 1: it has neither `prompt` nor `messages`; its fields are `max_tokens`, `text`: rename the \
             prompt's",
        ),
        (
            "a.jsonl",
            "{\"prompt\": \"x\", \"output_tokens\": 1.5}",
            "row 1, line 1: `output_tokens` is 1.5; it must be a whole number from 1 to 1,000,000",
        ),
        (
            "a.jsonl",
            "{\"prompt\": \"x\", \"max_tokens\": 3}",
            "row 1, line 1: it does not say how long its answer is (`max_tokens` is not read: call it \
             `output_tokens`); give the class `output_tokens`, or --output-tokens",
        ),
        (
            "a.csv",
            "prompt,output_len\nx,5\n",
            "row 1, line 2: it does not say how long its answer is (`output_len` is not read: call it \
             `output_tokens`); give the class `output_tokens`, or --output-tokens",
        ),
        (
            "a.jsonl",
            "{\"prompt\": \"x\", \"messages\": []}",
            "row 1, line 1: it has both `prompt` and `messages`; leave one of them out",
        ),
        (
            "a.jsonl",
            "{\"prompt\": \"x\", \"output_tokens\": 0}",
            "row 1, line 1: `output_tokens` is 0; it must be a whole number from 1 to 1,000,000",
        ),
        (
            "a.jsonl",
            "{\"messages\": [{\"content\": \"x\"}]}",
            "row 1, line 1, column 30: in `messages`: missing field `role`",
        ),
        (
            "a.csv",
            "prompt,output_tokens\nx,5\ny,many\n",
            "row 2, line 3, column `output_tokens`: is \"many\"; it must be a whole number from 1 to 1,000,000",
        ),
        (
            "a.csv",
            "prompt,output_tokens\nx,5,6\n",
            "row 1, line 2: it has 3 fields, and the first line 2; quote texts with commas",
        ),
    ] {
        let error = opened(name, content, "").unwrap_err();
        assert_eq!(error, format!("{name}, {said}{hint}"), "{content:?}");
    }
}

#[test]
fn what_is_not_of_its_format_says_so() {
    for (name, content, said) in [
        (
            "a.json",
            "{\"prompt\": \"x\"}\n",
            "a.json, line 1: a list is expected, which begins with `[`\nhint: the format sharegpt is one JSON list of \
             conversations; for an object a line, the format is jsonl",
        ),
        (
            "a.csv",
            "question,answer\nx,y\n",
            "a.csv, line 1: there is no column `prompt`; the columns are: question, answer\nhint: the format csv has \
             column names in its first line; name that of the prompts `prompt`, or say in a workload file what it is \
             called: prompt_column",
        ),
        (
            "a.csv",
            "",
            "a.csv, line 1: the file is empty\nhint: the format csv has column names in its first line; name that of \
             the prompts `prompt`, or say in a workload file what it is called: prompt_column",
        ),
        (
            "a.jsonl",
            "\n\n",
            "the dataset a.jsonl has no row to send: 0 left out by the filter, 0 that cannot be used\nhint: check that \
             its format is jsonl",
        ),
    ] {
        assert_eq!(opened(name, content, "").unwrap_err(), said);
    }
    let error = opened("a.jsonl", "[\n1]\n", ", skip_bad = true").unwrap_err();
    assert!(
        error.contains("2 that cannot be used\nhint: check that its format is jsonl; the first bad one: row 1, line 1"),
        "{error}"
    );
    let error = open(with_dataset(Path::new("/no/such.csv"), "")).unwrap_err().to_string();
    assert!(error.starts_with("cannot read the dataset /no/such.csv: No such file"), "{error}");
}

#[test]
fn bad_rows_are_passed_over_and_counted_where_that_is_asked() {
    let content = "{\"prompt\": \"one\"}\nnot JSON\n{\"prompt\": \"\"}\n{\"prompt\": \"four\", \"output_tokens\": 4}\n";
    let found = opened("a.jsonl", content, ", skip_bad = true").unwrap();
    assert_eq!((found.rows, found.bad_rows), (1, 3));
    let short = opened("a.csv", "prompt,output_tokens\nx,5\ny\nz,6\n", ", skip_bad = true").unwrap();
    assert_eq!((short.rows, short.bad_rows, short.mean_output_tokens), (2, 1, Some(5.5)));
    // No more is read of a file than is asked for; its size and hash are those of all of it.
    let cut = opened("a.jsonl", "{\"prompt\":\"a\",\"output_tokens\":1}\nbad\n", ", rows = 1").unwrap();
    assert_eq!((cut.rows, cut.bytes), (1, 37));
}
