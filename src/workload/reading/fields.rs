//! The fields of one table of a spec: reads the known ones, reports the unknown ones.

use std::collections::BTreeMap;
use std::fmt;

use super::mistakes::{Mistakes, nearest};
use super::node::{Entry, Node, NodeValue};
use super::value::{SpecValue, list};

/// A reader of values.
pub(crate) trait ReadsValue<T>: FnOnce(SpecValue<'_>) -> Option<T> {}

impl<T, F: FnOnce(SpecValue<'_>) -> Option<T>> ReadsValue<T> for F {}

/// A table being read. Fields that nobody has read by the end are mistakes.
pub(crate) struct Fields<'n> {
    table: SpecValue<'n>,
    /// The table's name in messages: `a poisson arrival`.
    what: String,
    entries: &'n [Entry],
    /// Fields read so far, in order: the allowed ones.
    known: Vec<&'static str>,
    /// Required fields that are not there.
    missing: Vec<&'static str>,
    /// Whether unknown fields are not reported, because nothing says which are allowed.
    accepts_any: bool,
}

/// An optional field.
pub(crate) enum Given<T> {
    Absent,
    Right(T),
    /// The field is there and cannot be read; the mistake is reported.
    Wrong,
}

impl<T> Given<T> {
    /// The value, or `default` if the field is absent; `None` if it cannot be read.
    pub(crate) fn or(self, usual: Option<T>) -> Option<T> {
        match self {
            Self::Absent => usual,
            Self::Right(value) => Some(value),
            Self::Wrong => None,
        }
    }
}

impl<'n> Fields<'n> {
    /// Reads a required field.
    pub(crate) fn required<T>(&mut self, name: &'static str, read: impl ReadsValue<T>) -> Option<T> {
        let given = self.given(name, read);
        if matches!(given, Given::Absent) {
            self.missing.push(name);
        }
        given.or(None)
    }

    /// Reads an optional field that has a default.
    pub(crate) fn optional<T>(&mut self, name: &'static str, default: T, read: impl ReadsValue<T>) -> Option<T> {
        self.given(name, read).or(Some(default))
    }

    /// Reads an optional field; `None` if it is wrong, `Some(None)` if it is absent.
    #[allow(clippy::option_option, reason = "wrong and absent are two things")]
    pub(crate) fn option<T>(&mut self, name: &'static str, read: impl ReadsValue<T>) -> Option<Option<T>> {
        self.optional(name, None, |value| read(value).map(Some))
    }

    /// Reads a field that other fields may require.
    pub(crate) fn given<T>(&mut self, name: &'static str, read: impl ReadsValue<T>) -> Given<T> {
        self.known.push(name);
        let Some(entry) = self.entry(name) else { return Given::Absent };
        read(self.at(entry, &self.path_of(name))).map_or(Given::Wrong, Given::Right)
    }

    /// The text of a field as it is given; reports nothing.
    pub(crate) fn text(&self, name: &str) -> Option<&'n str> {
        self.table.field(name)
    }

    /// Reads what has fields of this same table.
    pub(crate) fn flat<T>(&mut self, _: &str, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        read(self)
    }

    /// Reports a missing field.
    pub(crate) fn miss(&mut self, name: &'static str) {
        self.missing.push(name);
    }

    /// Reports a mistake about the table as a whole; `sentence` follows its path.
    pub(crate) fn complain(&self, sentence: &str) {
        self.table.complain(sentence);
    }

    /// Reports a mistake about several fields together. `sentence` follows the path of `name`, and the mistake has its
    /// line.
    pub(crate) fn complain_of(&self, name: &str, sentence: &str) {
        let line = self.entry(name).map_or(self.table.node.line, |entry| entry.line);
        self.mistakes().add(line, format!("`{}` {sentence}", self.path_of(name)));
    }

    /// Refuses the table for a mistake in it as a whole. `sentence` follows its path.
    pub(crate) fn reject<T>(&self, sentence: &str) -> Option<T> {
        self.table.reject(sentence)
    }

    /// Refusal of the table for a mistake of several fields together, as in [`Fields::complain_of`].
    pub(crate) fn reject_of<T>(&self, name: &str, sentence: &str) -> Option<T> {
        self.complain_of(name, sentence);
        None
    }

    /// Refusal of the table where `min` is above `max`.
    pub(crate) fn in_order<N: PartialOrd + fmt::Display + Copy>(&self, min: N, max: N) -> Option<()> {
        if min <= max {
            return Some(());
        }
        self.reject_of("min", &format!("is {min}, above `max`, which is {max}; swap them or move one"))
    }

    /// Reports unknown, missing and duplicate fields. A missing field and a misspelled one that resembles it are one
    /// mistake.
    fn finish(mut self) {
        if self.accepts_any {
            return;
        }
        for (i, entry) in self.entries.iter().enumerate() {
            if self.entries[..i].iter().any(|before| before.key == entry.key) {
                self.mistakes().add(entry.line, format!("`{}` is given twice", self.path_of(&entry.key)));
            }
            if self.known.contains(&entry.key.as_str()) {
                continue;
            }
            let unused = self.known.iter().copied().filter(|name| self.entry(name).is_none());
            let near = nearest(&entry.key, unused);
            let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            self.missing.retain(|missing| near != Some(*missing));
            // A field that is read in two ways is allowed once.
            let names = self.known.iter().enumerate().filter(|(at, name)| !self.known[..*at].contains(name));
            let allowed = list(names.map(|(_, name)| *name));
            let path = self.path_of(&entry.key);
            let what = &self.what;
            let message = format!("`{path}` is not a field of {what}{hint} (allowed: {allowed})");
            self.mistakes().add(entry.line, message);
        }
        for name in &self.missing {
            let message = format!("`{}` is missing; {} needs it", self.path_of(name), self.what);
            self.mistakes().add(self.table.node.line, message);
        }
    }

    fn entry(&self, name: &str) -> Option<&'n Entry> {
        self.entries.iter().find(|entry| entry.key == name)
    }

    fn at<'p>(&self, entry: &'p Entry, path: &'p str) -> SpecValue<'p>
    where
        'n: 'p,
    {
        SpecValue { node: &entry.node, path, mistakes: self.mistakes() }
    }

    fn path_of(&self, name: &str) -> String {
        if self.table.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.table.path) }
    }

    fn mistakes(&self) -> &'n Mistakes {
        self.table.mistakes
    }
}

