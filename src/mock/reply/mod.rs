//! Text of answers, and the events that carry it.

mod answer;
mod choices;
mod plan;
mod script;
mod text;

pub(super) use answer::{Reply, Wording};
pub(super) use choices::{CHAT, COMPLETIONS};
pub(super) use plan::plan;
pub(super) use script::{Script, WriteStep};
