//! A run as tables: requests, chunks and figures, for spreadsheets and data frames.

mod column;
mod csv;
mod experiments;
mod figures;
mod jsonl;
mod latencies;
mod parquet;
mod request;
#[cfg(test)]
mod tests;
mod token;

pub(super) use self::csv::requests_csv;
pub(super) use self::experiments::{points_csv, rounds_csv};
pub(super) use self::figures::summary_csv;
pub(super) use self::jsonl::requests_jsonl;
pub(super) use self::parquet::{requests_parquet, tokens_parquet};
