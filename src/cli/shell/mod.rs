//! What a shell and a system want of a program: completions and man pages.

pub(super) mod completions;
pub(super) mod man;
