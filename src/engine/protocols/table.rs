//! The table of protocols.

use super::chat::CHAT;
use super::choices::TRANSCRIPTIONS;
use super::completions::COMPLETIONS;
use super::generate::GENERATE;
use super::items::{EMBEDDINGS, RERANK, SCORE};
use super::messages::MESSAGES;
use super::protocol::Protocol;
use super::responses::RESPONSES;
use super::templates::file::READY_MADE;
use super::tokens::TOKENS;
use crate::workload::InputBatch;

impl Protocol {
    /// Protocols with files of their own, the default first.
    const OWN: [&'static Self; 10] =
        [&CHAT, &COMPLETIONS, &RESPONSES, &MESSAGES, &GENERATE, &TOKENS, &TRANSCRIPTIONS, &EMBEDDINGS, &RERANK, &SCORE];

    /// Every protocol, the default first; the ready-made templates last.
    pub fn all() -> impl Iterator<Item = &'static Self> + Clone {
        Self::OWN.into_iter().chain(READY_MADE.iter().copied())
    }

    /// The protocol of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::all().find(|protocol| protocol.name == name)
    }

    /// The inputs of its requests, of which so many were typed. `None` where answers are texts.
    ///
    /// # Errors
    ///
    /// Refusal of a batch where requests have one prompt, with the cure.
    pub(crate) fn inputs_of(&self, typed: Option<u32>) -> Result<Option<InputBatch>, String> {
        match (self.inputs, typed) {
            (None, Some(batch)) => Err(format!(
                "--batch {batch}: a request to the endpoint {self} has one prompt\n\
                 hint: leave it out, or give --endpoint {}",
                self.another(|other| other.inputs.is_some())
            )),
            (usual, typed) => Ok(usual.map(|usual| InputBatch { size: typed.unwrap_or(usual.size), ..usual })),
        }
    }

    /// The first other protocol that `can`, for advice.
    pub fn another(&self, can: impl Fn(&Self) -> bool) -> &'static Self {
        Self::all().find(|other| *other != self && can(other)).unwrap_or_default()
    }
}

impl Default for &Protocol {
    fn default() -> Self {
        Protocol::OWN[0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guide_has_a_row_of_each() {
        let guide = include_str!("../../guide/first-run.md");
        for protocol in Protocol::all() {
            let forced = protocol.forces.fields().map_or("none", |fields| fields).replace(" and ", "`, `");
            let seed = if protocol.takes("seed") { "yes" } else { "no" };
            let row = guide.lines().find(|line| line.starts_with(&format!("| `{protocol}` | `{}` |", protocol.path)));
            let row = row.unwrap_or_else(|| panic!("{protocol} has no row"));
            // Templates have names of their own for these fields.
            let forced = if protocol.template.is_some() { String::new() } else { forced };
            assert!(row.contains(&forced) && row.ends_with(&format!("| {seed} |")), "{row}");
        }
    }
}
