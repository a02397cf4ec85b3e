//! Mistakes in a spec, in the words that a user reads.

use std::cell::RefCell;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why there is no workload. Its `Display` is the complete message: what happened and the cure.
#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    /// No workload of the library has this name.
    #[error("no workload is called `{name}`{}\n  the library has: {}\n  or give the path of a .toml or .json file",
        nearest.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default(), library.join(", "))]
    Unknown {
        /// The name asked for.
        name: String,
        /// The closest name of the library, if one is close.
        nearest: Option<&'static str>,
        /// Every name of the library.
        library: Vec<&'static str>,
    },
    /// The file cannot be read.
    #[error("cannot read {}: {cause}{}", path.display(), to_begin_with(example, path, cause))]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        cause: io::Error,
        /// The command that prints such a file.
        example: &'static str,
    },
    /// The file's name ends in neither `.toml` nor `.json`.
    #[error("unknown format of {}; its name must end in .toml or .json", path.display())]
    Format {
        /// The file.
        path: PathBuf,
    },
    /// An address of a server was given.
    #[error("`{address}` is an address, not a workload\nhint: --url names the server: short_chat 60 --url {address}")]
    Address {
        /// Address that was given.
        address: String,
    },
    /// The spec was read and is wrong.
    #[error("{}", listing(origin, mistakes))]
    Mistakes {
        /// Where the spec comes from: a path, a name, `the command line`.
        origin: String,
        /// Everything wrong with it, from the top down.
        mistakes: Vec<SpecMistake>,
    },
}

/// How to make the file, where it is not there.
fn to_begin_with(example: &str, path: &Path, cause: &io::Error) -> String {
    if cause.kind() != io::ErrorKind::NotFound {
        return String::new();
    }
    format!("\nhint: to begin with an example: `{example} > {}`", path.display())
}

/// One mistake in a spec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecMistake {
    /// Line of the file, counted from 1. There is none when the spec does not come from a file.
    pub line: Option<usize>,
    /// The field's path, what was found there and what may stand there.
    pub message: String,
}

impl fmt::Display for SpecMistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        f.write_str(&self.message)
    }
}

fn listing(origin: &str, mistakes: &[SpecMistake]) -> String {
    /// A file in a wrong format has thousands of mistakes; this many are enough.
    const SHOWN: usize = 50;
    let noun = if mistakes.len() == 1 { "mistake" } else { "mistakes" };
    let mut lines = vec![format!("{} {noun} in {origin}", mistakes.len())];
    lines.extend(mistakes.iter().take(SHOWN).map(SpecMistake::to_string));
    if mistakes.len() > SHOWN {
        lines.push(format!("… and {} more", mistakes.len() - SHOWN));
    }
    lines.join("\n  ")
}

/// Mistakes found so far, shared by all readers of one tree. They have the folder at which its relative paths begin.
#[derive(Debug, Default)]
pub(crate) struct Mistakes {
    list: RefCell<Vec<SpecMistake>>,
    /// Absent where the tree is not that of a file.
    pub(super) folder: Option<PathBuf>,
}

impl Mistakes {
    pub(crate) fn from_list(mistakes: Vec<SpecMistake>) -> Self {
        Self { list: RefCell::new(mistakes), folder: None }
    }

    pub(crate) fn in_folder(folder: Option<&Path>) -> Self {
        Self { folder: folder.map(Path::to_owned), ..Self::default() }
    }

    pub(crate) fn add(&self, line: Option<usize>, message: String) {
        self.list.borrow_mut().push(SpecMistake { line, message });
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.borrow().is_empty()
    }

    /// All of them as one text, without lines.
    pub(crate) fn sentences(self) -> String {
        let sentences: Vec<_> = self.list.into_inner().into_iter().map(|mistake| mistake.message).collect();
        sentences.join("; ")
    }

    /// The error that lists them by line; those without a line come last.
    pub(crate) fn into_error(self, origin: &str) -> SpecError {
        let mut mistakes = self.list.into_inner();
        mistakes.sort_by_key(|mistake| mistake.line.unwrap_or(usize::MAX));
        SpecError::Mistakes { origin: origin.to_owned(), mistakes }
    }
}

/// Returns the candidate closest to what was typed, if close enough to suggest. One continues the other, or at most a
/// third of the letters differ (at least one), or the two begin alike.
pub(crate) fn nearest<'c>(typed: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    /// Letters that two names must share at the start to begin alike.
    const STEM: usize = 4;
    let typed = typed.to_lowercase().replace('-', "_");
    candidates
        .into_iter()
        .filter_map(|candidate| {
            let continues = typed.len().min(candidate.len()) >= 3
                && (candidate.starts_with(&typed) || typed.starts_with(candidate));
            let edits = strsim::osa_distance(&typed, candidate);
            let few = edits <= (candidate.len().max(typed.len()) / 3).max(1);
            let alike = common_prefix(&typed, candidate) >= STEM.max(typed.len().min(candidate.len()) / 2);
            (continues || few || alike).then_some((!continues, edits, candidate))
        })
        .min()
        .map(|(_, _, candidate)| candidate)
}

fn common_prefix(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_misses_find_their_name() {
        let fields =
            ["kind", "rate_per_s", "base_rate_per_s", "base_s", "ttft_ms", "output_tokens", "input_tokens", "std"];
        for (typed, meant) in [
            ("rate", Some("rate_per_s")),
            ("rate-per-s", Some("rate_per_s")),
            ("base_rate", Some("base_rate_per_s")),
            ("ttft", Some("ttft_ms")),
            ("stddev", Some("std")),
            ("Kind", Some("kind")),
            ("output_len", Some("output_tokens")),
            ("input_token", Some("input_tokens")),
            ("sdt", Some("std")),
            ("colour", None),
            ("", None),
        ] {
            assert_eq!(nearest(typed, fields), meant, "{typed}");
        }
    }
}
