//! Classical statistics as pure functions: tests of fit, of dependence and of counts, and intervals that say how sure a figure is.
//!
//! Every function names its source and is held to scipy's or numpy's figures. Intervals are two-sided at
//! [`CONFIDENCE`]. Distribution functions come from the crate `statrs`, those of the normal from
//! [`crate::random`].

mod anderson_darling;
mod dispersion;
mod distributions;
mod estimate;
mod kolmogorov;
mod moments;
mod mser;
mod ranks;
mod sections;
mod slope;
mod von_neumann;

pub use anderson_darling::{
    EXPONENTIAL_A2_AT_1_PERCENT, EXPONENTIAL_A2_AT_2_IN_100_000, UNIFORM_A2_AT_1_PERCENT,
    UNIFORM_A2_AT_2_IN_100_000, anderson_darling_exponential, anderson_darling_uniform,
};
pub use dispersion::{Dispersion, dispersion};
pub use distributions::{chi_squared_quantile, ln_gamma_survival, student_t_quantile};
pub use estimate::{CONFIDENCE, Estimate};
pub use kolmogorov::uniform_distance;
pub use moments::{mean, variance};
pub use mser::{Truncation, mser5};
pub use ranks::{lag1_spearman, ranks};
pub use sections::{SECTIONS, Sectioned, sectioned};
pub use slope::slope;
pub use von_neumann::{VonNeumann, von_neumann};

#[cfg(test)]
mod test_sequences;
