//! A summary as bytes: text for people, JSON for programs.

mod ab;
mod beside;
mod capacity;
mod chart;
mod compare;
mod compare_foreign;
mod compare_sweeps;
mod data;
mod decision;
mod diagnosis;
mod document;
mod documents;
mod engine_fit;
mod export;
mod fit;
mod foreign;
mod grid;
mod html;
mod interchange;
mod markdown;
mod matrix;
mod matrix_plan;
mod page;
mod prediction;
mod render;
#[cfg(test)]
mod sample_runs;
mod sides;
mod sweep;
mod told;

pub use ab::{ab_json, ab_text};
pub use beside::Beside;
pub use capacity::{capacity_json, capacity_text};
pub use compare::{compared_json, compared_text};
pub use compare_foreign::{compared_foreign_json, compared_foreign_text};
pub use compare_sweeps::{compared_sweeps_json, compared_sweeps_text};
pub use data::{StoredFile, json_beside};
pub use decision::decision_markdown;
pub use diagnosis::diagnosis_text;
pub use documents::{
    calibration_json, calibration_text, glossary, repeats_json, repeats_text, run_markdown, run_page,
    run_text, trace_contents, trace_what,
};
pub use engine_fit::{engine_fit_text, fitted_json, rates_json, rates_text};
pub use export::{Content, Export, ExportFile, Format, Out, UsualPlace, WriteAb, WriteRun, WriteSweep};
pub use fit::text as fit_text;
pub use foreign::{foreign_in_words, foreign_json, foreign_text};
pub use html::{ab_page, capacity_page, compared_page, compared_sweeps_page, matrix_page, sweep_page};
pub use interchange::{
    benchmark_report, decision_fields, junit, openmetrics, otlp_json, percentile_block, vllm_json,
};
pub use markdown::{ab_markdown, compared_markdown, compared_sweeps_markdown, sweep_markdown};
pub use matrix::{matrix_json, matrix_text};
pub use matrix_plan::{PlannedRow, matrix_plan};
pub use page::{Colour, Style, printable};
pub use prediction::{prediction_json, prediction_text};
pub use render::Extent;
pub use sweep::{sweep_json, sweep_text};
pub use told::Told;
