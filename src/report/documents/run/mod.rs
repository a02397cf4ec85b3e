//! A run as a document: a section to a file.

mod answers;
mod charts;
mod document;
mod flow;
mod groups;
mod head;
mod latency;
pub(crate) mod paired_open;
mod server;
mod sessions;
mod setup;
mod slo;
#[cfg(test)]
mod tests;
mod troubles;

pub use document::document;
