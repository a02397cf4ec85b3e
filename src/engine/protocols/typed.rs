//! Members of documents that say their type.

use std::borrow::Cow;

use crate::engine::stream::chunk::loose::{LooseValue, MemberList};

/// The value of the last member of this name.
pub(super) fn found<'a>(members: &MemberList<'a>, wanted: &str) -> Option<LooseValue<'a>> {
    members.iter().rfind(|(name, _)| name == wanted).map(|(_, value)| LooseValue(value))
}

/// The string that a member of this name is.
pub(super) fn word<'a>(members: &MemberList<'a>, wanted: &str) -> Option<Cow<'a, str>> {
    found(members, wanted)?.string()
}

/// The parts of a text as one, without a copy where there is only one.
pub(super) fn joined(mut parts: Vec<Cow<'_, str>>) -> Cow<'_, str> {
    match parts.len() {
        0 | 1 => parts.pop().unwrap_or_default(),
        _ => Cow::Owned(parts.concat()),
    }
}
