//! What answers say, and the events that carry it.

mod answer;
mod canned_answers;
mod plan;
mod schema_instance;
mod script;
mod text;

pub(super) use answer::Reply;
pub use canned_answers::CannedAnswer;
pub(super) use plan::plan;
pub(super) use schema_instance::instance;
pub(super) use script::{Script, WriteStep};
