//! The protocols that the mock speaks; another one is a row, and a file where it is worded otherwise.

use super::reply::{
    CHAT, COMPLETIONS, EMBEDDINGS, GENERATE, MESSAGES, RERANK, RESPONSES, SCORE, TGI, TOKENS, TRANSCRIPTIONS, TRITON,
    TRITON_WHOLE, Wording,
};

/// All of them, by how their answers are written.
pub(super) static PROTOCOLS: [&dyn Wording; 13] = [
    CHAT,
    COMPLETIONS,
    RESPONSES,
    MESSAGES,
    GENERATE,
    TOKENS,
    TRANSCRIPTIONS,
    EMBEDDINGS,
    RERANK,
    SCORE,
    TGI,
    TRITON,
    TRITON_WHOLE,
];
