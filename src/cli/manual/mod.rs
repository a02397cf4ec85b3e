//! What the program says of itself: the guide, man pages, completions for shells.

pub(super) mod completions;
pub(super) mod guide;
pub(super) mod man;
mod page;
mod search;
