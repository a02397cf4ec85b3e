//! A value at its path in a spec, and how to read one kind of value from it.

use super::allowed::Allowed;
use super::mistakes::Mistakes;
use super::near::nearest;
use super::node::{Node, NodeValue};

/// A value together with its path and the list of mistakes. Every reading answers `None` once it has added
/// what is wrong to that list, so the caller goes on with the next field.
#[derive(Clone, Copy)]
pub(crate) struct SpecValue<'n> {
    pub(super) node: &'n Node,
    /// As in `classes[0].weight`; empty for the whole spec.
    pub(super) path: &'n str,
    pub(super) mistakes: &'n Mistakes,
}

impl<'n> SpecValue<'n> {
    /// The whole spec.
    pub(crate) fn root(node: &'n Node, mistakes: &'n Mistakes) -> Self {
        Self { node, path: "", mistakes }
    }

    /// Adds a mistake about this place; `sentence` follows the quoted path.
    pub(crate) fn complain(&self, sentence: &str) {
        let subject = if self.path.is_empty() { "the spec".to_owned() } else { format!("`{}`", self.path) };
        self.mistakes.add(self.node.line, format!("{subject} {sentence}"));
    }

    /// Adds that the value found is not what `wanted` says.
    pub(crate) fn refuse<T>(&self, wanted: &str) -> Option<T> {
        self.complain(&format!("is {}; it must be {wanted}", self.node.value));
        None
    }

    /// Whether there is a number, good or not.
    pub(crate) fn is_number(&self) -> bool {
        self.digits().is_some()
    }

    /// A number in the range.
    pub(crate) fn number(&self, allowed: Allowed) -> Option<f64> {
        self.digits()
            .and_then(|digits| digits.parse().ok())
            .filter(|number| allowed.has(*number))
            .or_else(|| self.refuse(&format!("a number {allowed}")))
    }

    /// A whole number in the range; `1e6` and `12.0` are whole.
    pub(crate) fn whole(&self, allowed: Allowed) -> Option<u64> {
        self.digits()
            .and_then(exact_whole)
            .filter(|number| allowed.has(*number as f64))
            .or_else(|| self.refuse(&format!("a whole number {allowed}")))
    }

    /// Any number of 64 bits.
    pub(crate) fn bits(&self) -> Option<u64> {
        self.digits()
            .and_then(exact_whole)
            .or_else(|| self.refuse("a whole number from 0 to 18,446,744,073,709,551,615"))
    }

    /// A switch.
    pub(crate) fn flag(&self) -> Option<bool> {
        match self.node.value {
            NodeValue::Bool(flag) => Some(flag),
            _ => self.refuse("true or false"),
        }
    }

    /// A text, which may be empty.
    pub(crate) fn text(&self) -> Option<String> {
        match &self.node.value {
            NodeValue::Text(text) => Some(text.clone()),
            _ => self.refuse("a text in quotes"),
        }
    }

    /// The text that stands here; `None`, without complaint, where something else does.
    pub(crate) fn text_or_none(&self) -> Option<&'n str> {
        match &self.node.value {
            NodeValue::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Whatever stands here, as JSON: all that JSON can say.
    pub(crate) fn json(&self) -> Option<serde_json::Value> {
        self.node.value.json().or_else(|| self.refuse("what JSON can say, without dates and infinities"))
    }

    /// A text that says something.
    pub(crate) fn said(&self) -> Option<String> {
        let text = self.text()?;
        if text.trim().is_empty() { self.refuse("a text that is not blank") } else { Some(text) }
    }

    /// A name that is safe in file names, tables and metrics.
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

    /// Complains of a table whose `name` is among those `seen`, and adds it to them: whatever else is wrong with it.
    pub(crate) fn own_name(&self, noun: &str, seen: &mut Vec<String>) {
        let Some(name) = self.field("name") else { return };
        if seen.iter().any(|before| before == name) {
            self.complain(&format!("has the name \"{name}\" of a {noun} before it; give it its own"));
        }
        seen.push(name.to_owned());
    }

    /// The text of a field, if this is a table that has one: without complaints, for who reads the table next.
    pub(crate) fn field(&self, name: &str) -> Option<&'n str> {
        let NodeValue::Table(entries) = &self.node.value else { return None };
        let entry = entries.iter().find(|entry| entry.key == name)?;
        match &entry.node.value {
            NodeValue::Text(text) => Some(text),
            _ => None,
        }
    }

    /// One of the named choices.
    pub(crate) fn choice<T: Copy>(&self, choices: &[(&str, T)]) -> Option<T> {
        self.named_choice(choices).map(|(_, choice)| choice)
    }

    /// One of the named choices, with its name.
    pub(super) fn named_choice<'c, T: Copy>(&self, choices: &[(&'c str, T)]) -> Option<(&'c str, T)> {
        let names = || choices.iter().map(|(name, _)| *name);
        if let NodeValue::Text(text) = &self.node.value {
            if let Some(choice) = choices.iter().find(|(name, _)| name == text) {
                return Some(*choice);
            }
            if let Some(near) = nearest(text, names()) {
                let (found, allowed) = (&self.node.value, list(names()));
                self.complain(&format!("is {found}; did you mean \"{near}\"? (allowed: {allowed})"));
                return None;
            }
        }
        self.refuse(&format!("one of {}", list(names())))
    }

    /// A list with at least one item, each read by `read`.
    pub(crate) fn list<T>(&self, mut read: impl FnMut(SpecValue<'_>) -> Option<T>) -> Option<Vec<T>> {
        let NodeValue::List(items) = &self.node.value else { return self.refuse("a list") };
        if items.is_empty() {
            self.complain("is an empty list; it needs at least one item");
            return None;
        }
        let read: Vec<Option<T>> = (items.iter().enumerate())
            .map(|(i, node)| {
                read(SpecValue { node, path: &format!("{}[{i}]", self.path), mistakes: self.mistakes })
            })
            .collect();
        read.into_iter().collect()
    }

    /// A list that may be empty, each item read by `read`.
    pub(crate) fn list_or_none<T>(&self, read: impl FnMut(SpecValue<'_>) -> Option<T>) -> Option<Vec<T>> {
        match &self.node.value {
            NodeValue::List(items) if items.is_empty() => Some(Vec::new()),
            _ => self.list(read),
        }
    }

    fn digits(&self) -> Option<&str> {
        match &self.node.value {
            NodeValue::Number(digits) => Some(digits),
            _ => None,
        }
    }
}

/// The whole number that the digits write, if they write one; every digit counts up to 2⁶⁴.
fn exact_whole(digits: &str) -> Option<u64> {
    /// From here on a float no longer tells neighbours apart.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    digits.trim_start_matches('+').parse().ok().or_else(|| {
        let float: f64 = digits.parse().ok()?;
        (float.fract() == 0.0 && (0.0..=EXACT).contains(&float)).then_some(float as u64)
    })
}

/// Names with commas between.
pub(super) fn list<'s>(names: impl Iterator<Item = &'s str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}
