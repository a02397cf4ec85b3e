//! The sessions of a file as a run needs them: their graphs, and what each request says.

use std::ops::Range;
use std::sync::Arc;

use super::blocks::first_ids;
use crate::generator::graph::session::SessionGraph;
use crate::generator::request::Dialogue;
use crate::random::RandomStream;
use crate::workload::{SaltScope, SessionRules};

/// The sessions of a file, with what is made of them.
#[derive(Debug)]
pub(crate) struct SessionStore {
    pub(super) rules: SessionRules,
    pub(super) sessions: Vec<StoredSession>,
}

/// A session: its graph, and what its requests say, by their places.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct StoredSession {
    pub(super) graph: Arc<SessionGraph>,
    pub(super) says: Vec<StoredPrompt>,
    /// Moment of its first request on the file's clock, nanoseconds.
    pub(super) begins_ns: Option<i64>,
}

/// Content of a request of a file.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum StoredPrompt {
    /// Blocks: the first `kept` ones of another request, and its own.
    Blocks { base: Option<u32>, kept: u32, own: Box<[Range<u64>]>, tokens: u32, is_local: bool },
    /// Messages after those of the request that it carries on, and the recorded answer.
    Messages { carries: Option<u32>, new: Box<str>, answer: Option<Box<str>>, tools: Option<Arc<str>> },
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
    fn session(&self, row: u64) -> Option<&StoredSession> {
        self.sessions.get(usize::try_from(row).ok()?)
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
            StoredPrompt::Blocks { tokens, is_local, .. } => {
                let apart = match (is_local, self.rules.salt) {
                    (false, SaltScope::Run) => 0,
                    _ => RandomStream::named(salt, "texts of a session").bits(),
                };
                let mut ids = session.blocks(place);
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

    /// The ids of the blocks of the request at `place`.
    pub(super) fn blocks(&self, place: u32) -> Vec<u64> {
        let mut parts = Vec::new();
        let (mut at, mut most) = (Some(place), usize::MAX);
        while let Some(StoredPrompt::Blocks { base, kept, own, .. }) = at.and_then(|at| self.says.get(at as usize)) {
            let kept = if base.is_some() { *kept as usize } else { 0 };
            parts.push((own, most.saturating_sub(kept)));
            (at, most) = (*base, most.min(kept));
        }
        parts.into_iter().rev().flat_map(|(own, most)| first_ids(own, most)).collect()
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
