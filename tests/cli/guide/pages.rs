//! The pages themselves: README's length, links, topics, and workloads in TOML.

use std::fs;
use std::path::{Path, PathBuf};

use predicates::str::contains;
use skyline::guide::{TOPICS, Topic};

use crate::support::Desk;

pub(super) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// README and the chapters, each with its path.
pub(super) fn pages() -> Vec<(PathBuf, String)> {
    let chapters = TOPICS.iter().map(|topic| root().join(topic.path));
    let paths = std::iter::once(root().join("README.md")).chain(chapters);
    paths.map(|path| (path.clone(), fs::read_to_string(path).unwrap())).collect()
}

/// The blocks of code of this kind in a page.
pub(super) fn blocks(page: &str, kind: &str) -> Vec<String> {
    let block = regex::Regex::new(&format!("(?s)```{kind}\n(.*?)```")).unwrap();
    block.captures_iter(page).map(|found| found[1].to_owned()).collect()
}

#[test]
fn readme_is_short() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    assert!(readme.lines().count() <= 300, "{} lines", readme.lines().count());
    assert!(readme.len() <= 25_000, "{} bytes", readme.len());
    let pictures = readme.matches("```text").count() + readme.matches("![").count();
    assert_eq!(pictures, 1, "the pitch has one picture");
    for topic in TOPICS {
        let link = format!("[{}]({})", topic.name, topic.path);
        assert!(readme.contains(&link), "README has no link {link}");
    }
}

#[test]
fn readme_and_the_guide_translate_options_alike() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let chapter = Topic::find("other-tools").unwrap().text;
    let rows: Vec<_> = readme.lines().filter(|line| line.matches('|').count() == 7).collect();
    assert!(rows.len() > 10, "{rows:?}");
    for row in rows {
        assert!(chapter.contains(row), "src/guide/other-tools.md lacks {row}");
    }
}

#[test]
fn links_lead_somewhere() {
    let link = regex::Regex::new(r"\]\(([^)#]+)").unwrap();
    for (path, text) in pages() {
        let is_readme = path.ends_with("README.md");
        for found in link.captures_iter(&text).map(|found| found[1].to_owned()) {
            // Chapters are read in a terminal and in the docs of the crate too, where files are elsewhere.
            let exists = is_readme && path.parent().unwrap().join(&found).exists();
            assert!(found.starts_with("https://") || exists, "{}: {found}", path.display());
        }
    }
}

/// `skyline guide WORD`, and the words behind it in a line of "More:", in all pages and in the program itself.
#[test]
fn every_topic_that_is_named_exists() {
    let named = regex::Regex::new(r"skyline\s+guide\s+([a-z][a-z-]+)").unwrap();
    let more = regex::Regex::new(r"(?s)More: (.*?)\.\n").unwrap();
    let also = regex::Regex::new(r"`(?:skyline\s+guide\s+)?([a-z-]+)`").unwrap();
    let mut texts = pages();
    let mut folders = vec![root().join("src"), root().join("workloads"), root().join("tests/cli/snapshots")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                folders.push(entry);
            } else if entry.extension().is_some_and(|end| ["rs", "toml", "snap"].iter().any(|known| end == *known)) {
                texts.push((entry.clone(), fs::read_to_string(entry).unwrap()));
            }
        }
    }
    for (path, text) in texts {
        let mut words: Vec<String> = named.captures_iter(&text).map(|found| found[1].to_owned()).collect();
        if path.extension().is_some_and(|extension| extension == "md") {
            words
                .extend(more.captures_iter(&text).flat_map(|line| {
                    also.captures_iter(&line[1]).map(|found| found[1].to_owned()).collect::<Vec<_>>()
                }));
        }
        // The next line of a list of commands.
        words.retain(|word| word != "skyline");
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
        .stdout(contains("Arrivals, and bursts  →  skyline guide workloads\n    `bursts` · "));
    desk.skyline(&["guide", "objectivs"]).assert().code(2).stderr(contains("did you mean `objectives`?"));
    desk.skyline(&["guide", "--search", "qwertz"]).assert().code(2).stderr(contains("fewer or shorter words"));
}

