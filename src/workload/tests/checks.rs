//! Golden prompts and answer formats: how they are read, and every mistake in them.

use crate::workload::answer::shape::{AnswerShape, ToolChoice};
use crate::workload::spec::WorkloadSpec;
use crate::workload::tests::{LEAST, said_of};

const FULL: &str = r#"
name = "gated"
check_every_s = 2.5
arrival = { kind = "poisson", rate_per_s = 2 }

[[checks]]
name = "capital"
prompt = "What is the capital of France? One word."
max_tokens = 8
expect = { contains = "Paris", not_contains = ["sorry", "Lyon"], regex = "(?i)paris", min_characters = 5 }

[[checks]]
name = "sum"
slice = "arithmetic"
messages = [
    { role = "system", content = "Answer with a number." },
    { role = "user", content = [{ type = "text", text = "2 + 2?" }] },
]
expect = { exact = "4" }

[[checks]]
name = "city"
prompt = "A city as JSON."
expect = { json_schema = '{ "type": "object", "properties": { "name": { "minLength": 1e0 } } }' }

[[classes]]
name = "extraction"
input_tokens = { kind = "constant", value = 10 }
output_tokens = { kind = "constant", value = 50 }
[classes.answer]
kind = "json_schema"
in_slo = true
schema = { type = "object", required = ["n"], properties = { n = { type = "number", maximum = 1.5 } } }

[[classes]]
name = "agent"
input_tokens = { kind = "constant", value = 10 }
output_tokens = { kind = "constant", value = 50 }
[classes.answer]
kind = "tools"
choice = "weather"
tools = [{ name = "weather", description = "The weather of a city", parameters = { type = "object" } }]
"#;

#[test]
fn what_was_read_reads_back_equal() {
    let spec = WorkloadSpec::from_toml(FULL, "full").unwrap();
    let json = serde_json::to_string(&spec).unwrap();
    assert_eq!(serde_json::from_str::<WorkloadSpec>(&json).unwrap(), spec);
    assert_eq!(WorkloadSpec::from_toml(&toml::to_string(&spec).unwrap(), "toml").unwrap(), spec);
    assert_eq!((spec.checks.len(), spec.check_every_s), (3, Some(2.5)));
    assert_eq!((spec.checks[0].slice.as_deref(), spec.checks[1].slice.as_deref()), (None, Some("arithmetic")));
    assert_eq!((spec.checks[0].max_tokens, spec.checks[1].max_tokens), (8, 64));
    assert_eq!(spec.checks[1].messages.as_ref().unwrap()[1]["content"][0]["text"], "2 + 2?");
    assert!(spec.classes[0].answer.as_ref().unwrap().is_in_slo());
    let Some(AnswerShape::Tools { choice, .. }) = &spec.classes[1].answer else { panic!("{:?}", spec.classes[1]) };
    assert_eq!(choice, &ToolChoice::Named("weather".to_owned()));
    // A workload without them is stored as before.
    let least = serde_json::to_value(crate::workload::tests::least()).unwrap();
    assert!(least.get("checks").is_none() && least.get("check_every_s").is_none(), "{least}");
    assert!(least["classes"][0].get("answer").is_none(), "{least}");
}

#[test]
fn a_schema_may_stand_in_a_file_beside_the_workload() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("schemas")).unwrap();
    std::fs::write(folder.path().join("schemas/city.json"), r#"{ "type": "object", "required": ["name"] }"#).unwrap();
    std::fs::write(folder.path().join("schemas/bad.json"), r#"{ "type": "objekt" }"#).unwrap();
    std::fs::write(folder.path().join("schemas/broken.json"), "{ \"type\":\n").unwrap();
    let path = folder.path().join("w.toml");
    let load = |checked: &str, asked: &str| {
        let text = format!(
            "{LEAST}answer = {{ kind = \"json_schema\", schema = \"schemas/{asked}.json\" }}\n[[checks]]\nname = \
             \"city\"\nprompt = \"?\"\nexpect = {{ json_schema = \"schemas/{checked}.json\" }}\n"
        );
        std::fs::write(&path, text).unwrap();
        WorkloadSpec::load(path.to_str().unwrap())
    };
    let spec = load("city", "city").unwrap();
    assert_eq!(spec.checks[0].expect.unmet(r#"{"name": "Rome"}"#, true), None);
    assert!(spec.checks[0].expect.unmet("{}", true).unwrap().contains("missing properties 'name'"));
    // What is stored needs no file.
    assert_eq!(serde_json::from_value::<WorkloadSpec>(serde_json::to_value(&spec).unwrap()).unwrap(), spec);
    for (checked, asked, said) in [
        ("missing", "city", "line 12: `checks[0].expect.json_schema` is \"schemas/missing.json\", and the file "),
        ("city", "broken", "line 8: `classes[0].answer.schema` is \"schemas/broken.json\", and 1 mistake in "),
        ("bad", "city", "line 12: `checks[0].expect.json_schema` is not a JSON Schema: "),
    ] {
        let error = load(checked, asked).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn every_mistake_is_reported_with_its_line_and_its_cause() {
    let wrong = format!(
        r#"check_every_s = -1
{LEAST}answer = {{ kind = "json_schema", schema = {{ type = "objekt" }}, strict = "yes" }}

[[checks]]
name = "one"
prompt = "?"
expect = {{ regex = "(a" }}

[[checks]]
name = "one"
expect = {{ json_schema = "schema.json" }}

[[checks]]
name = "two"
prompt = "?"
messages = [{{ role = "user", content = "?" }}]
max_tokens = 0
expect = {{ contain = "a" }}

[[checks]]
name = "three"
prompt = "?"
expect = {{}}
"#
    );
    insta::assert_snapshot!(said_of(&wrong));
}

#[test]
fn every_mistake_in_the_form_of_an_answer_is_told() {
    let said = |answer: &str| said_of(&format!("{LEAST}answer = {answer}\n"));
    for (answer, says) in [
        (r#"{ kind = "yaml" }"#, "`classes[0].answer.kind` is \"yaml\"; it must be one of json, json_schema, tools"),
        (r#"{ kind = "json", schema = {} }"#, "`classes[0].answer.schema` is not a field of a json answer"),
        (r#"{ kind = "tools" }"#, "`classes[0].answer.tools` is missing"),
        (
            r#"{ kind = "tools", tools = [{ name = "a" }], choice = "zebra" }"#,
            "`classes[0].answer.choice` is \"zebra\"; it must be one of auto, required, a",
        ),
        (r#"{ kind = "tools", tools = [{ name = "auto" }] }"#, "another name than auto and required"),
        (
            r#"{ kind = "json_schema", schema = { "$ref" = "https://example.com/x.json" } }"#,
            "`classes[0].answer.schema` is not a JSON Schema: ",
        ),
        (r#"{ kind = "json_schema", schema = { const = 2026-11-21 } }"#, "a value of JSON"),
    ] {
        let error = said(answer);
        assert!(error.contains(says), "{error}");
    }
    let ids = said(
        r#"{ kind = "json" }
prompt = { kind = "random_tokens" }"#,
    );
    assert!(ids.contains("`classes[0].answer` cannot be requested with token ids"), "{ids}");
    let alone = said_of(&format!("check_every_s = 1\n{LEAST}"));
    assert!(alone.contains("`check_every_s` is given and there are no `checks`"), "{alone}");
}
