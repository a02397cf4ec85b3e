//! From the text of a spec to typed values: a small tree with lines, and readers that collect every mistake.
//!
//! TOML, JSON and the JSON stored in run logs all become a [`Node`]; a [`SpecValue`] is a node with its path, from
//! which each type of the workload reads itself. Reading does not stop at the first mistake.

pub(crate) mod fields;
pub(super) mod file;
pub(super) mod mistakes;
pub(super) mod node;
pub(crate) mod table;
pub(super) mod text;
mod typed_values;
pub(crate) mod value;
pub(super) mod weights;
mod written;

pub(crate) use fields::{Fields, Given};
pub(crate) use file::{read_file, read_whole};
pub(crate) use mistakes::{Mistakes, nearest};
pub(crate) use node::{Entry, Node, NodeValue};
pub(crate) use table::{spec_kinds, spec_table};
pub(crate) use text::{exact_json, parse_json, parse_toml};
pub(crate) use typed_values::{duration, one_of, one_part, seconds, share, since, size, some_time, whole};
pub(crate) use value::{Allowed, SpecValue};
pub(crate) use written::is_usual;

pub use mistakes::{SpecError, SpecMistake};
