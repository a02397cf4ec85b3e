//! From the text of a spec to typed values: a small tree with lines, and a reader that collects every mistake.
//!
//! TOML, JSON and the JSON stored in run logs all become a [`Node`]; a [`Place`] is a node with its path, and
//! each noun of the room reads itself from one. Nothing stops at the first mistake.

mod allowed;
mod fields;
mod json_text;
mod mistakes;
mod near;
mod node;
mod place;
mod toml_text;

pub(super) use allowed::Allowed;
pub(super) use fields::{Fields, Given};
pub(super) use json_text::parse as parse_json;
pub(super) use mistakes::Mistakes;
pub use mistakes::{Mistake, SpecError};
pub(super) use near::nearest;
pub(super) use node::{Node, NodeValue};
pub(super) use place::{KindReader, Place};
pub(super) use toml_text::parse as parse_toml;
