//! The law of gaps between arrivals.

use serde::Serialize;
use statrs::function::gamma::{checked_gamma_lr, digamma};

use crate::analysis::statistics::{mean, uniform_distance, variance};

/// Most gaps that a shape is fitted to: the first of them.
const MOST: usize = 100_000;
/// Fewest gaps that show a shape.
const FEWEST: usize = 30;
/// Share of the mean gap that the step of a clock may have. A coarser clock does not tell the shape of gaps.
const COARSE: f64 = 0.1;
/// Gaps that vary less than this are a metronome's.
const METRONOME_CV: f64 = 0.01;
/// Shapes that are looked among.
const SHAPES: (f64, f64) = (0.01, 1_000.0);

/// Independent gaps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum FittedGapLaw {
    /// All alike.
    Constant,
    /// Exponential: a Poisson process.
    Exponential,
    /// Gamma with this shape.
    Gamma {
        /// 1 is the exponential, below 1 is burstier.
        shape: f64,
    },
}

/// A law fitted to gaps, and how well it does.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct GapFit {
    /// The law; exponential where there are too few gaps.
    pub law: FittedGapLaw,
    /// Gaps it was fitted to.
    pub n: u64,
    /// Coefficient of variation of the gaps; absent of fewer than two.
    pub cv: Option<f64>,
    /// Kolmogorov distance of the law from the gaps. Absent where there are too few gaps, and of a metronome.
    pub distance: Option<f64>,
    /// Step of the clock as a share of the mean gap. Absent unless it is too coarse to tell the shape.
    pub coarse: Option<f64>,
}

/// Fits gaps recorded by a clock that steps by `step`. Both have one unit, which does not matter.
///
/// The exponential and the gamma of greatest likelihood are compared by their BIC; the shape k of the gamma is where
/// ln k − ψ(k) = ln x̄ − mean ln x, which is monotone and bisected (Johnson, Kotz and Balakrishnan,
/// *Continuous Univariate Distributions* 1, 1994, section 17.7). A gap of nothing counts as half a step of
/// the clock.
pub fn fit_gaps(gaps: &[f64], step: f64) -> GapFit {
    let gaps = gaps.get(..MOST).unwrap_or(gaps);
    let cv = mean(gaps).zip(variance(gaps)).map(|(mean, variance)| libm::sqrt(variance) / mean);
    let untold = GapFit { law: FittedGapLaw::Exponential, n: gaps.len() as u64, cv, distance: None, coarse: None };
    let Some(mean_gap) = mean(gaps).filter(|mean| gaps.len() >= FEWEST && *mean > 0.0) else { return untold };
    if cv.is_some_and(|cv| cv < METRONOME_CV) {
        return GapFit { law: FittedGapLaw::Constant, ..untold };
    }
    if step > COARSE * mean_gap {
        return GapFit { coarse: Some(step / mean_gap), ..untold };
    }
    let least = (step / mean_gap / 2.0).max(1e-12);
    let scaled: Vec<f64> = gaps.iter().map(|gap| (gap / mean_gap).max(least)).collect();
    let fits = [Fitted::exponential(&scaled), Fitted::gamma(&scaled)];
    let best = fits.into_iter().min_by(|one, other| one.bic.total_cmp(&other.bic));
    let Some(best) = best else { return untold };
    let uniforms: Vec<f64> = scaled.iter().map(|gap| best.below(*gap)).collect();
    GapFit { law: best.law, distance: Some(uniform_distance(&uniforms)), ..untold }
}

/// A law with its scale.
#[derive(Clone, Copy, Debug)]
struct Fitted {
    law: FittedGapLaw,
    scale: f64,
    bic: f64,
}

impl Fitted {
    fn new(law: FittedGapLaw, scale: f64, log_likelihood: f64, parameters: f64, n: usize) -> Self {
        Self { law, scale, bic: parameters * libm::log(n as f64) - 2.0 * log_likelihood }
    }

    fn exponential(gaps: &[f64]) -> Self {
        let n = gaps.len() as f64;
        let mean = gaps.iter().sum::<f64>() / n;
        Self::new(FittedGapLaw::Exponential, mean, -n * (libm::log(mean) + 1.0), 1.0, gaps.len())
    }

    fn gamma(gaps: &[f64]) -> Self {
        let n = gaps.len() as f64;
        let (mean, log_mean) = (gaps.iter().sum::<f64>() / n, gaps.iter().map(|gap| libm::log(*gap)).sum::<f64>() / n);
        let spread = libm::log(mean) - log_mean;
        let shape = falling_root(|shape| libm::log(shape) - digamma(shape) - spread);
        let scale = mean / shape;
        let log_likelihood =
            n * ((shape - 1.0) * log_mean - mean / scale - shape * libm::log(scale) - libm::lgamma(shape));
        Self::new(FittedGapLaw::Gamma { shape }, scale, log_likelihood, 2.0, gaps.len())
    }

    /// The distribution function.
    fn below(&self, gap: f64) -> f64 {
        let x = gap / self.scale;
        match self.law {
            FittedGapLaw::Gamma { shape } => checked_gamma_lr(shape, x).unwrap_or(0.0),
            FittedGapLaw::Exponential | FittedGapLaw::Constant => -libm::expm1(-x),
        }
    }
}

/// Finds where a falling function of a shape is 0, by bisection of its logarithm.
fn falling_root(function: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (libm::log(SHAPES.0), libm::log(SHAPES.1));
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if function(libm::exp(middle)) > 0.0 { low = middle } else { high = middle }
    }
    libm::exp(f64::midpoint(low, high))
}
