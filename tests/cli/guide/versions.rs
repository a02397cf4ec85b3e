//! What the chapters for programs promise: schemas that only grow, numbers and exit codes as they are said, and paths
//! that exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use skyline::guide::Topic;

use super::pages::root;
use crate::support::Desk;

/// What a schema says, a line each: the type of each path, each word that may stand there, and whether it always does.
fn promises(schema: &Value) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    walk(schema, schema, "", &mut Vec::new(), &mut all);
    all
}

fn walk<'a>(root: &'a Value, part: &'a Value, path: &str, above: &mut Vec<&'a str>, all: &mut BTreeSet<String>) {
    if let Some(name) = part["$ref"].as_str()
        && !above.contains(&name)
    {
        above.push(name);
        walk(root, root.pointer(name.trim_start_matches('#')).unwrap(), path, above, all);
        above.pop();
    }
    for choice in ["oneOf", "anyOf", "allOf"].iter().filter_map(|key| part[*key].as_array()).flatten() {
        walk(root, choice, path, above, all);
    }
    let words = part["enum"].as_array().into_iter().flatten().chain(part.get("const"));
    all.extend(words.map(|word| format!("{path} = {word}")));
    let types = part["type"].as_array().into_iter().flatten().chain(part.get("type").filter(|of| of.is_string()));
    all.extend(types.filter(|of| *of != "null").map(|of| format!("{path}: {of}")));
    let always = part["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    all.extend(always.map(|name| format!("{path}.{name} is there")));
    for (name, field) in part["properties"].as_object().into_iter().flatten() {
        walk(root, field, &format!("{path}.{name}"), above, all);
    }
    for (key, step) in [("items", "[]"), ("additionalProperties", "{}")] {
        if part[key].is_object() {
            walk(root, &part[key], &format!("{path}{step}"), above, all);
        }
    }
}

/// The schema that the program prints.
fn printed(desk: &Desk, name: &str) -> Value {
    let output = desk.skyline(&["report", "--json-schema", name]).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The schemas that were given away, by name and number.
fn kept() -> Vec<(String, u64, Value)> {
    let folder = root().join("tests/data/schemas");
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let read = |path: PathBuf| {
        let (name, number) = path.file_stem().unwrap().to_str().unwrap().rsplit_once('-').unwrap();
        let schema = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        (name.to_owned(), number.parse().unwrap(), schema)
    };
    paths.map(read).collect()
}

/// A field that goes, or changes its type, needs the next number of its schema. What is added since a schema was kept in
/// `tests/data/schemas` may be kept there too: copy it from `src/report/data/schema`.
#[test]
fn a_schema_only_grows_until_its_number_rises() {
    let desk = Desk::new();
    let mut held = 0;
    for (name, number, schema) in kept() {
        let now = printed(&desk, &name);
        if now["properties"]["schema"]["const"] != number {
            continue;
        }
        held += 1;
        let now = promises(&now);
        let gone: Vec<_> = promises(&schema).into_iter().filter(|promise| !now.contains(promise)).collect();
        assert!(gone.is_empty(), "{name} {number} had, and has no more: {gone:#?}");
    }
    assert!(held >= 9, "a schema of each kind is kept in tests/data/schemas: {held}");
}

#[test]
fn a_field_that_goes_is_found() {
    let schema: Value = serde_json::from_str(
        r##"{"required":["a"],"properties":{"a":{"$ref":"#/$defs/A"},"of":{"items":{"type":["number","null"]}}},
             "$defs":{"A":{"oneOf":[{"const":"x"},{"const":"y"}]}}}"##,
    )
    .unwrap();
    assert_eq!(
        promises(&schema).into_iter().collect::<Vec<_>>(),
        [".a = \"x\"", ".a = \"y\"", ".a is there", ".of[]: \"number\""]
    );
}

#[test]
fn the_chapter_on_versions_has_the_numbers_of_the_schemas() {
    let (desk, chapter) = (Desk::new(), Topic::find("versions").unwrap().text);
    let row = regex::Regex::new(r"(?m)^\| (`[a-z-]+`(?:, `[a-z-]+`)*) \| (\d+) \|$").unwrap();
    let mut named = BTreeSet::new();
    for found in row.captures_iter(chapter) {
        for name in found[1].split(", ").map(|name| name.trim_matches('`')) {
            assert_eq!(printed(&desk, name)["properties"]["schema"]["const"].to_string(), found[2], "{name}");
            named.insert(name.to_owned());
        }
    }
    let kept: BTreeSet<String> = kept().into_iter().map(|(name, ..)| name).collect();
    assert_eq!(named, kept);
    let logs = skyline::record::RunHeader::SCHEMA;
    assert!(chapter.contains(&format!("Logs are of schema {logs}. Logs of schemas 1 to {} are read", logs - 1)));
    let manifest: toml::Table = fs::read_to_string(root().join("Cargo.toml")).unwrap().parse().unwrap();
    let oldest = manifest["package"]["rust-version"].as_str().unwrap();
    assert!(chapter.contains(&format!("The oldest Rust that builds Skyline is {oldest};")), "{oldest}");
}

/// The exit codes are listed in README, the help and three chapters: the same ones.
#[test]
fn exit_codes_are_the_same_everywhere() {
    let row = regex::Regex::new(r"(?m)^\| (\d+) \| ").unwrap();
    let table = |text: &str| row.captures_iter(text).map(|found| found[1].to_owned()).collect::<Vec<_>>();
    let codes = ["0", "1", "2", "3", "130"];
    let section = |text: &'static str| text.split_once("xit codes").unwrap().1.split("\n## ").next().unwrap();
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    assert_eq!(table(readme.split_once("| exit code |").unwrap().1.split("\n\n").next().unwrap()), codes);
    for topic in ["objectives", "skill"] {
        let text = Topic::find(topic).unwrap().text;
        assert_eq!(table(text.split_once("| exit code |").unwrap().1.split("\n\n").next().unwrap()), codes, "{topic}");
    }
    let versions = section(Topic::find("versions").unwrap().text.split_once("\n## ").unwrap().1);
    assert!(codes.iter().all(|code| versions.contains(&format!("`{code}` "))), "{versions}");
    let help = Desk::new().skyline(&["--help"]).output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let (_, listed) = help.split_once("Exit codes:\n").unwrap();
    let listed: Vec<_> = listed.lines().map_while(|line| line.split_whitespace().next()).collect();
    assert_eq!(listed, codes);
}

/// The page for coding agents, as it is saved: front matter, then the chapter.
#[test]
fn the_page_for_agents_has_front_matter_and_paths_that_exist() {
    let desk = Desk::new();
    let page = String::from_utf8(desk.skyline(&["guide", "--skill"]).output().unwrap().stdout).unwrap();
    let (front, text) = page.strip_prefix("---\n").unwrap().split_once("\n---\n\n").unwrap();
    let keys: Vec<_> = front.lines().map(|line| line.split_once(": ").unwrap()).collect();
    assert_eq!(keys.iter().map(|(key, _)| *key).collect::<Vec<_>>(), ["name", "description"]);
    assert!(keys[1].1.len() <= 1024 && !keys[1].1.contains(": "), "YAML reads it as it stands: {}", keys[1].1);
    assert_eq!(text, Topic::find("skill").unwrap().text);

    let promised = promises(&printed(&desk, "summary"));
    let path = regex::Regex::new(r"`(\.[a-z0-9_\[\].]+)`").unwrap();
    let paths: BTreeSet<_> = path.captures_iter(text).map(|found| found[1].to_owned()).collect();
    assert!(paths.len() > 20, "{paths:?}");
    let percentile = regex::Regex::new(r"\.p[0-9_]+").unwrap();
    for path in paths {
        // The percentiles of a latency are named by the run.
        let exists = [path.clone(), percentile.replace(&path, "{}").into_owned()];
        let exists = |promise: &String| {
            exists.iter().any(|path| {
                promise
                    .strip_prefix(path.as_str())
                    .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
            })
        };
        assert!(promised.iter().any(exists), "summary.json has no {path}");
    }
    let words =
        regex::Regex::new(r"`(valid|overloaded|invalid|met|missed|undecided|too_few_samples|indicative)`").unwrap();
    for word in words.captures_iter(text).map(|found| found[1].to_owned()) {
        assert!(promised.iter().any(|promise| promise.ends_with(&format!(" = \"{word}\""))), "{word}");
    }
}
