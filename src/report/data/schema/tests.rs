//! The schemas are those of the types that are written, and what is written keeps them.

use std::path::Path;

use jsonschema::Validator;
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};

use super::JSON_SCHEMAS;
use crate::analysis::test_runs::{record, run};
use crate::analysis::{Objective, Summary, summarise};
use crate::experiment::capacity::CapacityPlan;
use crate::experiment::compare::{Compared, ComparedSweeps};
use crate::experiment::matrix::Matrix;
use crate::experiment::tune::Tune;
use crate::experiment::{AbTest, Diagnosis, Repeats, Sweep};
use crate::record::{Failure, FailureKind, RunLog};
use crate::report::data::json::Whole;
use crate::report::json_with;

/// Closes an object to fields that are not described.
fn close(schema: &mut Schema) {
    let Some(object) = schema.as_object_mut() else { return };
    if object.contains_key("properties") && !object.contains_key("additionalProperties") {
        let with_more = ["$ref", "oneOf", "anyOf", "allOf"].iter().any(|key| object.contains_key(*key));
        let closed = if with_more { "unevaluatedProperties" } else { "additionalProperties" };
        object.insert(closed.to_owned(), false.into());
    }
}

/// Opens the kinds of an object that has fields of its own beside theirs. The object closes them all together.
fn open_kinds(schema: &mut Schema) {
    let Some(object) = schema.as_object_mut() else { return };
    if !object.contains_key("properties") {
        return;
    }
    for kind in object.get_mut("oneOf").and_then(Value::as_array_mut).into_iter().flatten() {
        kind.as_object_mut().map(|kind| kind.remove("additionalProperties"));
    }
}

/// Descriptions do not depend on where a comment is wrapped.
fn unwrap_description(schema: &mut Schema) {
    let Some(Value::String(text)) = schema.get_mut("description") else { return };
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        match lines.last_mut().filter(|last| !last.is_empty() && !line.is_empty() && !line.starts_with("- ")) {
            Some(last) => *last = format!("{last} {}", line.trim_start()),
            None => lines.push(line.to_owned()),
        }
    }
    *text = lines.join("\n");
}

/// The schema with this name.
fn schema(name: &str) -> &'static str {
    JSON_SCHEMAS.iter().find(|(known, _)| *known == name).unwrap().1
}

/// The schema of `T`, stored as `name` in this format.
fn generated<T: JsonSchema>(name: &str, format: u32) -> String {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema = generator.into_root_schema_for::<T>();
    RecursiveTransform(close).transform(&mut schema);
    RecursiveTransform(open_kinds).transform(&mut schema);
    RecursiveTransform(unwrap_description).transform(&mut schema);
    let object = schema.ensure_object();
    object.insert("title".to_owned(), json!(format!("{name}.json of skyline, schema {format}")));
    if let Some(number) = object.get_mut("properties").and_then(|fields| fields.get_mut("schema")) {
        number["const"] = json!(format);
    }
    let mut text = serde_json::to_string_pretty(&schema).unwrap();
    text.push('\n');
    text
}

/// Holds a schema file against its types, and names it where it differs. It is written anew where snapshots are.
fn hold<T: JsonSchema>(name: &str, format: u32) -> Option<String> {
    let generated = generated::<T>(name, format);
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/report/data/schema");
        std::fs::write(folder.join(format!("{name}-{format}.json")), &generated).unwrap();
    }
    (schema(name) != generated).then(|| format!("{name}-{format}.json"))
}

#[test]
fn schemas_are_those_of_the_types() {
    let differ: Vec<_> = [
        hold::<Whole<'_>>("summary", Summary::SCHEMA),
        hold::<Repeats>("repeats", Repeats::SCHEMA),
        hold::<Sweep>("sweep", Sweep::SCHEMA),
        hold::<AbTest>("ab", AbTest::SCHEMA),
        hold::<Matrix>("matrix", Matrix::SCHEMA),
        hold::<Tune>("tune", Tune::SCHEMA),
        hold::<Compared>("compare", Compared::SCHEMA),
        hold::<ComparedSweeps>("compare-sweeps", ComparedSweeps::SCHEMA),
        hold::<CapacityPlan>("capacity", CapacityPlan::SCHEMA),
    ]
    .into_iter()
    .flatten()
    .collect();
    assert!(differ.is_empty(), "{differ:?} are not of the types; write them with INSTA_UPDATE=always");
}

