//! The table of protocols.

use super::chat::CHAT;
use super::completions::COMPLETIONS;
use super::protocol::Protocol;

impl Protocol {
    /// Every protocol, the default first.
    pub const ALL: [&'static Self; 2] = [&CHAT, &COMPLETIONS];

    /// The protocol of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::ALL.into_iter().find(|protocol| protocol.name == name)
    }

    /// The first other protocol that `can`, for advice.
    pub fn another(&self, can: impl Fn(&Self) -> bool) -> &'static Self {
        Self::ALL.into_iter().find(|other| *other != self && can(other)).unwrap_or_default()
    }

    /// Whether a request's prompt is in this field.
    pub(crate) fn is_prompt_field(name: &str) -> bool {
        Self::ALL.into_iter().any(|protocol| protocol.prompt_field == name)
    }
}

impl Default for &Protocol {
    fn default() -> Self {
        Protocol::ALL[0]
    }
}