impl SpecValue<'_> {
    /// Reads a table: `read` takes its fields; unknown ones are mistakes. `what` names the table in messages, with
    /// its article.
    pub(crate) fn table<T>(&self, what: &str, read: impl FnOnce(&mut Fields<'_>) -> Option<T>) -> Option<T> {
        let NodeValue::Table(entries) = &self.node.value else {
            return self.refuse(&format!("a table that describes {what}"));
        };
        let what = what.to_owned();
        let (known, missing) = (Vec::new(), Vec::new());
        let mut fields = Fields { table: *self, what, entries, known, missing, accepts_any: false };
        let read = read(&mut fields);
        fields.finish();
        read
    }

    /// Reads a table of any names that are safe in tables and metrics. Each value is read by `read`; `wanted` describes
    /// it.
    pub(crate) fn entries<T>(
        &self,
        wanted: &str,
        mut read: impl FnMut(SpecValue<'_>) -> Option<T>,
    ) -> Option<BTreeMap<String, T>> {
        let NodeValue::Table(entries) = &self.node.value else { return self.refuse(wanted) };
        let mut values = BTreeMap::new();
        let mut right = true;
        for Entry { key, line, node } in entries {
            let path = format!("{}.{key}", self.path);
            let name = Node { line: *line, value: NodeValue::Text(key.clone()) };
            let name = SpecValue { node: &name, path: &path, mistakes: self.mistakes }.name();
            let value = SpecValue { node, path: &path, mistakes: self.mistakes };
            if name.is_some() && values.contains_key(key) {
                value.complain("is given a second time; leave one of them out");
                right = false;
            }
            match name.zip(read(value)) {
                Some((name, read)) => {
                    values.insert(name, read);
                }
                None => right = false,
            }
        }
        right.then_some(values)
    }

    /// Reads a table whose field `kind` decides its other fields. `noun` names the table in messages after its kind.
    pub(crate) fn tagged<T>(&self, noun: &str, kinds: &[(&str, fn(&mut Fields<'_>) -> Option<T>)]) -> Option<T> {
        self.table(&with_article(noun), |fields| {
            fields.known.push("kind");
            let kind = if let Some(entry) = fields.entry("kind") {
                fields.at(entry, &fields.path_of("kind")).named_choice(kinds)
            } else {
                let kinds = list(kinds.iter().map(|(name, _)| *name));
                fields.reject_of("kind", &format!("is missing; it says which {noun} this is: one of {kinds}"))
            };
            // Nothing says which fields are allowed.
            fields.accepts_any = kind.is_none();
            let (kind, read) = kind?;
            fields.what = with_article(&format!("{kind} {noun}"));
            read(fields)
        })
    }
}

/// `an arrival`, `a normal distribution`, `a uniform distribution`.
fn with_article(noun: &str) -> String {
    let article = if noun.starts_with(['a', 'e', 'i', 'o']) { "an" } else { "a" };
    format!("{article} {noun}")
}
