//! Comparisons with a baseline as documents.

mod foreign;
mod over_time;
mod rows;
mod runs;
mod sides;
mod sweeps;
#[cfg(test)]
mod tests;

pub(crate) use self::foreign::compared_foreign;
pub(in crate::report::documents) use self::rows::label;
pub(crate) use self::runs::compared;
pub(crate) use self::sweeps::compared_sweeps;
