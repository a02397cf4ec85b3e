//! A summary as bytes: text for people, JSON for programs.

mod ab;
mod arrivals;
mod beside;
mod calibration;
mod capacity;
mod chart;
mod compare;
mod compare_foreign;
mod compare_sweeps;
mod data;
mod decision;
mod diagnosis;
#[allow(dead_code, unused_imports)] // Until the first result is written as a document.
mod document;
mod engine_fit;
mod export;
mod fit;
mod flow_lines;
mod foreign;
mod glossary;
mod grid;
mod header;
mod html;
mod interchange;
mod latency;
mod markdown;
mod matrix;
mod matrix_plan;
mod page;
mod paired_open;
mod prediction;
mod promises;
mod quality;
#[allow(dead_code, unused_imports)] // Until the first result is written as a document.
mod render;
mod repeats;
#[cfg(test)]
mod sample_runs;
mod server;
mod sessions;
mod sides;
mod sweep;
mod taken;
mod text;
mod told;
mod trace;
mod troubles;

pub use ab::{ab_json, ab_text};
pub use beside::Beside;
pub use calibration::{calibration_json, calibration_text};
pub use capacity::{capacity_json, capacity_text};
pub use compare::{compared_json, compared_text};
pub use compare_foreign::{compared_foreign_json, compared_foreign_text};
pub use compare_sweeps::{compared_sweeps_json, compared_sweeps_text};
pub use data::{StoredFile, json_beside};
pub use decision::decision_markdown;
pub use diagnosis::diagnosis_text;
pub use engine_fit::{engine_fit_text, fitted_json, rates_json, rates_text};
pub use export::{Content, Export, ExportFile, Format, Out, UsualPlace, WriteAb, WriteRun, WriteSweep};
pub use fit::text as fit_text;
pub use foreign::{foreign_in_words, foreign_json, foreign_text};
pub use glossary::glossary;
pub use html::{
    ab_page, capacity_page, compared_page, compared_sweeps_page, matrix_page, run_page, sweep_page,
};
pub use interchange::{
    benchmark_report, decision_fields, junit, openmetrics, otlp_json, percentile_block, vllm_json,
};
pub use markdown::{ab_markdown, compared_markdown, compared_sweeps_markdown, run_markdown, sweep_markdown};
pub use matrix::{matrix_json, matrix_text};
pub use matrix_plan::{PlannedRow, matrix_plan};
pub use page::{Colour, Style, printable};
pub use prediction::{prediction_json, prediction_text};
pub use repeats::{repeats_json, repeats_text};
pub use sweep::{sweep_json, sweep_text};
pub use text::{text, text_beside};
pub use told::Told;
pub use trace::{contents as trace_contents, what as trace_what};
