//! Results as data: JSON with its schemas, and a run as tables of requests, chunks and figures.

mod column;
mod csv;
mod experiments;
mod figures;
mod json;
mod parquet;
mod request;
mod schema;
#[cfg(test)]
mod tests;

pub(super) use self::csv::requests_csv;
pub(super) use self::experiments::{answers_csv, points_csv, rounds_csv};
pub(super) use self::figures::summary_csv;
pub(crate) use self::json::{fitted_json, foreign_json, indented as json, json_with};
pub(super) use self::json::{requests_jsonl, write_line};
pub(super) use self::parquet::{requests_parquet, tokens_parquet};
pub(crate) use self::schema::JSON_SCHEMAS;