#[test]
fn every_help_leads_to_the_guide() {
    let desk = Desk::new();
    desk.skyline(&["--help"]).assert().success().stdout(contains("More: skyline guide"));
    for (verb, topic) in [
        (&["sweep", "--help"][..], "sweep"),
        (&["merge", "--help"], "shards"),
        (&["workloads", "fit", "--help"], "traces"),
        (&["trace", "from", "--help"], "traces"),
        (&["bench", "-h"], "first-run"),
    ] {
        let help = desk.skyline(verb).assert().success();
        let help = String::from_utf8_lossy(&help.get_output().stdout).to_lowercase();
        assert!(help.trim_end().ends_with(&format!("more: skyline guide {topic}")), "{verb:?}: {help}");
    }
}

/// A block of TOML is a workload or a part of one, unless it belongs to a table of experiments, a trace, an endpoint or
/// `skyline.toml`.
#[test]
fn workloads_in_the_pages_are_understood() {
    let others = ["rows", "hypotheses", "server", "trace", "bench", "body"];
    let mut tried = 0;
    for (path, text) in pages() {
        for block in blocks(&text, "toml") {
            let part: toml::Table = block.parse().unwrap();
            if others.iter().any(|key| part.contains_key(*key)) {
                continue;
            }
            tried += 1;
            let whole = toml::to_string(&completed(part)).unwrap();
            let read = skyline::workload::WorkloadSpec::from_toml(&whole, "a page");
            assert!(read.is_ok(), "{}:\n{block}\n{}", path.display(), read.unwrap_err());
        }
    }
    assert!(tried >= 9, "{tried}");
}

/// A part of a workload with what a whole one has besides.
fn completed(mut part: toml::Table) -> toml::Table {
    const REST: &str = r#"
        name = "batch"
        horizon_s = 9
        arrival = { kind = "poisson", rate_per_s = 1 }
        input_tokens = 8
        output_tokens = 8
        prompt = { kind = "templates", templates = ["Hello."] }
    "#;
    let rest: toml::Table = REST.parse().unwrap();
    let fill = |table: &mut toml::Table, keys: &[&str]| {
        for key in keys {
            table.entry(*key).or_insert_with(|| rest[*key].clone());
        }
    };
    fill(&mut part, &["name", "horizon_s"]);
    let classes = part.entry("classes").or_insert_with(|| vec![toml::Table::new()].into());
    let mut has_arrival = false;
    for class in classes.as_array_mut().unwrap() {
        let class = class.as_table_mut().unwrap();
        fill(class, &["name", "input_tokens", "output_tokens", "prompt"]);
        if class["prompt"]["kind"].as_str() == Some("dataset") {
            class.remove("input_tokens");
        }
        // The schema is a file of the reader's.
        if let Some(schema) = class.get_mut("answer").and_then(|answer| answer.get_mut("schema")) {
            *schema = toml::Table::new().into();
        }
        has_arrival |= class.contains_key("arrival");
    }
    if !has_arrival {
        fill(&mut part, &["arrival"]);
    }
    part
}

#[test]
fn tables_and_settings_in_the_pages_are_understood() {
    let desk = Desk::new();
    let block = |topic: &str, key: &str| {
        let mut blocks = blocks(Topic::find(topic).unwrap().text, "toml").into_iter();
        blocks.find(|block| block.contains(key)).unwrap()
    };
    desk.file("table.toml", &[block("matrix", "[[rows]]"), block("matrix", "[server]")].concat());
    desk.skyline(&["matrix", "table.toml", "--plan"]).assert().success();
    desk.file("skyline.toml", &block("terminal", "[sweep]"));
    desk.skyline(&["bench", "short_chat", "--dry-run"]).assert().success().stderr(contains("skyline.toml"));
}
