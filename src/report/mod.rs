//! A summary as bytes: text for people, JSON for programs.

mod arrivals;
mod beside;
mod calibration;
mod chart;
mod data;
mod diagnosis;
#[allow(dead_code, unused_imports)] // Until the first result is written as a document.
mod document;
pub mod documents;
mod engine_fit;
mod export;
mod flow_lines;
mod glossary;
mod grid;
mod header;
mod html;
mod interchange;
mod latency;
mod markdown;
mod page;
mod paired_open;
mod prediction;
mod promises;
mod quality;
#[allow(dead_code, unused_imports)] // Until the first result is written as a document.
pub mod render;
mod repeats;
#[cfg(test)]
mod sample_runs;
mod server;
mod sessions;
mod sides;
mod taken;
mod text;
mod told;
mod trace;
mod troubles;

pub use beside::Beside;
pub use calibration::{calibration_json, calibration_text};
pub use data::{StoredFile, fitted_json, foreign_json, json, json_beside};
pub use diagnosis::diagnosis_text;
pub use document::Document;
pub use export::{Content, Export, ExportFile, Format, Out, UsualPlace, WriteAb, WriteRun, WriteSweep};
pub use glossary::glossary;
pub use html::run_page;
pub use interchange::{
    benchmark_report, decision_fields, junit, openmetrics, otlp_json, percentile_block, vllm_json,
};
pub use markdown::run_markdown;
pub use page::{Colour, Style, printable};
pub use prediction::{prediction_json, prediction_text};
pub use repeats::{repeats_json, repeats_text};
pub use text::{text, text_beside};
pub use told::Told;
pub use trace::{contents as trace_contents, what as trace_what};
