//! Holds the architecture: a room uses only rooms on lower floors.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should panic")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const FLOORS: [&[&str]; 10] = [
    &["clock", "units", "random"],
    &["workload"],
    &["record", "arrivals"],
    &["generator", "analysis", "simulator"],
    &["engine", "foreign"],
    &["runner", "mock", "telemetry"],
    &["experiment", "calibration"],
    &["report", "live"],
    &["session"],
    &["cli"],
];

/// Rooms that may be async.
const ASYNC: [&str; 7] = ["engine", "runner", "mock", "telemetry", "live", "session", "cli"];

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

fn room_of(path: &Path) -> String {
    let first = path.components().next().unwrap().as_os_str().to_str().unwrap();
    first.trim_end_matches(".rs").to_owned()
}

/// The rooms that a source names by `crate::room`, also in `use crate::{a, b::c}`.
fn rooms_named(text: &str) -> Vec<String> {
    let code: String =
        text.lines().map(|line| line.split("//").next().unwrap_or("")).collect::<Vec<_>>().join("\n");
    let word = |rest: &str| rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let mut rooms = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        if let Some(group) = rest.strip_prefix('{') {
            let mut depth = 0;
            let mut start = true;
            for (i, c) in group.char_indices() {
                match c {
                    '{' => depth += 1,
                    '}' if depth == 0 => break,
                    '}' => depth -= 1,
                    ',' if depth == 0 => start = true,
                    c if start && c.is_alphabetic() => {
                        rooms.push(word(&group[i..]));
                        start = false;
                    }
                    _ => {}
                }
            }
        } else {
            rooms.push(word(rest));
        }
    }
    rooms
}

#[test]
fn rooms_use_only_lower_floors() {
    let floor: BTreeMap<&str, usize> = FLOORS
        .iter()
        .enumerate()
        .flat_map(|(level, rooms)| rooms.iter().map(move |room| (*room, level)))
        .collect();
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    for path in sources(&src) {
        let inside = path.strip_prefix(&src).unwrap();
        let room = room_of(inside);
        if room == "lib" || room == "main" {
            continue;
        }
        let level = floor.get(room.as_str()).unwrap_or_else(|| panic!("`{room}` stands on no floor"));
        for used in rooms_named(&fs::read_to_string(&path).unwrap()) {
            match floor.get(used.as_str()) {
                Some(other) if used == room || other < level => {}
                Some(_) => wrong.push(format!("{}: `{room}` must not use `{used}`", inside.display())),
                None => wrong.push(format!("{}: `{used}` stands on no floor", inside.display())),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn only_rooms_with_a_clock_are_async() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for path in sources(&src) {
        let inside = path.strip_prefix(&src).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap_or("");
        let is_async = code.lines().any(|line| {
            let line = line.split("//").next().unwrap_or("");
            line.contains("async fn") || line.contains(".await") || line.contains("impl Future")
        });
        let room = room_of(inside);
        assert!(
            !is_async || ASYNC.contains(&room.as_str()),
            "{}: `{room}` must not be async",
            inside.display()
        );
    }
}

#[test]
fn the_reader_of_imports_reads_groups() {
    let text = "use crate::{clock::RunClock, record};\nlet x = crate::units::count(1); // crate::cli";
    assert_eq!(rooms_named(text), ["clock", "record", "units"]);
}

#[test]
fn every_file_opens_with_its_duty() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for path in sources(&src) {
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("//! "), "{} does not open with a `//!` sentence", path.display());
    }
}
