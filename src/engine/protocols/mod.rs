//! Protocols: how a request becomes a body, how its answer is read, what an endpoint can do. One is a file and a row.

mod chat;
mod choices;
mod completions;
mod prompt;
pub(super) mod protocol;
mod table;
#[cfg(test)]
mod toy;

pub use chat::CHAT;
pub use completions::COMPLETIONS;
pub use protocol::Protocol;
#[cfg(test)]
pub(crate) use toy::ECHO;
