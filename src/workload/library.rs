//! The ready-made workloads inside the binary, one TOML file each.

use super::{SpecError, WorkloadSpec};

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
