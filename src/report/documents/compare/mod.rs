//! Comparisons with a baseline as documents.

mod foreign;
mod over_time;
mod rows;
mod runs;
mod sides;
mod sweeps;
#[cfg(test)]
mod tests;

pub use self::foreign::compared_foreign;
pub(in crate::report::documents) use self::rows::label;
pub use self::runs::compared;
pub use self::sweeps::compared_sweeps;
