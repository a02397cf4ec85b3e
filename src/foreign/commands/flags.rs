//! A tool's table of flags, and a command line read by it.

/// A flag of a tool.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flag {
    /// Its names; the tool's file knows it by the first.
    pub(super) names: &'static [&'static str],
    takes: Takes,
    pub(super) means: Meaning,
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
    /// This option, with the same value.
    Same(&'static str),
    /// The tool's own file reads it.
    Read,
    /// Nothing that could be typed: a sentence says why.
    Differs(&'static str),
}

/// A flag with one value, and the option that means the same with the same value.
pub(super) const fn same(names: &'static [&'static str], option: &'static str) -> Flag {
    Flag { names, takes: Takes::One, means: Meaning::Same(option) }
}

/// A flag that the tool's own file reads.
pub(super) const fn read(names: &'static [&'static str], takes: Takes) -> Flag {
    Flag { names, takes, means: Meaning::Read }
}

/// A flag without an option that means the same, and why.
pub(super) const fn differs(names: &'static [&'static str], takes: Takes, why: &'static str) -> Flag {
    Flag { names, takes, means: Meaning::Differs(why) }
}

/// The flags of a command line, as its tool's table reads them.
#[derive(Debug, Default)]
pub(super) struct TypedFlags {
    /// Those of the table in their order, each with its values.
    pub(super) known: Vec<(&'static Flag, Vec<String>)>,
    /// The others, with what follows them.
    pub(super) unknown: Vec<String>,
}

impl TypedFlags {
    pub(super) fn read(table: &'static [Flag], words: &[String]) -> Self {
        let mut typed = Self::default();
        let mut words = words.iter().peekable();
        while let Some(word) = words.next() {
            let (name, value) = match word.split_once('=') {
                Some((name, value)) if is_flag(name) => (name, Some(value.to_owned())),
                _ => (word.as_str(), None),
            };
            // Python's tools take underscores for hyphens.
            let name = if name.starts_with("--") { name.replace('_', "-") } else { name.to_owned() };
            let flag = table.iter().find(|flag| flag.names.contains(&name.as_str()));
            let mut values: Vec<String> = value.into_iter().collect();
            let many = |words: &mut std::iter::Peekable<std::slice::Iter<'_, String>>| {
                std::iter::from_fn(|| words.next_if(|word| !is_flag(word)).cloned()).collect::<Vec<_>>()
            };
            if let Some(flag) = flag {
                match flag.takes {
                    Takes::One if values.is_empty() => values.extend(words.next().cloned()),
                    Takes::Many => values.extend(many(&mut words)),
                    Takes::Nothing | Takes::One => {}
                }
                typed.known.push((flag, values));
            } else {
                values.extend(if is_flag(&name) { many(&mut words) } else { Vec::new() });
                typed.unknown.push([vec![name], values].concat().join(" "));
            }
        }
        typed
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.known.iter().any(|(flag, _)| flag.names[0] == name)
    }

    /// The value of a flag; the last counts.
    pub(super) fn one(&self, name: &str) -> Option<&str> {
        self.all(name).last().copied()
    }

    /// All values of a flag, in their order.
    pub(super) fn all(&self, name: &str) -> Vec<&str> {
        let given = self.known.iter().filter(|(flag, _)| flag.names[0] == name);
        given.flat_map(|(_, values)| values.iter().map(String::as_str)).collect()
    }
}

/// Whether a word begins a flag; a negative number does not.
fn is_flag(word: &str) -> bool {
    let Some(name) = word.strip_prefix('-') else { return false };
    word.starts_with("--") || name.starts_with(|letter: char| letter.is_ascii_alphabetic())
}
