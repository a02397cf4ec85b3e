//! The guide's page of what other tools have too.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use serde::Deserialize;

use super::pages::root;

const HEAD: &str = "# What Skyline has, and what others have of it

Each row of Skyline is run by a test, whose name stands in
`tests/data/peers.toml`. For another tool stands the option that does the same;
– where no option of its benchmark command does. `skyline translate` knows all
options of `vllm bench serve`, `sglang.bench_serving`, `guidellm run`,
`aiperf profile`, `genai-perf profile` and llmperf's `token_benchmark_ray.py`.
";

/// The file of what each tool has.
#[derive(Deserialize)]
struct Peers {
    tools: BTreeMap<String, String>,
    rows: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    group: String,
    what: String,
    skyline: String,
    test: String,
    #[serde(flatten)]
    others: BTreeMap<String, String>,
}

fn peers() -> Peers {
    toml::from_str(&fs::read_to_string(root().join("tests/data/peers.toml")).unwrap()).unwrap()
}

fn page(peers: &Peers) -> String {
    let mut page = HEAD.to_owned();
    let mut group = "";
    for row in &peers.rows {
        if row.group != group {
            group = &row.group;
            let tools: Vec<_> = peers.tools.values().map(String::as_str).collect();
            let line = "|---".repeat(tools.len() + 2);
            let _ = write!(page, "\n## {group}\n\n| | Skyline | {} |\n{line}|\n", tools.join(" | "));
        }
        let cell = |tool: &String| row.others.get(tool).map_or("–".to_owned(), |option| format!("`{option}`"));
        let others: Vec<_> = peers.tools.keys().map(cell).collect();
        let _ = writeln!(page, "| {} | {} | {} |", row.what, row.skyline, others.join(" | "));
    }
    page
}

/// All sources below a folder.
fn sources(folder: &str) -> String {
    let mut text = String::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                folders.push(entry);
            } else if entry.extension().is_some_and(|end| end == "rs") {
                text += &fs::read_to_string(entry).unwrap();
            }
        }
    }
    text
}

#[test]
fn no_row_is_claimed_that_no_test_runs() {
    let (peers, tests) = (peers(), sources("src") + &sources("tests"));
    let tables = root().join("src/foreign/commands/tables");
    let tables: BTreeMap<String, String> = fs::read_dir(tables)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_stem().unwrap().to_string_lossy().into_owned(), fs::read_to_string(path).unwrap()))
        .collect();
    let help = fs::read_to_string(root().join("tests/cli/snapshots/cli__help__bench.snap")).unwrap();
    for Row { what, skyline, test, others, .. } in &peers.rows {
        assert!(tests.contains(&format!("fn {test}(")), "{what}: there is no test {test}");
        let is_option = help.split_whitespace().any(|word| word == skyline);
        assert!(!skyline.starts_with("--") || is_option, "{what}: {skyline} is no option");
        for (tool, option) in others {
            let name = &peers.tools[tool];
            let known = tables.iter().find(|(table, _)| table.starts_with(tool.as_str()));
            let (_, table) = known.unwrap_or_else(|| panic!("there is no table of {name}"));
            // A command of its own is no option.
            if !option.starts_with("--") {
                continue;
            }
            let mut names = table.split(|sign: char| !(sign.is_alphanumeric() || "-_.".contains(sign)));
            assert!(names.any(|known| known == option), "{what}: {name} has no {option}");
            assert!(known.unwrap().0.ends_with(name.split_whitespace().last().unwrap()), "{name}: another version");
        }
    }
}

#[test]
fn the_guide_shows_the_table_of_peers() {
    let path = root().join("src/guide/generated/peers.md");
    let page = page(&peers());
    if std::env::var("INSTA_UPDATE").is_ok_and(|how| how == "always") {
        fs::write(&path, &page).unwrap();
    }
    assert_eq!(fs::read_to_string(path).unwrap(), page, "INSTA_UPDATE=always writes it");
}
