//! The kind of a chunk's text.

/// The kind of a chunk's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkText {
    /// The answer itself.
    Content,
    /// Reasoning of a reasoning model.
    Reasoning,
    /// The arguments or the name of a tool call.
    ToolCall,
}

impl ChunkText {
    /// Of two kinds in one chunk, the one nearer to the answer itself.
    pub(crate) fn stronger(a: Option<Self>, b: Option<Self>) -> Option<Self> {
        let rank = |kind: &Self| match kind {
            Self::Content => 2,
            Self::ToolCall => 1,
            Self::Reasoning => 0,
        };
        a.into_iter().chain(b).max_by_key(rank)
    }
}
