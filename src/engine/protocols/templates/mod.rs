//! Protocols that are templates: a body with placeholders, and the places of what its answers say.

mod answers;
pub(in crate::engine) mod body;
pub(super) mod file;
#[cfg(test)]
pub(in crate::engine) mod tests;
