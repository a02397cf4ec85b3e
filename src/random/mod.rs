//! Seeded, named random streams that give the same numbers on every machine, for ever.
//!
//! A plan must be the same wherever and whenever it is drawn, so nothing here may change:
//!
//! - bits come from `ChaCha8`, whose output its specification fixes;
//! - the samplers are written out here. The crate `rand_distr` is deliberately not used: its values may change
//!   between versions;
//! - transcendental functions come from `libm`, in software: those of the standard library differ between
//!   platforms in the last bits. `+ - * /` and the square root are exact by IEEE 754.

mod normal;
mod stream;

pub use normal::{normal_cdf, normal_quantile};
pub use stream::{RandomStream, WeightedChoice};

#[cfg(test)]
mod tests;
