//! Text of answers, and the events that carry it.

mod answer;
mod plan;
mod script;
mod text;

pub(super) use answer::Reply;
pub(super) use plan::plan;
pub(super) use script::{Script, WriteStep};
