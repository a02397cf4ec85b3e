//! Classical statistics as pure functions: tests of fit, of dependence and of counts, and intervals that say how sure a figure is.
//!
//! Every function names its source and is held to scipy's or numpy's figures. Intervals are two-sided at
//! [`CONFIDENCE`]. Distribution functions come from the crate `statrs`, those of the normal from
//! [`crate::random`].

mod anderson_darling;
pub(crate) mod binomial;
mod bootstrap;
mod dispersion;
mod distributions;
mod estimate;
mod hodges_lehmann;
mod holm;
mod isotonic;
mod kolmogorov;
mod moments;
mod mser;
mod ranks;
mod sections;
mod slope;
mod two_means;
mod von_neumann;
mod wilcoxon;

pub use anderson_darling::{
    EXPONENTIAL_A2_AT_1_PERCENT, EXPONENTIAL_A2_AT_2_IN_100_000, UNIFORM_A2_AT_1_PERCENT,
    UNIFORM_A2_AT_2_IN_100_000, anderson_darling_exponential, anderson_darling_uniform,
};
pub(crate) use binomial::share_interval;
pub use bootstrap::bootstrap;
pub use dispersion::{Dispersion, dispersion};
pub use distributions::{chi_squared_quantile, ln_gamma_survival, student_t_quantile, student_t_two_sided};
pub use estimate::{CONFIDENCE, Estimate};
pub use hodges_lehmann::{hodges_lehmann, signed_rank_place, walsh_averages};
pub use holm::holm;
pub use isotonic::non_decreasing;
pub use kolmogorov::uniform_distance;
pub use moments::{mean, variance};
pub use mser::{Truncation, mser5};
pub use ranks::{lag1_spearman, ranks, spearman};
pub use sections::{SECTIONS, Sectioned, sectioned};
pub use slope::{slope, slope_p};
pub use two_means::{TwoMeans, paired, welch};
pub use von_neumann::{VonNeumann, von_neumann};
pub use wilcoxon::signed_rank_p;

#[cfg(test)]
mod test_sequences;
