//! Trace files: their formats, read line by line and put in order, and written.

pub(super) mod columns;
mod json_lines;
mod logs;
pub(super) mod order;
pub(super) mod reader;

pub use json_lines::TraceWriter;
pub use logs::AccessLogFields;
pub use reader::read_log;
