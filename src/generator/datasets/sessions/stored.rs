//! The sessions of a file as a run needs them: their graphs, and what each request says.

use std::sync::Arc;
use std::time::Duration;

use super::blocks::{BlockTree, PromptBlocks};
use super::pieces::PieceTree;
use crate::generator::graph::session::SessionGraph;
use crate::generator::request::Dialogue;
use crate::random::RandomStream;
use crate::workload::{SaltScope, SessionRules};

/// The sessions of a file, with what is made of them.
#[derive(Debug)]
pub(crate) struct SessionStore {
    pub(super) rules: SessionRules,
    pub(super) sessions: Vec<StoredSession>,
    /// The texts of its sessions, where some have those of others.
    pub(super) pieces: PieceTree,
}

/// A session: its graph, and what its requests say, by their places.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct StoredSession {
    pub(super) graph: Arc<SessionGraph>,
    pub(super) says: Vec<StoredPrompt>,
    /// The blocks, or the pieces, of all prompts that have some.
    pub(super) blocks: Arc<BlockTree>,
    /// Moment of its first request on the file's clock, nanoseconds.
    pub(super) begins_ns: Option<i64>,
}

/// The beginning of a session of a file, on the clock of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SessionStart {
    pub(crate) at_ns: i64,
    /// The number of the session in the file.
    pub(crate) row: u64,
    /// Time to its last request if answers take none.
    pub(crate) lasts: Duration,
    /// Tokens of its first prompt, and of the answer to it.
    pub(crate) input_tokens: u32,
    pub(crate) output_tokens: u32,
}

/// Content of a request of a file.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum StoredPrompt {
    /// Blocks, each of so many tokens.
    Blocks { blocks: PromptBlocks, tokens: u32, is_local: bool },
    /// Messages after those of the request that it carries on, and the recorded answer.
    Messages {
        carries: Option<u32>,
        new: Box<str>,
        answer: Option<Box<str>>,
        tools: Option<Arc<str>>,
        /// The whole prompt in pieces, where other sessions may have them too.
        pieces: Option<PromptBlocks>,
    },
    /// Words of the run.
    Words,
}

/// Prompt of a request of a file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FilePromptText {
    /// Text that begins with these blocks, each of so many tokens.
    Blocks(Vec<u64>, u32),
    /// Messages of a chat.
    Dialogue(Dialogue),
    /// Words of the run.
    Words,
}

impl SessionStore {
    pub(super) fn session(&self, row: u64) -> Option<&StoredSession> {
        self.sessions.get(usize::try_from(row).ok()?)
    }

    /// The beginnings of those sessions of which the file says when they began.
    pub(crate) fn starts(&self) -> Vec<SessionStart> {
        let start = |(row, session): (u64, &StoredSession)| {
            let first = session.graph.nodes.first()?;
            Some(SessionStart {
                at_ns: session.begins_ns?,
                row,
                lasts: session.graph.lasts(),
                input_tokens: first.new_tokens,
                output_tokens: first.output_tokens,
            })
        };
        (0..).zip(&self.sessions).filter_map(start).collect()
    }

    /// The graph of session number `row`.
    pub(crate) fn graph(&self, row: u64) -> Option<&Arc<SessionGraph>> {
        self.session(row).map(|session| &session.graph)
    }

    /// Number of the texts of session number `row`. Its first request has the index `opener`. Sessions with another
    /// number have other texts.
    pub(crate) fn salt(&self, row: u64, opener: u64) -> u64 {
        match self.rules.salt {
            SaltScope::Session => opener,
            SaltScope::Trajectory | SaltScope::Run => row,
        }
    }

    /// Whether texts get words of their session before them.
    pub(crate) fn leads(&self) -> bool {
        self.rules.salt != SaltScope::Run
    }

    /// Content of the request at `place` of session number `row`. It is all of its prompt, or what is new in it where
    /// it carries on answers of the server.
    pub(crate) fn prompt(&self, row: u64, place: u32, salt: u64) -> Option<FilePromptText> {
        let session = self.session(row)?;
        let node = session.graph.nodes.get(place as usize)?;
        Some(match session.says.get(place as usize)? {
            StoredPrompt::Words => FilePromptText::Words,
            StoredPrompt::Blocks { blocks, tokens, is_local } => {
                let apart = match (is_local, self.rules.salt) {
                    (false, SaltScope::Run) => 0,
                    _ => RandomStream::named(salt, "texts of a session").bits(),
                };
                let mut ids = session.blocks.ids(*blocks);
                for id in &mut ids {
                    *id = id.wrapping_add(apart);
                }
                FilePromptText::Blocks(ids, *tokens)
            }
            StoredPrompt::Messages { new, tools, .. } => {
                let messages =
                    if node.place.carries.is_some() { new.to_string() } else { session.messages(place).join(",") };
                FilePromptText::Dialogue(Dialogue { messages, tools: tools.clone() })
            }
        })
    }
}

impl StoredSession {
    /// Whether some request is messages of a chat.
    pub(super) fn has_messages(&self) -> bool {
        self.says.iter().any(|says| matches!(says, StoredPrompt::Messages { .. }))
    }

    /// Messages of the prompt of the request at `place`. The recorded answers stand between them.
    fn messages(&self, place: u32) -> Vec<&str> {
        let (mut parts, mut at, mut is_first) = (Vec::new(), Some(place), true);
        while let Some(StoredPrompt::Messages { carries, new, answer, .. }) =
            at.and_then(|at| self.says.get(at as usize))
        {
            if !std::mem::take(&mut is_first) {
                parts.extend(answer.as_deref());
            }
            parts.push(&**new);
            at = *carries;
        }
        parts.reverse();
        parts.retain(|part| !part.is_empty());
        parts
    }
}
