//! Figures of other tools without an equivalent here, with the reason.

use serde::Serialize;

use super::fields::ResultFields;

/// A figure that is not taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct UnmatchedFigure {
    /// The tool's name; `*` stands for any ending.
    pub name: &'static str,
    /// Why it has no equivalent.
    pub reason: &'static str,
}

/// A total over everything.
pub(super) const TOTAL: &str =
    "a total over the whole run, its end included; ours are rates over a window of steady load";
/// Prompt and answer tokens added up.
pub(super) const BLENDED: &str = "adds prompt and answer tokens, which cost a server very different work";
/// Goodput of another kind.
pub(super) const OTHER_GOODPUT: &str = "its bounds count from sending and leave failed requests out or are not in the file; ours counts from the schedule";

impl UnmatchedFigure {
    /// Those of `all` that `fields` contains.
    pub(super) fn found(all: &[(&'static str, &'static str)], fields: &ResultFields<'_>) -> Vec<Self> {
        let is_there = |name: &str| match name.strip_suffix('*') {
            Some(start) => fields.keys().any(|key| key.starts_with(start)),
            None => fields.keys().any(|key| key == name),
        };
        all.iter().filter(|(name, _)| is_there(name)).map(|&(name, reason)| Self { name, reason }).collect()
    }
}
