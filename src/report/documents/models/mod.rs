//! Models of workloads and servers as documents: fits, predictions, capacity.

mod capacity;
mod engine_fit;
mod fit;
mod prediction;

pub use capacity::document as capacity;
pub use engine_fit::{document as engine_fit, predicted as predicted_rates};
pub use fit::document as fit;
pub use prediction::document as prediction;
