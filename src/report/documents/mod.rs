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

pub use ab::document as ab;
pub use capacity::document as capacity;
pub use compare::{compared, compared_foreign, compared_sweeps};
pub use engine_fit::{document as engine_fit, predicted as predicted_rates};
pub use fit::document as fit;
pub use foreign::{document as foreign, in_words as foreign_in_words};
pub use matrix::PlannedRow;
pub use matrix::{document as matrix, matrix_plan};
pub use sweep::document as sweep;
