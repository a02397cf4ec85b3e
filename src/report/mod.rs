//! A summary as bytes: text for people, JSON for programs.

mod flow_lines;
mod grid;
mod header;
mod json;
mod latency;
mod page;
mod promises;
mod text;
mod troubles;

pub use json::json;
pub use page::{Colour, Style, printable};
pub use text::text;
