//! Fields of JSON objects, read by their names: what is wrong is said of a field, and what is left over is counted.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::generator::datasets::parse::number_tokens;
use crate::generator::datasets::sessions::session::FoundSessions;
use crate::generator::rows::{Object, cause_of};

/// The fields of an object that have not been read yet. A field that is null counts as absent.
#[derive(Debug)]
pub(super) struct JsonFields<'j>(BTreeMap<String, &'j RawValue>);

impl<'j> JsonFields<'j> {
    /// Reads the names of an object's fields.
    pub(super) fn of_object(json: &'j RawValue) -> Result<Self, String> {
        let Object(fields) = serde_json::from_str(json.get()).map_err(|error| cause_of(&error))?;
        Ok(Self(fields))
    }

    /// Returns whether there is a field of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|value| value.get() != "null")
    }

    /// Takes the JSON of a field.
    pub(super) fn raw(&mut self, name: &str) -> Option<&'j RawValue> {
        self.0.remove(name).filter(|value| value.get() != "null")
    }

    /// Takes a field, if it is there.
    pub(super) fn take<T: Deserialize<'j>>(&mut self, name: &str) -> Result<Option<T>, String> {
        let read = |value: &'j RawValue| {
            serde_json::from_str(value.get()).map_err(|error| format!("in `{name}`: {}", cause_of(&error)))
        };
        self.raw(name).map(read).transpose()
    }

    /// Takes a field that must be there.
    pub(super) fn need<T: Deserialize<'j>>(&mut self, name: &str) -> Result<T, String> {
        self.take(name)?.ok_or_else(|| format!("it has no `{name}`"))
    }

    /// Takes a number of tokens.
    pub(super) fn tokens(&mut self, name: &str) -> Result<Option<u32>, String> {
        let read = |tokens: f64| number_tokens(tokens).map_err(|cause| format!("`{name}` {cause}"));
        self.take(name)?.map(read).transpose()
    }

    /// Takes a duration in units of `unit_s` seconds; none where it is absent.
    pub(super) fn delay(&mut self, name: &str, unit_s: f64) -> Result<Duration, String> {
        let amount: f64 = self.take(name)?.unwrap_or_default();
        let wrong = |_| format!("`{name}` is {amount}; it must be a duration that is not negative");
        Duration::try_from_secs_f64(amount * unit_s).map_err(wrong)
    }

    /// Counts the fields that have not been read and that would change what is sent.
    pub(super) fn count_rest(self, found: &mut FoundSessions, changes: impl Fn(&str) -> bool) {
        for (name, _) in self.0.into_iter().filter(|(name, value)| value.get() != "null" && changes(name)) {
            found.ignore(&name);
        }
    }
}

/// The values in an item. A file of a folder may hold one a line.
pub(super) fn values(item: &[u8]) -> impl Iterator<Item = Result<&RawValue, serde_json::Error>> {
    serde_json::Deserializer::from_slice(item).into_iter()
}

/// The paths of keys in the beginning of a file, such as `turns.messages`. They pass through lists.
pub(super) fn key_paths(head: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    // The keys that lead to here, and how many led to each bracket that is open.
    let (mut path, mut open): (Vec<&str>, Vec<usize>) = (Vec::new(), Vec::new());
    let (mut text, mut escaped, mut last) = (None, false, "");
    for (at, byte) in head.bytes().enumerate() {
        match (text, byte) {
            (Some(_), _) if escaped => escaped = false,
            (Some(_), b'\\') => escaped = true,
            (Some(from), b'"') => (last, text) = (&head[from..at], None),
            (None, b'"') => text = Some(at + 1),
            (None, b':') => {
                path.push(last);
                if path.len() <= DEEPEST_KEY {
                    found.insert(path.join("."));
                }
            }
            (None, b'{' | b'[') => open.push(path.len()),
            (None, b'}' | b']') => path.truncate(open.pop().unwrap_or_default()),
            (None, b',') => path.truncate(open.last().copied().unwrap_or_default()),
            _ => {}
        }
    }
    found
}

/// Keys of the longest path that is found.
const DEEPEST_KEY: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_keys_pass_through_lists_and_leave_texts_alone() {
        let head = r#"[{"id": "a", "turns": [{"messages": [{"role": "user \"x\": 1"}]}, {"delay": 2}], "last": 1},
            {"other": {"deep": {"deeper": 0}}}, {"cut": "of"#;
        let found: Vec<_> = key_paths(head).into_iter().collect();
        assert_eq!(found, ["cut", "id", "last", "other", "other.deep", "turns", "turns.delay", "turns.messages"]);
    }

    #[test]
    fn what_is_wrong_is_said_of_a_field() {
        let json: &RawValue = serde_json::from_str(r#"{"a": "x", "b": -1, "c": null, "d": true, "e": 0.5}"#).unwrap();
        let mut fields = JsonFields::of_object(json).unwrap();
        assert_eq!(fields.take::<u32>("a").unwrap_err(), "in `a`: invalid type: string \"x\", expected u32");
        assert_eq!(fields.delay("b", 1e-3).unwrap_err(), "`b` is -1; it must be a duration that is not negative");
        assert_eq!(fields.need::<u32>("c").unwrap_err(), "it has no `c`");
        assert_eq!(fields.tokens("d").unwrap_err(), "in `d`: invalid type: boolean `true`, expected f64");
        let cause = fields.tokens("e").unwrap_err();
        assert!(cause.starts_with("`e` is 0.5; it must be a whole number from 1 to "), "{cause}");
        assert_eq!(fields.delay("f", 1.0).unwrap(), Duration::ZERO);
    }
}
