//! Results as data: JSON with its schemas, and a run as tables of requests, chunks and figures.

mod column;
mod csv;
mod experiments;
mod figures;
pub(super) mod json;
mod jsonl;
mod latencies;
mod parquet;
mod request;
mod schema;
#[cfg(test)]
mod tests;
mod token;
mod wrapped;

pub(super) use self::csv::requests_csv;
pub(super) use self::experiments::{points_csv, rounds_csv};
pub(super) use self::figures::summary_csv;
pub use self::json::{indented as json, json_with};
pub(super) use self::jsonl::requests_jsonl;
pub(super) use self::parquet::{requests_parquet, tokens_parquet};
pub use self::schema::StoredFile;
pub use self::wrapped::{fitted_json, foreign_json};
