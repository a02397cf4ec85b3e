//! Figures and their names: values with their bounds, statistics, keys, parts of a run.

mod catalogue;
#[cfg(test)]
mod chapter;
mod cost_rows;
mod info;
mod key;
mod part;
mod percentile;
mod quantile;
mod rows;
pub(crate) mod selections;
mod unit;

pub use catalogue::Metric;
pub use info::{Direction, Elsewhere, FigureInfo, FigureKind, Samples};
pub use key::{FigureKey, FigureKeyError, Statistic};
pub use part::PartName;
pub(crate) use percentile::Tally;
pub use percentile::{Figure, Sample};
pub use quantile::{Quantile, SampleWarning, Unresolvable};
pub(in crate::analysis) use rows::TOOLS;
pub use unit::Unit;
