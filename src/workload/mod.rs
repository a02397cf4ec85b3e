//! What is asked of a server: the recipe of a run, its parts, and the library of ready-made ones.

mod answer_shape;
mod arrival;
mod class;
mod conversation;
mod dataset;
mod dataset_change;
mod distribution;
mod expectation;
mod findings;
mod golden;
mod images;
mod json_schema;
pub mod library;
mod load;
mod model_mix;
mod overrides;
mod popularity;
pub(crate) mod reading;
mod replayed;
mod schema_files;
mod senders;
mod shared_prefix;
mod slo;
mod spec;
mod tenant;
mod think_time;
mod trace;
mod weights;
mod window;

pub use answer_shape::{AnswerShape, ShapeFault, Tool, ToolChoice};
pub use arrival::{ArrivalPattern, Client, Course, GapFamily, GapForm, RateSpread, RateState, Spike, Stage};
pub use class::{PriorityShare, PromptSource, RequestClass};
pub use conversation::Conversation;
pub use dataset::{Dataset, DatasetFindings, DatasetFormat, RowFilter, RowOrder};
pub use dataset_change::DatasetChange;
pub use distribution::{Distribution, TOKEN_LIMIT};
pub use findings::{TraceFindings, TraceKind};
pub use golden::{Expect, GoldenCheck, Pattern};
pub use images::{ImageFindings, Images};
pub use json_schema::JsonSchema;
pub use model_mix::ModelMix;
pub use overrides::Overrides;
pub use popularity::zipf;
pub use reading::{Mistake, SpecError};
pub use replayed::as_name;
pub use shared_prefix::SharedPrefixes;
pub use slo::{Priority, Slo};
pub use spec::WorkloadSpec;
pub use tenant::Tenant;
pub use think_time::ThinkTime;
pub use trace::{BadLines, Trace, TraceFormat, TraceSurvey, TraceZero};

#[cfg(test)]
mod tests;
