//! The ready-made workloads inside the binary, and how a workload is found by its name or its path.

use std::path::Path;

use super::spec::WorkloadSpec;
use crate::workload::prompt::source::PromptSource;
use crate::workload::reading::mistakes::SpecError;
use crate::workload::reading::near::nearest;
use crate::workload::trace::source::{Trace, TraceSurvey};

/// Name and text, in the order of `skyline workloads`.
const LIBRARY: [(&str, &str); 12] = [
    ("short_chat", include_str!("../../workloads/short_chat.toml")),
    ("long_rag", include_str!("../../workloads/long_rag.toml")),
    ("bursty_mix", include_str!("../../workloads/bursty_mix.toml")),
    ("chat", include_str!("../../workloads/chat.toml")),
    ("code_generation", include_str!("../../workloads/code_generation.toml")),
    ("long_context_qa", include_str!("../../workloads/long_context_qa.toml")),
    ("summarization", include_str!("../../workloads/summarization.toml")),
    ("agents", include_str!("../../workloads/agents.toml")),
    ("batch_offline", include_str!("../../workloads/batch_offline.toml")),
    ("prefill_heavy", include_str!("../../workloads/prefill_heavy.toml")),
    ("decode_heavy", include_str!("../../workloads/decode_heavy.toml")),
    ("smoke", include_str!("../../workloads/smoke.toml")),
];

/// The names, in the order in which they are listed.
pub fn names() -> impl Iterator<Item = &'static str> {
    LIBRARY.iter().map(|(name, _)| *name)
}

/// The TOML text of a workload, comments and all: the best start for one's own.
#[must_use]
pub fn source(name: &str) -> Option<&'static str> {
    LIBRARY.iter().find(|(known, _)| *known == name).map(|(_, source)| *source)
}

/// Every workload, read, in the order in which they are listed.
pub fn all() -> Result<Vec<WorkloadSpec>, SpecError> {
    LIBRARY.iter().map(|(name, source)| WorkloadSpec::from_toml(source, name)).collect()
}

impl WorkloadSpec {
    /// Loads a workload of the library by its name, or a file that ends in `.toml` or `.json` by its path.
    /// A name of the library wins over a file; write `./name` for the file.
    /// One with a trace is loaded by [`WorkloadSpec::load_with`].
    pub fn load(name_or_path: &str) -> Result<Self, SpecError> {
        Self::load_with(name_or_path, &super::spec::unread)
    }

    /// Loads a workload as [`WorkloadSpec::load`] does; `survey` reads its trace, if it has one. Relative paths
    /// in a file, the trace's among them, begin at the folder of that file.
    pub fn load_with(name_or_path: &str, survey: TraceSurvey<'_>) -> Result<Self, SpecError> {
        if let Some(source) = source(name_or_path) {
            return Self::from_toml_with(source, name_or_path, survey);
        }
        let path = Path::new(name_or_path);
        let read = match path.extension().and_then(|extension| extension.to_str()) {
            Some(extension) if extension.eq_ignore_ascii_case("toml") => Self::from_toml_in,
            Some(extension) if extension.eq_ignore_ascii_case("json") => Self::from_json_in,
            // A bare word without a file behind it was meant as a name.
            _ if !path.exists() && path.components().count() == 1 => {
                let nearest = nearest(name_or_path, names());
                let library = names().collect();
                return Err(SpecError::Unknown { name: name_or_path.to_owned(), nearest, library });
            }
            _ => return Err(SpecError::Format { path: path.to_owned() }),
        };
        let text = std::fs::read_to_string(path)
            .map_err(|cause| SpecError::Unreadable { path: path.to_owned(), cause })?;
        // Editors on Windows put a byte-order mark before the text.
        let folder = path.parent().unwrap_or(Path::new(""));
        let survey = |trace: &mut Trace, seed| {
            trace.anchor(folder);
            survey(trace, seed)
        };
        let mut spec = read(folder, text.trim_start_matches('\u{feff}'), name_or_path, &survey)?;
        spec.anchor(folder);
        Ok(spec)
    }

    /// Lets the relative paths of what the classes name begin at `folder`.
    fn anchor(&mut self, folder: &Path) {
        for class in &mut self.classes {
            if let PromptSource::Dataset(dataset) = &mut class.prompt {
                dataset.anchor(folder);
            }
            if let Some(images) = &mut class.images {
                images.anchor(folder);
            }
        }
    }
}
