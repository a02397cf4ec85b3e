//! Comparisons with a baseline as documents.

mod over_time;
mod rows;
mod runs;
mod side_names;
mod sweeps;
#[cfg(test)]
mod tests;
mod why;

pub(super) use self::rows::label;
pub use self::runs::{compared, compared_foreign};
pub use self::sweeps::compared_sweeps;
