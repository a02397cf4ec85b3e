//! Trace files: their formats, read line by line and put in order, and written.

pub(super) mod columns;
pub(super) mod json_lines;
pub(super) mod logs;
pub(super) mod order;
pub(super) mod reader;
pub(super) mod write;

pub use logs::{AccessLog, AccessLogFields, TimeUnit, read_log};
pub use write::TraceWriter;
