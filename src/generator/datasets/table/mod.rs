//! Rows with columns: Parquet, a JSON list, or JSON objects line by line, in files here or on the Hugging Face hub.

mod choice;
mod columns;
mod csv_rows;
mod files;
mod parquet;
mod read;
#[cfg(test)]
mod tests;

pub(in crate::generator) use files::bytes_here;
pub(super) use files::local;
pub(super) use read::{objects, table};
