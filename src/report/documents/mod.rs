//! Results as documents: one `document()` for each, and the wording that they share.

mod ab;
pub(crate) mod arrivals;
mod calibration;
mod capacity;
mod compare;
mod datasets;
mod diagnosis;
mod engine_fit;
mod fit;
mod foreign;
mod glossary;
mod latencies;
mod load_form;
mod matrix;
mod prediction;
mod repeats;
mod run;
mod server;
mod sweep;
mod trace;

pub use ab::document as ab;
pub use calibration::{calibration_json, document as calibration};
pub use capacity::document as capacity;
pub use compare::{compared, compared_foreign, compared_sweeps};
pub use engine_fit::{document as engine_fit, predicted as predicted_rates};
pub use fit::document as fit;
pub use foreign::{document as foreign, in_words as foreign_in_words};
pub use glossary::glossary;
pub(crate) use latencies::bounds;
pub use matrix::PlannedRow;
pub use matrix::{document as matrix, matrix_plan};
pub use prediction::document as prediction;
pub use repeats::document as repeats;
pub use run::document as run;
pub use sweep::document as sweep;
pub use trace::{contents as trace_contents, what as trace_what};
