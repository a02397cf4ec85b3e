//! A value at its path in a spec, and how to read each kind of value from it.

use std::fmt;
use std::ops::{Bound, RangeBounds};
use std::path::Path;
use std::str::FromStr;

use serde::de::DeserializeOwned;
use strum::VariantNames;

use super::mistakes::{Mistakes, nearest};
use super::node::{Node, NodeValue};
use crate::units;
use crate::units::from_json_value;

/// A value with its path and the list of mistakes. Every reader returns `None` after it has reported a mistake, so
/// that the caller continues with the next field.
#[derive(Clone, Copy)]
pub(crate) struct SpecValue<'n> {
    pub(super) node: &'n Node,
    /// The path, as in `classes[0].weight`; empty for the whole spec.
    pub(super) path: &'n str,
    pub(super) mistakes: &'n Mistakes,
}

impl<'n> SpecValue<'n> {
    /// The whole spec.
    pub(crate) fn root(node: &'n Node, mistakes: &'n Mistakes) -> Self {
        Self { node, path: "", mistakes }
    }

    /// A value that stands alone, under a name of its own.
    pub(crate) fn named(node: &'n Node, name: &'n str, mistakes: &'n Mistakes) -> Self {
        Self { node, path: name, mistakes }
    }

    /// Reports a mistake about this value; `sentence` follows the quoted path.
    pub(crate) fn complain(&self, sentence: &str) {
        let subject = if self.path.is_empty() { "the spec".to_owned() } else { format!("`{}`", self.path) };
        self.mistakes.add(self.node.line, format!("{subject} {sentence}"));
    }

    /// Refusal of the value for a mistake in it; `sentence` follows the quoted path.
    pub(crate) fn reject<T>(&self, sentence: &str) -> Option<T> {
        self.complain(sentence);
        None
    }

    /// Reports that the value is not what `wanted` describes.
    pub(crate) fn refuse<T>(&self, wanted: &str) -> Option<T> {
        self.reject(&format!("is {}; it must be {wanted}", self.node.value))
    }

    /// Whether this is a number, valid or not.
    pub(crate) fn is_number(&self) -> bool {
        self.digits().is_some()
    }

    /// Reads a number in the range.
    pub(crate) fn number(&self, allowed: Allowed) -> Option<f64> {
        self.digits()
            .and_then(|digits| digits.parse().ok())
            .filter(|number| allowed.has(*number))
            .or_else(|| self.refuse(&format!("a number {allowed}")))
    }

    /// Reads a whole number in the range; `1e6` and `12.0` are whole.
    pub(crate) fn whole<N: TryFrom<u64>>(&self, allowed: Allowed) -> Option<N> {
        self.digits()
            .and_then(exact_whole)
            .filter(|number| allowed.has(*number as f64))
            .and_then(|number| N::try_from(number).ok())
            .or_else(|| self.refuse(&format!("a whole number {allowed}")))
    }

    /// Reads any 64-bit number.
    pub(crate) fn bits(&self) -> Option<u64> {
        self.digits()
            .and_then(exact_whole)
            .or_else(|| self.refuse("a whole number from 0 to 18,446,744,073,709,551,615"))
    }

    /// Reads a boolean.
    pub(crate) fn flag(&self) -> Option<bool> {
        match self.node.value {
            NodeValue::Bool(flag) => Some(flag),
            _ => self.refuse("true or false"),
        }
    }

    /// Reads a text, which may be empty.
    pub(crate) fn text(&self) -> Option<String> {
        self.text_or_none().map(str::to_owned).or_else(|| self.refuse("a text in quotes"))
    }

