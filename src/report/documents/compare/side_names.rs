//! Names of sides by what differs between them: a fact of their runs, or a flag of their servers.

use std::collections::{BTreeMap, BTreeSet};

use crate::experiment::compare::{Condition, Difference};

/// Characters of the longest value that names a side.
const LONGEST_NAME: usize = 28;

/// Names sides by the first fact in which all differ. Their folders have the names that Skyline gives, which only tell
/// when.
fn names(folders: &[&str], differences: &[Difference]) -> Option<Vec<String>> {
    let stamp = |name: &&str| name.rsplit('-').next().is_some_and(|end| end.len() == 16 && end.ends_with('Z'));
    if !folders.iter().all(stamp) {
        return None;
    }
    differences.iter().filter(|difference| difference.condition != Condition::Plan).find_map(|difference| {
        let values: Vec<&str> = difference.values.iter().map(Option::as_deref).collect::<Option<_>>()?;
        let distinct = values.iter().collect::<BTreeSet<_>>().len() == values.len();
        let are_short = values.iter().all(|value| value.chars().count() <= LONGEST_NAME);
        let fact = difference.fact.rsplit('.').next()?;
        if let Some(names) = varying(&values) {
            return Some(names);
        }
        (distinct && are_short).then(|| values.iter().map(|value| format!("{fact} {value}")).collect())
    })
}

/// Gives sides names that tell them apart where their folders only tell when. Those against the first get them too.
pub(super) fn rename<'a>(
    differences: &[Difference],
    sides: impl Iterator<Item = &'a mut String>,
    against: impl Iterator<Item = &'a mut String>,
) {
    let sides: Vec<&mut String> = sides.collect();
    let folders: Vec<&str> = sides.iter().map(|side| side.as_str()).collect();
    if let Some(names) = names(&folders, differences) {
        against.zip(&names[1..]).for_each(|(name, new)| name.clone_from(new));
        sides.into_iter().zip(names).for_each(|(name, new)| *name = new);
    }
}

/// Characters of the longest name of a side by a flag.
const LONGEST: usize = 40;

/// A name for each side by the first flag in which all of them differ. One is `max_num_seqs 128`; `None` where the
/// texts are no flags, or no flag tells all of them apart.
fn varying(texts: &[&str]) -> Option<Vec<String>> {
    let sides: Vec<BTreeMap<String, String>> = texts.iter().map(|text| flags(text)).collect();
    let names: BTreeSet<&String> = sides.iter().flat_map(BTreeMap::keys).collect();
    names.into_iter().find_map(|name| {
        let value = |flags: &BTreeMap<String, String>| flags.get(name).cloned().unwrap_or("default".to_owned());
        let values: Vec<String> = sides.iter().map(value).collect();
        let distinct = values.iter().collect::<BTreeSet<_>>().len() == values.len();
        let shown: Vec<_> = values.iter().map(|value| format!("{name} {value}")).collect();
        (distinct && shown.iter().all(|side| side.chars().count() <= LONGEST)).then_some(shown)
    })
}

/// `--max-num-seqs 128 --enable-x` as names with their values; `on` where a flag has none.
fn flags(text: &str) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let mut words = text.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let Some(flag) = word.strip_prefix("--") else { continue };
        let (name, value) = match flag.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (flag, words.next_if(|next| !next.starts_with("--"))),
        };
        all.insert(name.replace('-', "_"), value.unwrap_or("on").to_owned());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_are_named_by_the_flag_that_varies() {
        let of = |texts: &[&str]| varying(texts).map(|names| names.join(", "));
        let two = ["--max-num-seqs 64 --dtype bf16", "--dtype bf16 --max-num-seqs=128"];
        assert_eq!(of(&two).unwrap(), "max_num_seqs 64, max_num_seqs 128");
        let enabled = ["--dtype bf16", "--dtype bf16 --enable-chunked-prefill"];
        assert_eq!(of(&enabled).unwrap(), "enable_chunked_prefill default, enable_chunked_prefill on");
        assert_eq!(of(&["0.10.1", "0.11.0"]), None);
        assert_eq!(of(&["--x 1 --y 1", "--x 1 --y 2", "--x 2 --y 1"]), None);
    }
}
