//! What a command line of another tool becomes: our words, and what differs.

use super::flags::{Flag, Meaning, TypedFlags};

/// A command line of another tool, said with the options of this program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Translation {
    /// The command, word by word; the first is `skyline`.
    pub(crate) words: Vec<String>,
    /// What is otherwise, flag by flag, then of the whole.
    pub(crate) differences: Vec<TranslationGap>,
    /// Flags that the tool's table does not have, with their values.
    pub(crate) unknown: Vec<String>,
}

/// What differs about something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TranslationGap {
    /// A flag as it was typed, or a subject.
    pub(crate) about: String,
    /// How it differs, or why there is no equal.
    pub(crate) sentence: String,
}

/// The flags behind one of these beginnings of a command line: words that follow one another, the first perhaps with a
/// path before it. Variables that are set before the command are passed over.
pub(super) fn flags_behind<'w>(words: &'w [String], beginnings: &[&[&str]]) -> Option<&'w [String]> {
    let is_variable = |word: &String| word.split_once('=').is_some_and(|(name, _)| !name.starts_with('-'));
    let first = words.iter().position(|word| !is_variable(word))?;
    let words = &words[first..];
    let matches = |beginning: &&&[&str]| {
        let same =
            |(word, expected): (&String, &&str)| word == expected || word.ends_with(&format!("/{expected}"));
        words.len() >= beginning.len() && words.iter().zip(beginning.iter()).all(same)
    };
    beginnings.iter().filter(matches).map(|beginning| beginning.len()).max().map(|length| &words[length..])
}

/// A translation in the making.
#[derive(Debug)]
pub(super) struct Builder {
    verb: &'static str,
    seconds: Option<String>,
    options: Vec<String>,
    /// Options of the same meaning and value, which stand last.
    same: Vec<(&'static str, String)>,
    differences: Vec<TranslationGap>,
}

impl Builder {
    /// Begins with the flags that have an option of the same meaning, or none.
    pub(super) fn new(typed: &TypedFlags) -> Self {
        let mut builder = Self {
            verb: "bench",
            seconds: None,
            options: Vec::new(),
            same: Vec::new(),
            differences: Vec::new(),
        };
        for (Flag { names, means, .. }, values) in &typed.known {
            match means {
                Meaning::Same(option) => {
                    // Of a flag that is repeated, the last counts.
                    builder.same.retain(|(before, _)| before != option);
                    builder.same.push((option, values.last().cloned().unwrap_or_default()));
                }
                Meaning::Differs(sentence) => builder.differs(names[0], *sentence),
                Meaning::Read => {}
            }
        }
        builder
    }

    /// A sweep in place of a run.
    pub(super) fn sweep(&mut self) {
        self.verb = "sweep";
    }

    pub(super) fn is_sweep(&self) -> bool {
        self.verb == "sweep"
    }

    pub(super) fn seconds(&mut self, seconds: &str) {
        self.seconds = Some(seconds.to_owned());
    }

    pub(super) fn option(&mut self, option: &str, value: impl Into<String>) {
        let value = value.into();
        if value.starts_with('-') {
            self.options.push(format!("{option}={value}"));
        } else {
            self.options.extend([option.to_owned(), value]);
        }
    }

    pub(super) fn switch(&mut self, option: &str) {
        self.options.push(option.to_owned());
    }

    /// From when latencies count under the load that was translated.
    pub(super) fn latency_origin(&self) -> &'static str {
        let is_closed = |two: &[String]| two[0] == "--users" || (two[0] == "--rate" && two[1] == "max");
        if self.options.windows(2).any(is_closed) { "sending" } else { "the scheduled moment" }
    }

    pub(super) fn differs(&mut self, about: impl Into<String>, sentence: impl Into<String>) {
        self.differences.push(TranslationGap { about: about.into(), sentence: sentence.into() });
    }

    pub(super) fn finish(mut self, typed: TypedFlags) -> Translation {
        for (option, value) in std::mem::take(&mut self.same) {
            self.option(option, value);
        }
        let words = ["skyline", self.verb].map(str::to_owned).into_iter();
        Translation {
            words: words.chain(self.seconds).chain(self.options).collect(),
            differences: self.differences,
            unknown: typed.unknown,
        }
    }
}
