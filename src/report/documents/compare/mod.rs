//! Comparisons with a baseline as documents.

mod flags;
mod over_time;
mod rows;
mod runs;
mod sweeps;
#[cfg(test)]
mod tests;

pub(super) use self::rows::label;
pub use self::runs::{compared, compared_foreign};
pub use self::sweeps::compared_sweeps;
