//! The flag in which servers differ, from the flags that each was started with.

use std::collections::{BTreeMap, BTreeSet};

/// Characters of the longest name of a side.
const LONGEST: usize = 40;

/// A name for each side by the first flag in which all of them differ. One is `max_num_seqs 128`; `None` where the
/// texts are no flags, or no flag tells all of them apart.
pub(super) fn varying(texts: &[&str]) -> Option<Vec<String>> {
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
