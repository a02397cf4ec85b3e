//! The ready-made workloads inside the binary, and how a workload is found by its name or its path.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use super::spec::WorkloadSpec;
use crate::workload::reading::file::parser;
use crate::workload::reading::mistakes::{Mistakes, SpecError, SpecMistake, nearest};
use crate::workload::reading::node::Node;
use crate::workload::reading::text::{parse_json, parse_toml};
use crate::workload::trace::source::TraceSurvey;

/// Name and text, in the order of `skyline workloads`.
const LIBRARY: [(&str, &str); 13] = [
    ("short_chat", include_str!("../../workloads/short_chat.toml")),
    ("long_rag", include_str!("../../workloads/long_rag.toml")),
    ("bursty_mix", include_str!("../../workloads/bursty_mix.toml")),
    ("chat", include_str!("../../workloads/chat.toml")),
    ("code_generation", include_str!("../../workloads/code_generation.toml")),
    ("long_context_qa", include_str!("../../workloads/long_context_qa.toml")),
    ("summarization", include_str!("../../workloads/summarization.toml")),
    ("agents", include_str!("../../workloads/agents.toml")),
    ("coding_agent", include_str!("../../workloads/coding_agent.toml")),
    ("batch_offline", include_str!("../../workloads/batch_offline.toml")),
    ("prefill_heavy", include_str!("../../workloads/prefill_heavy.toml")),
    ("decode_heavy", include_str!("../../workloads/decode_heavy.toml")),
    ("smoke", include_str!("../../workloads/smoke.toml")),
];

/// Name and text of those that need a file of the user.
const OF_FILES: [(&str, &str); 1] = [("agentx", include_str!("../../workloads/agentx.toml"))];

/// The names of those that need no file, in listing order.
pub fn names() -> impl Iterator<Item = &'static str> {
    LIBRARY.iter().map(|(name, _)| *name)
}

/// Returns the TOML text of a workload with its comments. It is a starting point for users' own files.
pub fn source(name: &str) -> Option<&'static str> {
    LIBRARY.iter().chain(&OF_FILES).find(|(known, _)| *known == name).map(|(_, source)| *source)
}

/// Every workload that needs no file, parsed, in listing order.
pub fn all() -> Result<Vec<WorkloadSpec>, SpecError> {
    parsed(&LIBRARY)
}

/// Every workload that needs a file of the user, parsed.
pub fn of_files() -> Result<Vec<WorkloadSpec>, SpecError> {
    parsed(&OF_FILES)
}

fn parsed(list: &[(&str, &str)]) -> Result<Vec<WorkloadSpec>, SpecError> {
    list.iter().map(|(name, source)| WorkloadSpec::from_toml(source, name)).collect()
}

fn unreadable(path: &Path, cause: io::Error) -> SpecError {
    SpecError::Unreadable { path: path.to_owned(), cause, example: "skyline workloads show short_chat" }
}

/// The tree of a text in a format.
fn tree(text: &str, parse: fn(&str) -> Result<Node, Mistakes>) -> Result<Node, Mistakes> {
    if text.trim().is_empty() {
        let message = "there is no workload in it; `skyline workloads show short_chat` prints one to start from";
        return Err(Mistakes::from_list(vec![SpecMistake { line: None, message: message.to_owned() }]));
    }
    // Editors on Windows write a byte-order mark before the text.
    parse(text.trim_start_matches('\u{feff}'))
}

/// Whether what was typed is an address of a server: `http://host`, `host:8000`.
pub(crate) fn is_address(typed: &str) -> bool {
    let port = |(host, port): (&str, &str)| !host.is_empty() && !host.contains('/') && port.parse::<u16>().is_ok();
    typed.contains("://") || typed.rsplit_once(':').is_some_and(port)
}

/// Largest workload, bytes; those of the library take a few kB.
const LARGEST: u64 = 16 << 20;

/// The text of a file, or a pipe, that is not too large.
fn text_of(file: impl Read) -> io::Result<String> {
    let mut text = String::new();
    if file.take(LARGEST + 1).read_to_string(&mut text)? as u64 > LARGEST {
        return Err(io::Error::other("it is larger than 16 MiB: this is no workload"));
    }
    Ok(text)
}

impl WorkloadSpec {
    /// Loads a workload of the library by its name, or a file by its path. The file is `.toml` or `.json`. A library
    /// name wins over a file; write `./name` for the file. `-` is standard input. A workload with a trace needs
    /// [`WorkloadSpec::load_with`].
    pub fn load(name_or_path: &str) -> Result<Self, SpecError> {
        Self::load_with(name_or_path, &super::trace::source::unread)
    }

    /// Loads a workload as [`WorkloadSpec::load`] does; `survey` reads its trace, if it has one. Relative paths in a
    /// file begin at the folder of that file.
    pub fn load_with(name_or_path: &str, survey: TraceSurvey<'_>) -> Result<Self, SpecError> {
        if let Some(source) = source(name_or_path) {
            return Self::from_toml_with(source, name_or_path, survey);
        }
        if name_or_path == "-" {
            return Self::from_standard_input(survey);
        }
        if is_address(name_or_path) {
            return Err(SpecError::Address { address: name_or_path.to_owned() });
        }
        let path = Path::new(name_or_path);
        let parse = match parser(path) {
            Some(parse) => parse,
            // A bare word that is no file was meant as a name.
            None if !path.exists() && path.components().count() == 1 => {
                let nearest = nearest(name_or_path, names());
                let library = names().chain(OF_FILES.map(|(name, _)| name)).collect();
                return Err(SpecError::Unknown { name: name_or_path.to_owned(), nearest, library });
            }
            None if path.is_dir() => return Err(unreadable(path, ErrorKind::IsADirectory.into())),
            None => return Err(SpecError::Format { path: path.to_owned() }),
        };
        let text = File::open(path).and_then(text_of).map_err(|cause| unreadable(path, cause))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        Self::from_node(tree(&text, parse), name_or_path, Some(folder), survey)
    }

    /// Reads a workload from standard input: JSON where it begins with a brace, else TOML.
    fn from_standard_input(survey: TraceSurvey<'_>) -> Result<Self, SpecError> {
        let text = text_of(io::stdin()).map_err(|cause| unreadable(Path::new("standard input"), cause))?;
        let is_json = text.trim_start_matches(['\u{feff}', ' ', '\n', '\r', '\t']).starts_with('{');
        let parsed = tree(&text, if is_json { parse_json } else { parse_toml });
        Self::from_node(parsed, "standard input", Some(Path::new("")), survey)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_without_an_end_is_no_workload() {
        let error = text_of(io::repeat(b'#')).unwrap_err().to_string();
        assert!(error.contains("larger than 16 MiB"), "{error}");
        assert_eq!(text_of(&b"name = 'a'"[..]).unwrap(), "name = 'a'");
    }
}
