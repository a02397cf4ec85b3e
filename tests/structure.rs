//! Holds the architecture: floors, circles, imports, sizes of folders and files, and how much of it all there is.
//!
//! `cargo test --test structure -- --nocapture` prints the figures.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should panic")]
#![allow(clippy::print_stderr, reason = "figures are to be read")]

#[path = "structure/ceiling.rs"]
mod ceiling;
#[path = "structure/graph.rs"]
mod graph;
#[path = "structure/source.rs"]
mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;

use graph::{Graph, circles, shortest};

/// A room uses only rooms on lower floors.
const FLOORS: [&[&str]; 10] = [
    &["clock", "units", "random", "guide"],
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

/// Words with which a doc's first sentence would not stand alone.
const OF_NOTHING: [&str; 15] = [
    "It", "They", "That", "Those", "These", "This", "Of", "What", "Which", "Who", "Whose", "The same", "So", "As",
    "And",
];

static SOURCES: LazyLock<Graph> = LazyLock::new(|| Graph::read(&root().join("src")));

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Prints a figure; fails where it is above its ceiling, with what it counts.
fn hold(name: &str, figure: usize, ceiling: usize, seen: &[String]) {
    eprintln!("{name}: {figure} (ceiling {ceiling})");
    assert!(figure <= ceiling, "{name}: {figure}, ceiling {ceiling}\n{}", seen.join("\n"));
}

#[test]
fn rooms_use_only_lower_floors() {
    let floor: BTreeMap<&str, usize> =
        FLOORS.iter().enumerate().flat_map(|(level, rooms)| rooms.iter().map(move |room| (*room, level))).collect();
    let mut wrong = Vec::new();
    for file in SOURCES.files.iter().filter(|file| !matches!(file.room(), "" | "main")) {
        let room = file.room();
        let level = floor.get(room).unwrap_or_else(|| panic!("`{room}` stands on no floor"));
        for path in file.paths.iter().filter(|path| path.segments[0] == "crate" && path.segments.len() > 1) {
            let used = path.segments[1].as_str();
            let place = format!("{}:{}", file.path.display(), path.line);
            match floor.get(used) {
                Some(other) if used == room || other < level => {}
                Some(_) => wrong.push(format!("{place}: `{room}` must not use `{used}`")),
                None => wrong.push(format!("{place}: `{used}` stands on no floor")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn only_rooms_with_a_clock_are_async() {
    for file in &SOURCES.files {
        let code: Vec<&str> = file.tokens.iter().filter(|token| !token.test).map(|token| token.text.as_str()).collect();
        let is_async = code.windows(2).any(|two| matches!(two, ["async", "fn"] | [".", "await"] | ["impl", "Future"]));
        assert!(
            !is_async || file.test || ASYNC.contains(&file.room()),
            "{}: `{}` must not be async",
            file.path.display(),
            file.room()
        );
    }
}

#[test]
fn one_file_has_unsafe_code() {
    let is_unsafe = |file: &&graph::File| file.tokens.iter().any(|token| token.text == "unsafe");
    let files: Vec<_> = SOURCES.files.iter().filter(is_unsafe).map(|file| file.path.display().to_string()).collect();
    assert_eq!(files, ["clock/synchronised.rs"]);
}

#[test]
fn files_do_not_need_each_other_in_circles() {
    let edges = SOURCES.edges();
    let found = circles(&edges);
    let seen: Vec<String> = found
        .iter()
        .map(|together| {
            let circle: Vec<String> =
                shortest(&edges, together).iter().map(|&file| SOURCES.files[file].path.display().to_string()).collect();
            format!("{} files, among them {}", together.len(), circle.join(" → "))
        })
        .collect();
    eprintln!("circles: {}\n{}", found.len(), seen.join("\n"));
    hold("files in circles", found.iter().map(Vec::len).sum(), ceiling::FILES_IN_CIRCLES, &seen);
}

#[test]
fn folders_of_a_room_import_one_another_in_one_direction() {
    let folder = |file: usize| {
        let path = SOURCES.files[file].path.with_file_name("");
        let mut parts = path.iter().map(|part| part.to_str().unwrap());
        Some((parts.next()?.to_owned(), parts.next()?.to_owned()))
    };
    let folders: Vec<_> = (0..SOURCES.files.len()).filter_map(folder).collect::<BTreeSet<_>>().into_iter().collect();
    let number = |file| folder(file).and_then(|found| folders.binary_search(&found).ok());
    let mut edges = vec![BTreeSet::new(); folders.len()];
    for (from, used) in SOURCES.edges().iter().enumerate() {
        let Some(from) = number(from) else { continue };
        let others = used.iter().filter_map(|&file| number(file)).filter(|&to| to != from);
        edges[from].extend(others.filter(|&to| folders[to].0 == folders[from].0));
    }
    let found = circles(&edges);
    let seen: Vec<String> = found
        .iter()
        .map(|together| {
            let names: Vec<&str> = together.iter().map(|&folder| folders[folder].1.as_str()).collect();
            format!("{}: {}", folders[*together.first().unwrap()].0, names.join(", "))
        })
        .collect();
    eprintln!("circles of folders: {}\n{}", found.len(), seen.join("\n"));
    hold("folders in circles", found.iter().map(Vec::len).sum(), ceiling::FOLDERS_IN_CIRCLES, &seen);
}

#[test]
fn siblings_import_each_other_directly() {
    let mut seen = Vec::new();
    for (number, file) in SOURCES.production() {
        for path in file.paths.iter().filter(|path| !path.test) {
            let Some(found) = SOURCES.resolve(number, path) else { continue };
            let own =
                found.through.iter().map(|&through| &SOURCES.files[through]).find(|through| {
                    through.module.len() < file.module.len() && file.module.starts_with(&through.module)
                });
            if let Some(own) = own {
                let (place, index) = (file.path.display(), own.path.display());
                seen.push(format!("{place}:{}: {} by {index}", path.line, path.segments.join("::")));
            }
        }
    }
    hold("imports through a file's own index", seen.len(), ceiling::OWN_INDEX, &seen);
}

#[test]
fn folders_are_small() {
    let (mut seen, mut alone) = (Vec::new(), Vec::new());
    let mut folders = vec![root().join("src"), root().join("tests")];
    while let Some(folder) = folders.pop() {
        let entries: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        let inside = folder.strip_prefix(root()).unwrap().display().to_string();
        if inside.starts_with("src/") && matches!(entries.as_slice(), [one] if one.ends_with("tests.rs")) {
            alone.push(inside.clone());
        }
        if entries.len() > ceiling::ENTRIES && inside != "src" {
            seen.push(format!("{inside}: {} entries", entries.len()));
        }
        let aside = ["snapshots", "transcripts", "data", "corpus"];
        folders.extend(
            entries
                .into_iter()
                .filter(|path| path.is_dir() && !aside.contains(&path.file_name().unwrap().to_str().unwrap())),
        );
    }
    seen.sort();
    hold(&format!("folders of more than {} entries", ceiling::ENTRIES), seen.len(), ceiling::WIDE_FOLDERS, &seen);
    alone.sort();
    hold("folders with nothing but a `tests.rs`", alone.len(), ceiling::FOLDERS_OF_TESTS, &alone);
}

#[test]
fn files_are_short_and_open_with_their_duty() {
    let mut lengths: Vec<(usize, String)> = Vec::new();
    for file in &SOURCES.files {
        assert!(file.text.starts_with("//! "), "{} does not open with a `//!` sentence", file.path.display());
        lengths.push((file.text.lines().count(), file.path.display().to_string()));
    }
    lengths.sort_by(|a, b| b.cmp(a));
    let total: usize = lengths.iter().map(|(lines, _)| lines).sum();
    eprintln!("files: {}, {} lines each on average", lengths.len(), total / lengths.len());
    let long: Vec<String> = lengths
        .iter()
        .filter(|(lines, _)| *lines > ceiling::LINES)
        .map(|(lines, path)| format!("{path}: {lines} lines"))
        .collect();
    hold(&format!("files of more than {} lines", ceiling::LINES), long.len(), ceiling::LONG_FILES, &long);
    let own: Vec<String> = SOURCES
        .production()
        .map(|(_, file)| (source::last_production_line(&file.tokens), file))
        .filter(|(lines, _)| *lines > ceiling::PRODUCTION_FILE)
        .map(|(lines, file)| format!("{}: {lines} lines without its tests", file.path.display()))
        .collect();
    hold(
        &format!("production files of more than {} lines", ceiling::PRODUCTION_FILE),
        own.len(),
        ceiling::LONG_PRODUCTION_FILES,
        &own,
    );
}

#[test]
fn a_verb_is_a_short_file() {
    let tables = ["cli/mod.rs", "cli/stored/mod.rs", "cli/variants/mod.rs"].map(Path::new);
    let rooms = ["cli", "cli/stored", "cli/variants"].map(Path::new);
    let long: Vec<String> = SOURCES
        .production()
        .filter(|(_, file)| rooms.contains(&file.path.parent().unwrap()) && !tables.contains(&&*file.path))
        .map(|(_, file)| (source::production_lines(&file.text, &file.tokens), file.path.display().to_string()))
        .filter(|(lines, path)| {
            let known = ceiling::LONG_VERBS.iter().find(|(name, _)| name == path);
            *lines > known.map_or(ceiling::VERB, |(_, most)| *most)
        })
        .map(|(lines, path)| format!("{path}: {lines} production lines"))
        .collect();
    hold(&format!("verbs of more than {} production lines, or than before", ceiling::VERB), long.len(), 0, &long);
}

#[test]
fn lines_are_narrow_and_functions_have_names_to_search_for() {
    let (mut wide, mut named) = (Vec::new(), Vec::new());
    for file in &SOURCES.files {
        for (number, line) in file.text.lines().enumerate() {
            let place = format!("{}:{}", file.path.display(), number + 1);
            if line.chars().count() > ceiling::WIDTH {
                wide.push(place.clone());
            }
            if line.contains("fn of(") || line.contains("fn of<") {
                named.push(place);
            }
        }
    }
    let name = format!("lines of more than {} characters", ceiling::WIDTH);
    hold(&name, wide.len(), ceiling::WIDE_LINES, &wide);
    hold("functions named `of`", named.len(), ceiling::NAMED_OF, &named);
}

#[test]
fn first_sentences_of_docs_are_short_and_name_their_subject() {
    let (mut fragments, mut long) = (Vec::new(), Vec::new());
    for file in &SOURCES.files {
        let mut before = "";
        for (number, line) in file.text.lines().map(str::trim).enumerate() {
            let first = line.strip_prefix("///").filter(|_| !before.starts_with("///")).map(str::trim);
            let begins =
                |word: &str| first.and_then(|text| text.strip_prefix(word)).is_some_and(|rest| rest.starts_with(' '));
            if OF_NOTHING.into_iter().any(begins) {
                fragments.push(format!("{}:{}", file.path.display(), number + 1));
            }
            let docs = file.text.lines().skip(number).map_while(|line| line.trim().strip_prefix("///"));
            let docs = docs.take_while(|line| !line.trim().is_empty()).flat_map(str::split_whitespace);
            let words: Vec<&str> = docs.collect();
            let end = words.iter().position(|word| word.ends_with(['.', '!', '?'])).map_or(words.len(), |end| end + 1);
            if first.is_some() && end > ceiling::DOC_WORDS {
                long.push(format!("{}:{}", file.path.display(), number + 1));
            }
            before = line;
        }
    }
    let name = format!("docs whose first sentence has more than {} words", ceiling::DOC_WORDS);
    hold(&name, long.len(), ceiling::LONG_DOCS, &long);
    hold("docs that begin without their subject", fragments.len(), ceiling::FRAGMENTS, &fragments);
}

#[test]
fn there_is_no_more_code_than_its_room_has_a_budget_for() {
    let mut rooms: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, file) in SOURCES.production() {
        *rooms.entry(file.room()).or_default() += source::production_lines(&file.text, &file.tokens);
    }
    let budgets: BTreeMap<&str, usize> = ceiling::BUDGETS.into_iter().collect();
    let budget = |room: &str| *budgets.get(room).unwrap_or_else(|| panic!("`{room}` has no budget"));
    let line = |(room, lines): (&&str, &usize)| {
        let budget = budget(room);
        format!("{lines:7} of {budget:6}, {:4} left: {room}", budget.saturating_sub(*lines))
    };
    let by_room: Vec<String> = rooms.iter().map(line).collect();
    eprintln!("production files: {}\n{}", SOURCES.production().count(), by_room.join("\n"));
    let over: Vec<String> = rooms.iter().filter(|(room, lines)| **lines > budget(room)).map(line).collect();
    assert!(over.is_empty(), "over their budgets: {over:?}");
    hold("production lines", rooms.values().sum(), budgets.values().sum(), &by_room);
}

#[test]
fn a_name_of_a_public_type_stands_for_one_thing() {
    let mut places: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let (mut public, mut restricted) = (0, 0);
    for (_, file) in SOURCES.production() {
        let (open, inner) = source::public_types(&file.tokens);
        public += open.len();
        restricted += inner.len();
        for name in open.into_iter().chain(inner) {
            places.entry(name).or_default().insert(file.path.display().to_string());
        }
    }
    let shared: Vec<String> = places
        .into_iter()
        .filter(|(_, files)| files.len() > 1)
        .map(|(name, files)| format!("{name}: {}", files.into_iter().collect::<Vec<_>>().join(", ")))
        .collect();
    hold("public types", public, ceiling::PUBLIC_TYPES, &[]);
    hold("types that are pub(…)", restricted, ceiling::RESTRICTED_TYPES, &[]);
    hold("names that public types share", shared.len(), ceiling::SHARED_NAMES, &shared);
}

#[test]
fn files_that_the_design_names_exist() {
    let text = std::fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let named = text.split('`').filter(|word| word.contains('/') && word.strip_suffix(".rs").is_some());
    let missing: Vec<&str> =
        named.filter(|path| ![root().join("src").join(path), root().join(path)].iter().any(|at| at.exists())).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn the_old_words_do_not_come_back() {
    let fly = ["fly", "flies", "flew", "flown", "flying", "flight", "flights", "flyer", "flyers"];
    let mut counts = [(0, BTreeMap::new()), (0, BTreeMap::new())];
    for file in &SOURCES.files {
        let lower = file.text.to_lowercase();
        // `in_flight` and `in flight` are the field's own words, also where a comment breaks between them.
        let words = lower.split_whitespace().filter(|word| !matches!(*word, "//" | "///" | "//!"));
        let lower = words.collect::<Vec<_>>().join(" ");
        let lower = lower.replace("in_flight", "").replace("in flight", "").replace("in-flight", "");
        for word in lower.split(|c: char| !c.is_alphabetic()) {
            let Some(kind) = (if word == "told" { Some(0) } else { fly.contains(&word).then_some(1) }) else {
                continue;
            };
            counts[kind].0 += 1;
            *counts[kind].1.entry(file.path.parent().unwrap().display().to_string()).or_insert(0) += 1;
        }
    }
    let [(report, told_in), (fly, fly_in)] = counts;
    let lines = |folders: BTreeMap<String, usize>| -> Vec<String> {
        folders.into_iter().map(|(folder, count)| format!("{count:5} {folder}")).collect()
    };
    hold("told", report, ceiling::TOLD, &lines(told_in));
    hold("forms of fly", fly, ceiling::FLY, &lines(fly_in));
}

#[test]
fn the_reader_of_source_knows_paths_tests_and_strings() {
    let text = r##"
use crate::{clock::RunClock, record::{self, Log as Kept}}; // crate::cli
#[cfg(test)]
use crate::a::{b, c};
/* crate::live */ pub(crate) use super::x::*;
fn f<'a>(c: char) -> bool { c == '{' || c == '\'' || "crate::no" == r#"crate::"no"# || crate::units::count(1) }
#[cfg(test)]
mod tests { use super::*; }
pub struct After;
"##;
    let tokens = source::tokens(text);
    let read: Vec<String> = source::paths(&tokens)
        .iter()
        .filter(|path| !path.test)
        .map(|path| format!("{} {}", path.segments.join("::"), path.name.as_deref().unwrap_or("")))
        .collect();
    let expected = ["crate::clock::RunClock RunClock", "crate::record record", "crate::record::Log Kept", "super::x *"];
    assert_eq!(read, [expected.as_slice(), &["crate::units::count "]].concat());
    assert_eq!(source::public_types(&tokens).0, ["After"]);
    assert_eq!(source::production_lines(text, &tokens), 4);
    let edges = [BTreeSet::from([1]), BTreeSet::from([2]), BTreeSet::from([1]), BTreeSet::new()];
    assert_eq!(circles(&edges).len(), 1);
    assert_eq!(shortest(&edges, &circles(&edges)[0]).len(), 2);
}
