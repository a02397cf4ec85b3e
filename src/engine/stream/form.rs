//! The forms in which answers come.

/// Whether an answer is streamed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AnswerForm {
    /// Server-sent events, chunk by chunk.
    #[default]
    Streamed,
    /// The answer in one piece.
    Whole,
}
