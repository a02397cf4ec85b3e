//! The files of a repository that are a dataset's rows.

use std::collections::{BTreeMap, HashSet};

use crate::workload::DatasetFormat;

/// Endings of files with rows, the preferred ones first.
const ENDINGS: [&str; 4] = ["parquet", "jsonl", "ndjson", "json"];
/// A description of a dataset that lies beside it.
const NO_ROWS: &str = "dataset_infos.json";
/// The split that is taken where none is named.
const USUAL: &str = "train";
/// Sets of files that are named at most.
const MOST_NAMED: usize = 20;

/// The files with rows among these. One that is also there unpacked counts once.
pub(super) fn with_rows(names: &[String]) -> Vec<&String> {
    let all: HashSet<_> = names.iter().map(String::as_str).collect();
    let is_twin = |name: &str| plain(name) != name && all.contains(plain(name));
    names.iter().filter(|name| stem_and_rank(name).is_some() && !is_twin(name)).collect()
}

/// The name of a file without the ending of what it is compressed with.
fn plain(name: &str) -> &str {
    DatasetFormat::PACKED.iter().find_map(|packed| name.strip_suffix(packed)).unwrap_or(name)
}

/// The stem of a file with rows, and the rank of its ending.
fn stem_and_rank(name: &str) -> Option<(&str, usize)> {
    let (stem, ending) = plain(name).rsplit_once('.').filter(|_| !plain(name).ends_with(NO_ROWS))?;
    Some((stem, ENDINGS.iter().position(|known| *known == ending.to_ascii_lowercase())?))
}

/// Chooses files by the name of their split, all of one set. `Err` is a question: what is wrong, and names to choose.
pub(super) fn choose(files: &[String], split: Option<&str>) -> Result<Vec<String>, (String, Vec<String>)> {
    if let Some(file) = files.iter().find(|file| split == Some(file)) {
        return Ok(vec![file.clone()]);
    }
    let mut sets: BTreeMap<(usize, String), Vec<String>> = BTreeMap::new();
    for file in with_rows(files) {
        let Some((stem, rank)) = stem_and_rank(file) else { continue };
        sets.entry((rank, set_of(stem).to_owned())).or_default().push(file.clone());
    }
    let names = |sets: &BTreeMap<(usize, String), _>| {
        let mut names: Vec<_> = sets.keys().map(|(_, name)| name.clone()).collect();
        names.sort_unstable();
        names.dedup();
        names.truncate(MOST_NAMED);
        names
    };
    if sets.is_empty() {
        return Err(("it has no file that ends with .parquet, .jsonl or .json".to_owned(), Vec::new()));
    }
    let wanted = split.unwrap_or(USUAL);
    let is_named = |name: &str| name == wanted || name.strip_suffix(wanted).is_some_and(|rest| rest.ends_with('/'));
    let has_words = |name: &str| {
        let words = |text| str::split(text, |c: char| !c.is_ascii_alphanumeric()).map(str::to_ascii_lowercase);
        words(wanted).all(|word| words(name).any(|other| other == word))
    };
    let mut found: BTreeMap<_, _> = sets.clone().into_iter().filter(|((_, name), _)| is_named(name)).collect();
    if found.is_empty() {
        found = sets.clone().into_iter().filter(|((_, name), _)| has_words(name)).collect();
    }
    if found.is_empty() && split.is_none() {
        found.clone_from(&sets);
    }
    let best = found.keys().map(|(rank, _)| *rank).min();
    found.retain(|(rank, _), _| Some(*rank) == best);
    let mut chosen = found.values();
    match (chosen.next(), chosen.next()) {
        (Some(files), None) => Ok(all_parts(files.clone())),
        (Some(_), Some(_)) => Err(("several sets of files may be meant".to_owned(), names(&found))),
        (None, _) => Err((format!("no set of files is called {wanted}"), names(&sets))),
    }
}

