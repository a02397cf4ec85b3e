//! Prompt tokens per hash id; `None` where the format has none. Skyline's own traces give it in their first line.

pub(super) mod findings;
pub(super) mod format;
mod replayed;
pub(super) mod source;

pub use findings::{TraceFindings, TraceKind};
pub use format::{TraceFormat, TraceZero};
pub use replayed::as_name;
pub use source::{BadLines, Trace, TraceSurvey};
