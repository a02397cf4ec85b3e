//! A tool's table of flags, and a command line read by it.

use std::iter::Peekable;
use std::slice::Iter;

/// Flags of a tool that mean the same here.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flags {
    takes: Takes,
    pub(super) means: Meaning,
    /// Their names with spaces between them. Where a flag has several, `|` is between those: the tool's file knows it by
    /// the first.
    names: &'static str,
}

/// How many values a flag takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Takes {
    Nothing,
    One,
    /// All words up to the next flag.
    Many,
}

/// What a flag means here.
#[derive(Clone, Copy, Debug)]
pub(super) enum Meaning {
    /// This option, with the same value, if there is one.
    Same(&'static str),
    /// The tool's own file reads it.
    Read,
    /// Nothing that could be typed: a sentence says why.
    Differs(&'static str),
}

/// A flag with one value, and the option that means the same with the same value.
pub(super) const fn same(option: &'static str, names: &'static str) -> Flags {
    Flags { takes: Takes::One, means: Meaning::Same(option), names }
}

/// A flag without a value, and the option that means the same.
pub(super) const fn switch(option: &'static str, names: &'static str) -> Flags {
    Flags { takes: Takes::Nothing, means: Meaning::Same(option), names }
}

/// Flags that the tool's own file reads.
pub(super) const fn read(takes: Takes, names: &'static str) -> Flags {
    Flags { takes, means: Meaning::Read, names }
}

/// Flags without an option that means the same, and why.
pub(super) const fn differs(takes: Takes, why: &'static str, names: &'static str) -> Flags {
    Flags { takes, means: Meaning::Differs(why), names }
}

impl Flags {
    /// The name by which the tool's file knows a flag.
    pub(super) fn first_name(&self, typed: &str) -> Option<&'static str> {
        let all = self.names.split_whitespace();
        all.map(|names| names.split('|')).find_map(|mut names| {
            let first = names.clone().next()?;
            names.any(|name| name == typed).then_some(first)
        })
    }
}

/// The flags of a command line, as its tool's table reads them.
#[derive(Debug, Default)]
pub(super) struct TypedFlags {
    /// Those of the table in their order, each with its values.
    pub(super) known: Vec<(&'static str, Meaning, Vec<String>)>,
    /// The others, with what follows them.
    pub(super) unknown: Vec<String>,
}

impl TypedFlags {
    pub(super) fn read(table: &[Flags], words: &[String]) -> Self {
        let mut typed = Self::default();
        let mut words = words.iter().peekable();
        while let Some(word) = words.next() {
            let (name, value) = match word.split_once('=') {
                Some((name, value)) if is_flag(name) => (name, Some(value.to_owned())),
                _ => (word.as_str(), None),
            };
            // Python's tools take underscores for hyphens.
            let name = if name.starts_with("--") { name.replace('_', "-") } else { name.to_owned() };
            let mut values: Vec<String> = value.into_iter().collect();
            let flag = table.iter().find_map(|flags| Some((flags.first_name(&name)?, flags)));
            if let Some((name, Flags { takes, means, .. })) = flag {
                match takes {
                    Takes::One if values.is_empty() => values.extend(words.next().cloned()),
                    Takes::Many => values.extend(up_to_the_next_flag(&mut words)),
                    Takes::Nothing | Takes::One => {}
                }
                typed.known.push((name, *means, values));
            } else {
                if is_flag(&name) {
                    values.extend(up_to_the_next_flag(&mut words));
                }
                typed.unknown.push([vec![name], values].concat().join(" "));
            }
        }
        typed
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.known.iter().any(|(known, ..)| *known == name)
    }

    /// The value of a flag; the last counts.
    pub(super) fn one(&self, name: &str) -> Option<&str> {
        self.all(name).last().copied()
    }

    /// All values of a flag, in their order.
    pub(super) fn all(&self, name: &str) -> Vec<&str> {
        let given = self.known.iter().filter(|(known, ..)| *known == name);
        given.flat_map(|(.., values)| values.iter().map(String::as_str)).collect()
    }
}

fn up_to_the_next_flag(words: &mut Peekable<Iter<'_, String>>) -> Vec<String> {
    std::iter::from_fn(|| words.next_if(|word| !is_flag(word)).cloned()).collect()
}

/// Whether a word begins a flag; a negative number does not.
fn is_flag(word: &str) -> bool {
    let Some(name) = word.strip_prefix('-') else { return false };
    word.starts_with("--") || name.starts_with(|letter: char| letter.is_ascii_alphabetic())
}