/// The name of a file's set. It is the path without the number of a part (`-00000-of-00002`, `/0000`).
fn set_of(stem: &str) -> &str {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some((set, _)) = stem.rsplit_once('/').filter(|(_, part)| digits(part)) {
        return set;
    }
    let Some((before, after)) = stem.rsplit_once("-of-") else { return stem };
    let is_count = digits(after.split('-').next().unwrap_or_default());
    before.rsplit_once('-').filter(|(_, part)| is_count && digits(part)).map_or(stem, |(set, _)| set)
}

/// All parts of a set of which some are known. A cache may have less than all of them.
fn all_parts(mut files: Vec<String>) -> Vec<String> {
    files.sort_unstable();
    let stem_and_ending = files.first().and_then(|file| {
        let (stem, _) = plain(file).rsplit_once('.')?;
        Some((stem, file.strip_prefix(stem)?))
    });
    let Some((first, ending)) = stem_and_ending else { return files };
    let total = first.rsplit_once("-of-").and_then(|(_, total)| total.parse::<usize>().ok());
    match total.filter(|parts| (files.len() + 1..100_000).contains(parts)) {
        Some(total) => {
            let set = set_of(first);
            (0..total).map(|part| format!("{set}-{part:05}-of-{total:05}{ending}")).collect()
        }
        None => files,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(files: &[&str], split: Option<&str>) -> Result<Vec<String>, String> {
        let files: Vec<String> = files.iter().map(|file| (*file).to_owned()).collect();
        choose(&files, split).map_err(|(why, names)| format!("{why}: {}", names.join(", ")))
    }

    #[test]
    fn files_are_chosen_by_their_split() {
        let gsm8k = ["README.md", "main/test-00000-of-00001.parquet", "main/train-00000-of-00001.parquet"];
        let both = [&gsm8k[..], &["socratic/train-00000-of-00001.parquet"]].concat();
        let ultra = ["data/train_sft-00000-of-00002.parquet", "data/train_sft-00001-of-00002.parquet"];
        let ultra = [&ultra[..], &["data/train_gen-00000-of-00001-a09b74b3ef9c3b56.parquet"]].concat();
        let parts = [0, 1, 2].map(|part| format!("data/train-{part:05}-of-00003.parquet"));
        let parts = parts.each_ref().map(String::as_str);
        let packed = [0, 1].map(|part| format!("train-{part:05}-of-00002.jsonl.gz"));
        let packed = packed.each_ref().map(String::as_str);
        for (files, split, said) in [
            (&packed[..1], None, Ok(&packed[..])),
            (&gsm8k[..], None, Ok(&gsm8k[2..])),
            (&gsm8k, Some("test"), Ok(&gsm8k[1..2])),
            (&gsm8k, Some("README.md"), Ok(&gsm8k[..1])),
            (&gsm8k, Some("dev"), Err("no set of files is called dev: main/test, main/train")),
            (&both, None, Err("several sets of files may be meant: main/train, socratic/train")),
            (&both, Some("main/train"), Ok(&both[2..3])),
            (&both, Some("socratic"), Ok(&both[3..])),
            (&ultra, Some("train_sft"), Ok(&ultra[..2])),
            (&ultra, Some("gen"), Ok(&ultra[2..])),
            (&ultra, None, Err("several sets of files may be meant: data/train_gen, data/train_sft")),
            (&["all.json", "dataset_infos.json"], None, Ok(&["all.json"])),
            (&["train.json", "train.jsonl", "train.csv"], None, Ok(&["train.jsonl"])),
            (&["train.json", "train.jsonl.gz", "b.jsonl.zst"], None, Ok(&["train.jsonl.gz"])),
            (&["train.jsonl", "train.jsonl.gz"], None, Ok(&["train.jsonl"])),
            (&["default/train/0000.parquet", "default/train/0001.parquet"], None, {
                Ok(&["default/train/0000.parquet", "default/train/0001.parquet"])
            }),
            (&parts[1..2], None, Ok(&parts)),
            (&["train.csv"], None, Err("it has no file that ends with .parquet, .jsonl or .json: ")),
        ] {
            let said: Result<&[&str], &str> = said;
            let said = said.map(|files| files.iter().map(|file| (*file).to_owned()).collect()).map_err(str::to_owned);
            assert_eq!(chosen(files, split), said, "{files:?} {split:?}");
        }
    }
}
