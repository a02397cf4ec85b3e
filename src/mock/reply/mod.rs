//! Text of answers, and the events that carry it.

mod answer;
mod blocks;
mod choices;
mod ids;
mod items;
mod plan;
mod results;
mod script;
mod so_far;
mod templates;
mod text;
mod transcripts;

pub(super) use answer::{Reply, Wording};
pub(super) use blocks::MESSAGES;
pub(super) use choices::{CHAT, COMPLETIONS};
pub(super) use ids::TOKENS;
pub(super) use items::RESPONSES;
pub(super) use plan::plan;
pub(super) use results::{EMBEDDINGS, RERANK, SCORE};
pub(super) use script::{Script, WriteStep};
pub(super) use so_far::GENERATE;
pub(super) use templates::{TGI, TRITON, TRITON_WHOLE};
pub(super) use transcripts::TRANSCRIPTIONS;