/// Every schema is of draft 2020-12, with nothing beside it. It says what its fields are.
#[test]
fn schemas_are_schemas() {
    for (name, text) in JSON_SCHEMAS {
        let schema: Value = serde_json::from_str(text).unwrap();
        assert!(jsonschema::draft202012::meta::is_valid(&schema), "{name}");
        let version = &schema["properties"]["schema"];
        let number = match name {
            "summary" => 4,
            "compare" | "compare-sweeps" => 3,
            "tune" => 1,
            _ => 2,
        };
        assert_eq!(version["const"], number, "{name}");
        assert!(schema["description"].is_string(), "{name}");
    }
}

/// A field that the schema does not have is a mistake, whichever schema it is.
#[test]
fn schemas_are_closed() {
    for (name, text) in JSON_SCHEMAS {
        let schema: Value = serde_json::from_str(text).unwrap();
        let closed = ["additionalProperties", "unevaluatedProperties"];
        assert!(closed.iter().any(|key| schema[*key] == false), "{name}");
    }
}

fn validator() -> Validator {
    jsonschema::validator_for(&serde_json::from_str(schema("summary")).unwrap()).unwrap()
}

fn report(log: &RunLog, objectives: &[&str]) -> Value {
    let objectives: Vec<Objective> = objectives.iter().map(|text| text.parse().unwrap()).collect();
    let summary = summarise(log, &objectives);
    let diagnosis = Diagnosis::of_run(log, &summary);
    serde_json::from_str(&json_with(&summary, Some(&diagnosis)).unwrap()).unwrap()
}

fn check(validator: &Validator, name: &str, report: &Value) {
    let errors: Vec<_> =
        validator.iter_errors(report).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{name}:\n{}", errors.join("\n"));
}

#[test]
fn summaries_of_stored_runs_keep_the_schema() {
    let validator = validator();
    let runs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/runs");
    for run in std::fs::read_dir(runs).unwrap() {
        let path = run.unwrap().path();
        let log = RunLog::read(&path).unwrap();
        check(&validator, &path.display().to_string(), &report(&log, &["p95 ttft < 500ms", "goodput > 1/s"]));
    }
}

#[test]
fn summaries_of_nothing_of_failures_and_of_what_was_cut_off_keep_it() {
    let validator = validator();
    check(&validator, "nothing", &report(&run(0, Vec::new()), &["p50 ttft < 1s"]));
    let failure = || Failure::new(FailureKind::HttpStatus(503), "busy \u{1b}[2J");
    let failed = (0..200).map(|i| record(i).sent_at(i, i, i).failed(900, failure()).build()).collect();
    check(&validator, "failures", &report(&run(1_000, failed), &["error_rate < 1%", "p99.9 itl < 10ms"]));
    let cut_off = (0..200).map(|i| record(i).sent_at(i, i, i).asked(9).censored(5_000).build()).collect();
    check(&validator, "cut off", &report(&run(1_000, cut_off), &["p50 e2e < 1s"]));
    let paced = |i: u64| record(i).sent_at(10 * i, 10 * i, 10 * i + 1).paced(10 * i + 100, 10, 11);
    let mut short = run(10_000, (0..1_000).map(|i| paced(i).usage(100, 11).build()).collect());
    short.footer = None;
    check(&validator, "without a footer", &report(&short, &[]));
    short.header.percentiles = vec![99.5, 75.0];
    let asked = report(&short, &[]);
    check(&validator, "percentiles that were asked for", &asked);
    assert_eq!(asked["latency"]["ttft"]["p75"]["value_ms"], json!(100.0));
    assert_eq!(asked["latency"]["ttft"]["p99_5"]["mark"], json!("too_few_samples"));
}

#[test]
fn a_field_without_a_schema_is_found() {
    let mut report = report(&run(0, Vec::new()), &[]);
    let validator = validator();
    assert!(validator.is_valid(&report));
    report["rates"]["new_figure_per_s"] = json!(1.0);
    assert!(!validator.is_valid(&report));
    report["rates"].as_object_mut().unwrap().remove("new_figure_per_s");
    report["schema"] = json!(2);
    assert!(!validator.is_valid(&report), "another schema is another format");
}
