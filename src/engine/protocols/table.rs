//! The table of protocols.

use super::chat::CHAT;
use super::completions::COMPLETIONS;
use super::generate::GENERATE;
use super::messages::MESSAGES;
use super::protocol::Protocol;
use super::responses::RESPONSES;

impl Protocol {
    /// Every protocol, the default first.
    pub const ALL: [&'static Self; 5] = [&CHAT, &COMPLETIONS, &RESPONSES, &MESSAGES, &GENERATE];

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guide_has_a_row_of_each() {
        let guide = include_str!("../../guide/first-run.md");
        for protocol in Protocol::ALL {
            let forced = protocol.forces.fields().map_or("none", |fields| fields).replace(" and ", "`, `");
            let seed = if protocol.takes("seed") { "yes" } else { "no" };
            let row = guide.lines().find(|line| line.starts_with(&format!("| `{protocol}` | `{}` |", protocol.path)));
            let row = row.unwrap_or_else(|| panic!("{protocol} has no row"));
            assert!(row.contains(&forced) && row.ends_with(&format!("| {seed} |")), "{row}");
        }
    }
}
