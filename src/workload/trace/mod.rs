//! Recorded traces: which one is replayed, what was found in it, and the workloads made of it.

pub(super) mod findings;
pub(super) mod layout;
mod replayed;
pub(super) mod source;

pub use findings::{TraceFindings, TraceFormat, TraceKind, TraceZero};
pub use layout::SessionLayout;
pub use replayed::as_name;
pub use source::{BadLines, Trace, TraceSurvey};