    /// The text, if this is one; reports nothing otherwise.
    pub(crate) fn text_or_none(&self) -> Option<&'n str> {
        self.node.value.text()
    }

    /// Reads any value that JSON can express.
    pub(crate) fn json(&self) -> Option<serde_json::Value> {
        self.node
            .value
            .json()
            .or_else(|| self.refuse("a value of JSON, without dates, infinities or whole numbers of more than 64 bits"))
    }

    /// Reads what a run stored of the files that it used. It refuses what no file can hold.
    pub(crate) fn stored<T: DeserializeOwned>(&self, plausible: impl Fn(&T) -> bool) -> Option<T> {
        let read = from_json_value(&self.json()?);
        let found = read.map_err(|error| self.complain(&format!("cannot be read: {error}"))).ok()?;
        if plausible(&found) { Some(found) } else { self.reject("has figures that no file can have") }
    }

    /// Reads a text that is not blank.
    pub(crate) fn nonblank(&self) -> Option<String> {
        let text = self.text()?;
        if text.trim().is_empty() { self.refuse("a text that is not blank") } else { Some(text) }
    }

    /// Reads a path. A relative one in a file begins at the folder of that file.
    pub(crate) fn path(&self) -> Option<String> {
        let path = self.nonblank()?;
        Some(self.folder().map_or(path.clone(), |folder| folder.join(path).display().to_string()))
    }

    /// The folder of the file that the value is in, if it is in one.
    pub(crate) fn folder(&self) -> Option<&'n Path> {
        self.mistakes.folder.as_deref()
    }

    /// Reads a name that is safe in file names, tables and metrics.
    pub(crate) fn name(&self) -> Option<String> {
        /// Longest name, characters.
        const LONGEST: usize = 64;
        let name = self.text()?;
        let safe = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        if (1..=LONGEST).contains(&name.len()) && name.bytes().all(safe) {
            return Some(name);
        }
        self.refuse(&format!("1 to {LONGEST} letters a–z, digits, `_` and `-`"))
    }

    /// Reads a list of tables of this noun. Each has a `name` of its own, whatever else is wrong with it.
    pub(crate) fn named_list<T>(&self, noun: &str, mut read: impl FnMut(SpecValue<'_>) -> Option<T>) -> Option<Vec<T>> {
        let mut seen = Vec::new();
        self.list(|value| {
            if let Some(name) = value.field("name").map(str::to_owned) {
                if seen.contains(&name) {
                    value.complain(&format!("has the name \"{name}\" of a {noun} before it; give it its own"));
                }
                seen.push(name);
            }
            read(value)
        })
    }

    /// The text of a field, if this is a table that has one; reports nothing.
    pub(crate) fn field(&self, name: &str) -> Option<&'n str> {
        let NodeValue::Table(entries) = &self.node.value else { return None };
        entries.iter().find(|entry| entry.key == name)?.node.value.text()
    }

    /// Reads the name of one of the enum's variants.
    pub(crate) fn variant<T: FromStr + VariantNames>(&self) -> Option<T> {
        let choices: Vec<_> = T::VARIANTS.iter().map(|name| (*name, *name)).collect();
        self.choice(&choices)?.parse().ok()
    }

    /// Reads one of the named choices.
    pub(crate) fn choice<T: Copy>(&self, choices: &[(&str, T)]) -> Option<T> {
        self.named_choice(choices).map(|(_, choice)| choice)
    }

    /// Reads one of the named choices, and returns its name too.
    pub(super) fn named_choice<'c, T: Copy>(&self, choices: &[(&'c str, T)]) -> Option<(&'c str, T)> {
        let names = || choices.iter().map(|(name, _)| *name);
        if let Some(text) = self.text_or_none() {
            if let Some(choice) = choices.iter().find(|(name, _)| *name == text) {
                return Some(*choice);
            }
            if let Some(near) = nearest(text, names()) {
                let (found, allowed) = (&self.node.value, list(names()));
                return self.reject(&format!("is {found}; did you mean \"{near}\"? (allowed: {allowed})"));
            }
        }
        self.refuse(&format!("one of {}", list(names())))
    }

    /// Whether this is a list.
    pub(crate) fn is_list(&self) -> bool {
        matches!(self.node.value, NodeValue::List(_))
    }

    /// Reads a list with at least one item, each by `read`.
    pub(crate) fn list<T>(&self, mut read: impl FnMut(SpecValue<'_>) -> Option<T>) -> Option<Vec<T>> {
        let NodeValue::List(items) = &self.node.value else { return self.refuse("a list") };
        if items.is_empty() {
            return self.reject("is an empty list; it needs at least one item");
        }
        let read: Vec<Option<T>> = (items.iter().enumerate())
            .map(|(i, node)| read(SpecValue { node, path: &format!("{}[{i}]", self.path), mistakes: self.mistakes }))
            .collect();
        read.into_iter().collect()
    }

    /// Whether this is a list without items.
    pub(crate) fn is_empty_list(&self) -> bool {
        matches!(&self.node.value, NodeValue::List(items) if items.is_empty())
    }

    /// Reads a list that may be empty, each item by `read`.
    pub(crate) fn list_or_none<T>(&self, read: impl FnMut(SpecValue<'_>) -> Option<T>) -> Option<Vec<T>> {
        if self.is_empty_list() { Some(Vec::new()) } else { self.list(read) }
    }

    fn digits(&self) -> Option<&str> {
        match &self.node.value {
            NodeValue::Number(digits) => Some(digits),
            _ => None,
        }
    }
}

/// The whole number that the digits write, if any; exact up to 2⁶⁴.
fn exact_whole(digits: &str) -> Option<u64> {
    /// From here on a float cannot tell neighbours apart.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    digits.trim_start_matches('+').parse().ok().or_else(|| {
        let float: f64 = digits.parse().ok()?;
        (float.fract() == 0.0 && (0.0..=EXACT).contains(&float)).then_some(float as u64)
    })
}

