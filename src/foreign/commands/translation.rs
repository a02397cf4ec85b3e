//! What a command line of another tool becomes: our words, and what differs.

use serde_json::{Map, Value};

use super::flags::{Meaning, TypedFlags};
use super::sentences::TIME_OR_NUMBER;
use super::values::positive;

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
    /// Flags, perhaps with their values, or a subject.
    pub(crate) about: String,
    /// How it differs, or why there is no equal.
    pub(crate) sentence: String,
}

/// A translation in the making.
#[derive(Debug)]
pub(super) struct Builder {
    verb: &'static str,
    seconds: Option<String>,
    options: Vec<String>,
    /// Options of the same meaning and value, if they have one; they stand last.
    same: Vec<(&'static str, Option<String>)>,
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
        for (name, means, values) in &typed.known {
            match means {
                Meaning::Same(option) => {
                    // Of a flag that is repeated, the last counts.
                    builder.same.retain(|(before, _)| before != option);
                    builder.same.push((option, values.last().cloned()));
                }
                Meaning::Differs(sentence) => builder.differs(*name, *sentence),
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
        let is_closed = |two: &[String]| two[0] == "--users" || (two[0] == "--rate" && two[1] == "inf");
        if self.options.windows(2).any(is_closed) { "sending" } else { "the scheduled moment" }
    }

    /// Says what differs about something; of several things it says the same once.
    pub(super) fn differs(&mut self, about: impl Into<String>, sentence: impl Into<String>) {
        let (about, sentence) = (about.into(), sentence.into());
        match self.differences.iter_mut().find(|gap| gap.sentence == sentence) {
            Some(gap) => gap.about = format!("{}, {about}", gap.about),
            None => self.differences.push(TranslationGap { about, sentence }),
        }
    }

    /// How long a run lasts; `count` is the tool's flag for a number of requests.
    pub(super) fn length(&mut self, seconds: Option<&str>, requests: Option<&str>, count: &str) {
        match (seconds, requests) {
            (Some(seconds), requests) => {
                self.seconds = Some(seconds.to_owned());
                if requests.is_some() {
                    self.differs(count, TIME_OR_NUMBER);
                }
            }
            (None, requests) => self.counted(requests),
        }
    }

    /// How many requests a run has.
    pub(super) fn counted(&mut self, requests: Option<&str>) {
        if let Some(requests) = requests.filter(|number| positive(number).is_some()) {
            self.option(if self.is_sweep() { "--samples" } else { "--requests" }, requests);
        }
    }

    /// Bounds such as `ttft:500`, by the names that a tool has for them.
    pub(super) fn goodput(&mut self, typed: &TypedFlags, names: &[(&str, &str)]) {
        let mut bounds = Vec::new();
        for pair in typed.all("--goodput").iter().flat_map(|pairs| pairs.split_whitespace()) {
            let bound = pair.split_once(':').and_then(|(name, ms)| {
                let (_, ours) = names.iter().find(|(theirs, _)| *theirs == name)?;
                Some(format!("{ours}={ms}ms"))
            });
            match bound {
                Some(bound) => bounds.push(bound),
                None => {
                    self.differs(
                        format!("--goodput {pair}"),
                        "no such bound: SLOs are on ttft, tpot and e2e",
                    );
                }
            }
        }
        if !bounds.is_empty() {
            self.option("--slo", bounds.join(","));
            let origin = self.latency_origin();
            self.differs(
                "--goodput",
                format!("TTFT and e2e count from {origin}, and failed requests are never good"),
            );
        }
    }

    /// Fields of every body.
    pub(super) fn body(&mut self, fields: Map<String, Value>) {
        if !fields.is_empty() {
            self.option("--extra-body", Value::Object(fields).to_string());
        }
    }

    pub(super) fn finish(mut self, typed: TypedFlags) -> Translation {
        for (option, value) in std::mem::take(&mut self.same) {
            match value {
                Some(value) => self.option(option, value),
                None => self.switch(option),
            }
        }
        let words = ["skyline", self.verb].map(str::to_owned).into_iter();
        Translation {
            words: words.chain(self.seconds).chain(self.options).collect(),
            differences: self.differences,
            unknown: typed.unknown,
        }
    }
}
