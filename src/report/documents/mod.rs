//! Results as documents: one `document()` for each, and the wording that they share.

mod ab;
mod capacity;
mod compare;
mod diagnosis;
mod engine_fit;
mod fit;
mod foreign;
mod matrix;
mod server;
mod sweep;

pub(crate) use ab::document as ab;
pub(crate) use capacity::document as capacity;
pub(crate) use compare::{compared, compared_foreign, compared_sweeps};
pub(crate) use engine_fit::{document as engine_fit, predicted as predicted_rates};
pub(crate) use fit::document as fit;
pub(crate) use foreign::{document as foreign, in_words as foreign_in_words};
pub(crate) use matrix::PlannedRow;
pub(crate) use matrix::{document as matrix, matrix_plan};
pub(crate) use sweep::document as sweep;
