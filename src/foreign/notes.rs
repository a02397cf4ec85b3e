//! What is said of the results of each tool, embedded as TOML.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::tool::ForeignTool;
use crate::analysis::ChecklistRule;

/// The notes on one tool.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolNotes {
    /// Description of its results, for the message about a wrong file.
    looks_like: String,
    /// Its figures without an equivalent here, each with the reason.
    refused: Vec<(String, String)>,
    /// Cure of an item of the checklist in the tool's own options.
    cures: HashMap<ChecklistRule, String>,
}

/// The notes on all of them.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct AllNotes {
    /// Reasons of several tools, by a word.
    reasons: HashMap<String, String>,
    cures: HashMap<ChecklistRule, String>,
    vllm: ToolNotes,
    sglang: ToolNotes,
    guidellm: ToolNotes,
    aiperf: ToolNotes,
}

/// The embedded notes, which a test reads.
static NOTES: LazyLock<AllNotes> =
    LazyLock::new(|| toml::from_str(include_str!("notes.toml")).unwrap_or_default());

impl ForeignTool {
    fn notes(self) -> &'static ToolNotes {
        match self {
            Self::Vllm => &NOTES.vllm,
            Self::Sglang => &NOTES.sglang,
            Self::GuideLlm => &NOTES.guidellm,
            Self::AiPerf => &NOTES.aiperf,
        }
    }

    /// Description of its results, for the message about a wrong file.
    pub(super) fn looks_like(self) -> &'static str {
        &self.notes().looks_like
    }

    /// The names of its figures without an equivalent here, each with the reason.
    pub(super) fn refused(self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let reason = |reason| NOTES.reasons.get(reason).unwrap_or(reason).as_str();
        self.notes().refused.iter().map(move |(name, why)| (name.as_str(), reason(why)))
    }

    /// Its own cures, and those of every tool.
    pub(super) fn cures(self) -> Vec<(ChecklistRule, &'static str)> {
        let all = self.notes().cures.iter().chain(&NOTES.cures);
        all.map(|(rule, cure)| (*rule, cure.as_str())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_has_its_notes() {
        let notes: AllNotes = toml::from_str(include_str!("notes.toml")).unwrap();
        for notes in [notes.vllm, notes.sglang, notes.guidellm, notes.aiperf] {
            assert!(notes.refused.len() > 8 && notes.cures.len() > 5 && !notes.looks_like.is_empty());
        }
    }
}
