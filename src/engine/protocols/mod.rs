//! Protocols: how a request becomes a body, how its answer is read, what an endpoint can do. One is a file and a row.

mod chat;
mod choices;
mod completions;
mod dialogue;
mod generate;
pub(super) mod items;
pub(super) mod limits;
mod messages;
mod prompt;
pub(super) mod protocol;
#[cfg(test)]
mod recorded;
mod responses;
mod shapes;
mod table;
pub(super) mod templates;
mod tokens;
#[cfg(test)]
mod toy;
mod typed;
mod usage;

pub use chat::CHAT;
pub use choices::TRANSCRIPTIONS;
pub use completions::COMPLETIONS;
pub use generate::GENERATE;
pub use items::{EMBEDDINGS, RERANK, SCORE};
pub use messages::MESSAGES;
pub use protocol::Protocol;
pub use responses::RESPONSES;
pub use tokens::TOKENS;
#[cfg(test)]
pub(crate) use toy::ECHO;
