//! Results as documents, and documents as bytes: text for people, JSON for programs.

mod beside;
mod chart;
mod data;
mod document;
pub mod documents;
mod export;
mod interchange;
pub mod render;
#[cfg(test)]
mod sample_runs;
mod sides;
mod told;

pub use beside::Beside;
pub use data::{StoredFile, fitted_json, foreign_json, json, json_beside};
pub use document::Document;
pub use export::{Content, Export, ExportFile, Format, Out, UsualPlace, WriteAb, WriteRun, WriteSweep};
pub use interchange::{
    benchmark_report, decision_fields, junit, openmetrics, otlp_json, percentile_block, vllm_json,
};
pub use render::{Colour, Extent, Style, printable};
pub use told::Told;
