//! Classical statistics as pure functions: tests of fit, of dependence and of counts, and intervals that say
//! how sure a figure is.
//!
//! Every function names its source and is held to scipy's or numpy's figures. Intervals are two-sided at
//! [`CONFIDENCE`]. Distribution functions come from the crate `statrs`, those of the normal from
//! [`crate::random`].

mod batches;
mod curves;
mod distributions;
mod effective;
mod goodness_of_fit;
mod intervals;
mod means;
mod memory;
mod ordered_share;
mod random_walk;
mod ranks;
mod sequences;

pub use batches::BatchMeans;
pub use curves::{explained, non_decreasing, slope, slope_p};
pub use distributions::{chi_squared_quantile, ln_gamma_survival, student_t_quantile, student_t_two_sided};
pub use effective::{Effective, LEAST_BEYOND, LEAST_EFFECTIVE};
pub use goodness_of_fit::{
    Dispersion, EXPONENTIAL_A2_AT_1_PERCENT, EXPONENTIAL_A2_AT_2_IN_100_000, UNIFORM_A2_AT_1_PERCENT,
    UNIFORM_A2_AT_2_IN_100_000, anderson_darling_exponential, anderson_darling_uniform, dispersion, uniform_distance,
};
pub use intervals::{CONFIDENCE, Estimate, bootstrap};
pub(crate) use intervals::{interval_of_share, share_interval};
pub use means::{TwoMeans, holm, mean, paired, variance, welch};
pub use memory::Memory;
pub use ordered_share::OrderedShare;
pub use random_walk::least_spread;
pub use ranks::{hodges_lehmann, lag1_spearman, ranks, signed_rank_p, signed_rank_place, spearman, walsh_averages};
pub use sequences::{SECTIONS, Truncation, mser5, von_neumann};

#[cfg(test)]
mod test_sequences;