/// Names separated by commas.
pub(super) fn list<'s>(names: impl Iterator<Item = &'s str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

/// A range of numbers. Its `Display` describes it: `above 0, at most 1,000,000`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Allowed {
    low: Bound<f64>,
    high: f64,
}

impl Allowed {
    /// Greater than `low`, at most `high`.
    pub(crate) const fn above(low: f64, high: f64) -> Self {
        Self { low: Bound::Excluded(low), high }
    }

    /// From `low` to `high`, both included.
    pub(crate) const fn from(low: f64, high: f64) -> Self {
        Self { low: Bound::Included(low), high }
    }

    /// Whether the number is in the range; NaN and infinity never are.
    pub(crate) fn has(self, value: f64) -> bool {
        (self.low, Bound::Included(self.high)).contains(&value)
    }

    /// Why this field cannot have the value, as a sentence; `None` where it can.
    pub(crate) fn mistake(self, field: &str, value: f64) -> Option<String> {
        (!self.has(value)).then(|| format!("`{field}` is {value:?}; it must be a number {self}"))
    }
}

impl fmt::Display for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let high = plain(self.high);
        match self.low {
            Bound::Excluded(low) => write!(f, "above {}, at most {high}", plain(low)),
            Bound::Included(low) => write!(f, "from {} to {high}", plain(low)),
            Bound::Unbounded => write!(f, "at most {high}"),
        }
    }
}

/// A bound with all its digits, thousands separated if it is whole.
fn plain(bound: f64) -> String {
    if bound.fract() == 0.0 && bound >= 0.0 { units::count(bound as u64) } else { bound.to_string() }
}

/// Most requests of one run: nearly three hours at 10,000 a second.
pub(in crate::workload) const MOST_REQUESTS: f64 = 100_000_000.0;
/// The longest run, seconds: 31 days.
pub(in crate::workload) const LONGEST_S: f64 = 2_678_400.0;
/// Rates above zero. No client sends more from one machine.
pub(in crate::workload) const RATE: Allowed = Allowed::above(0.0, 1_000_000.0);
/// A length of time in seconds, up to 31 days.
pub(in crate::workload) const SECONDS: Allowed = Allowed::above(0.0, LONGEST_S);
/// Users in a closed loop; each is a connection.
pub(in crate::workload) const USERS: Allowed = Allowed::from(1.0, 100_000.0);
/// Counts of requests.
pub(in crate::workload) const REQUESTS: Allowed = Allowed::from(1.0, MOST_REQUESTS);
/// Waits, which may be zero.
pub(in crate::workload) const WAIT: Allowed = Allowed::from(0.0, LONGEST_S);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_edges_are_where_the_words_say() {
        let above = Allowed::above(0.0, 1e6);
        assert_eq!(above.to_string(), "above 0, at most 1,000,000");
        assert!(above.has(1e-300) && above.has(1e6) && !above.has(0.0) && !above.has(1_000_000.5));
        let from = Allowed::from(0.01, 10.0);
        assert_eq!(from.to_string(), "from 0.01 to 10");
        assert!(from.has(0.01) && !from.has(0.009));
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(!above.has(value) && !from.has(value));
        }
    }
}
