//! Results as documents, and documents as bytes: text for people, JSON for programs.

mod chart;
mod data;
mod document;
pub mod documents;
mod export;
mod figures;
mod interchange;
pub mod render;
mod run_report;
#[cfg(test)]
mod sample_runs;

pub(crate) use data::{JSON_SCHEMAS, fitted_json, foreign_json, json, json_with};
pub use document::Document;
pub(crate) use export::{Content, Export, ExportFile, Format, UsualPlace, WriteOf, WriteRun};
pub(crate) use interchange::{otlp_json, spans_json};
pub use render::{Colour, Extent, Style, printable};
pub(crate) use run_report::{Out, RunReport};
