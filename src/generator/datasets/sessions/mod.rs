//! Sessions from files: graphs of requests, with the texts or the blocks of their prompts.
//!
//! A file consists of items: its lines, the elements of its list, or the files of a folder. The reader of a format
//! turns them into sessions.

mod blocks;
mod chats;
mod convert;
mod layouts;
mod mooncake;
mod order;
mod pieces;
mod read;
mod recorded;
mod rows;
mod session;
mod shared;
mod show;
mod stored;
mod tracelab;
mod weka;

pub use layouts::session_layout;
pub(super) use read::survey;
pub(crate) use shared::SentPrompts;
pub(in crate::generator) use show::session_starts;
pub use show::{ShownSessions, has_moments};
pub(crate) use stored::{FilePromptText, SessionStart, SessionStore};
