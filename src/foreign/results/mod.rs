//! Results of the tools: a table for each says where its figures are, and one interpreter reads them.

mod document;
mod reader;
mod requests;
mod table;

pub(super) use reader::runs;
