//! Laws fitted to what was observed: token counts, gaps between arrivals, a rate's course.
//!
//! Parameters are those of greatest likelihood. Among families the one with the least BIC = p·ln n − 2·ln L is chosen
//! (Schwarz, *Estimating the dimension of a model*, Annals of Statistics 6, 1978, 461–464), p being its parameters, and
//! then compared with the data by the Kolmogorov distance, whatever the rank among families: the best of five
//! wrong laws is wrong all the same, and the report says so.

mod course;
mod gaps;
mod lengths;
mod simplex;

pub use course::{RatePhase, rate_course};
pub use gaps::{FittedGapLaw, GapFit, fit_gaps};
pub use lengths::{LengthFigures, LengthFit, fit_lengths};

#[cfg(test)]
mod tests;

/// Returns the Kolmogorov distance beyond which a law does not describe its values. At no point may the share of values
/// below it be off by more than one in twenty. Of few values it may be off by as much as chance makes of a law that
/// holds, 1.36/√n (5 %; Smirnov 1948).
pub fn distance_bar(n: usize) -> f64 {
    (1.36 / (n.max(1) as f64).sqrt()).max(0.05)
}
