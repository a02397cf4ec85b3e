//! A run in the forms of other tools: result files, test reports, metrics pages and a block to paste.

mod benchmark_report;
mod facts;
mod junit;
mod metrics;
mod percentiles;
mod spans;
mod vllm;

pub(crate) use self::benchmark_report::benchmark_report;
pub(crate) use self::junit::junit;
pub(crate) use self::metrics::{openmetrics, otlp_json};
pub(crate) use self::percentiles::percentile_block;
pub(crate) use self::spans::spans_json;
pub(crate) use self::vllm::vllm_json;
