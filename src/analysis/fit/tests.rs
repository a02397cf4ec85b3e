//! Holds fits to scipy's, on sequences that any language can make again.
//!
//! `U = (arange(1, 2001) * 0.6180339887498949) % 1`, put through the inverse of a distribution function.

use statrs::distribution::{ContinuousCDF, Gamma};

use super::*;
use crate::random::{RandomStream, normal_cdf, normal_quantile};
use crate::workload::Distribution;

fn uniforms() -> impl Iterator<Item = f64> {
    (1..=2_000).map(|i| (f64::from(i) * 0.618_033_988_749_894_9).fract())
}

/// Returns the quantile at `u` of a bell between two points. The bell has this centre and width.
fn bell(centre: f64, width: f64, from: f64, to: f64, u: f64) -> f64 {
    let (low, high) = (normal_cdf((from - centre) / width), normal_cdf((to - centre) / width));
    centre + width * normal_quantile(low + u * (high - low))
}

fn assert_near(found: f64, expected: f64, error: f64, what: &str) {
    assert!((found / expected - 1.0).abs() < error, "{what}: {found}, not {expected}");
}

/// scipy 1.17.1: `minimize` (Nelder–Mead) of the likelihood of `round(x)` given the bounds min(x) and max(x).
#[test]
fn truncated_laws_have_scipys_parameters() {
    let (low, high) = (20.0_f64.ln(), 2_000.0_f64.ln());
    let counts: Vec<u32> = uniforms().map(|u| bell(300.0_f64.ln(), 0.8, low, high, u).exp().round() as u32).collect();
    let fit = fit_lengths(&counts).unwrap();
    let Distribution::LogNormal { median, sigma, min, max } = fit.distribution else { panic!("{fit:?}") };
    assert_eq!((min, max), (23, 1_971));
    assert_near(median, 300.168_804, 1e-4, "median");
    assert_near(sigma, 0.802_120_6, 1e-4, "sigma");
    // numpy 2.4.6: mean, and quantiles by method="inverted_cdf".
    let LengthFigures { mean, p50, p90, p99 } = fit.observed;
    assert_eq!((mean, p50, p90, p99), (392.7515, 297, 805, 1_570));
    assert!(fit.distance < 0.01 && fit.refused.is_none(), "{fit:?}");
    assert_near(fit.fitted.mean, mean, 0.01, "mean");
    assert_near(f64::from(fit.fitted.p99), f64::from(p99), 0.02, "p99");

    let counts: Vec<u32> = uniforms().map(|u| bell(500.0, 120.0, 200.0, 700.0, u).round() as u32).collect();
    let fit = fit_lengths(&counts).unwrap();
    let Distribution::Normal { mean, std, min: 202, max: 699 } = fit.distribution else { panic!("{fit:?}") };
    assert_near(mean, 500.309_502, 1e-4, "mean");
    assert_near(std, 120.431_181, 1e-4, "std");

    let kept = -(-990.0_f64 / 150.0).exp_m1();
    let counts: Vec<u32> = uniforms().map(|u| (10.0 - 150.0 * (-u * kept).ln_1p()).round() as u32).collect();
    let fit = fit_lengths(&counts).unwrap();
    let Distribution::Exponential { mean, min: 10, max: 957 } = fit.distribution else { panic!("{fit:?}") };
    assert_near(mean, 150.376_580, 1e-4, "mean");
}

#[test]
fn simple_laws_are_told_from_others() {
    let uniform: Vec<u32> = uniforms().map(|u| (50.0 + u * 101.0) as u32).collect();
    assert_eq!(fit_lengths(&uniform).unwrap().distribution, Distribution::Uniform { min: 50, max: 150 });
    assert_eq!(fit_lengths(&[7, 7, 7]).unwrap().distribution, Distribution::Constant { value: 7 });
    assert_eq!(fit_lengths(&[]), None);
    // Two values, three to one.
    let two: Vec<u32> = (0..400).map(|i| if i % 4 == 0 { 1_000 } else { 10 }).collect();
    let table = Distribution::Empirical { values: vec![10, 1_000], weights: vec![300.0, 100.0] };
    let fit = fit_lengths(&two).unwrap();
    assert_eq!((fit.distribution, fit.distance, fit.refused), (table, 0.0, None));
}

#[test]
fn what_no_law_describes_becomes_a_table_with_its_mean() {
    // Two heaps far apart, as reasoning answers have.
    let counts: Vec<u32> = uniforms()
        .enumerate()
        .map(|(i, u)| bell(if i % 3 == 0 { 8_000.0 } else { 300.0 }, 50.0, 100.0, 9_000.0, u).round() as u32)
        .collect();
    let fit = fit_lengths(&counts).unwrap();
    let refused = fit.refused.as_ref().unwrap();
    assert!(refused.distance > 0.1, "{refused:?}");
    let Distribution::Empirical { values, weights } = &fit.distribution else { panic!("{fit:?}") };
    assert!(values.len() <= 200 && weights.iter().sum::<f64>() == 200.0, "{}", values.len());
    assert!(fit.distance < 0.01, "{}", fit.distance);
    assert_near(fit.fitted.mean, fit.observed.mean, 0.001, "mean");
    assert_near(f64::from(fit.fitted.p90), f64::from(fit.observed.p90), 0.01, "p90");
}

/// scipy 1.17.1: `gamma.fit(x, floc=0)`, and `kstest` of what they give.
#[test]
fn gaps_have_scipys_shapes() {
    for (shape, expected, distance) in [(0.4, 0.400_771_577, 0.001_216_355), (3.0, 3.007_899_281, 0.001_184_498)] {
        let law = Gamma::new(shape, 1.0).unwrap();
        let gaps: Vec<f64> = uniforms().map(|u| law.inverse_cdf(u)).collect();
        let fit = fit_gaps(&gaps, 1e-9);
        let FittedGapLaw::Gamma { shape: found } = fit.law else { panic!("gamma {shape}: {fit:?}") };
        // The inverse that makes the gaps here is itself right to four digits.
        assert_near(found, expected, 5e-4, "gamma");
        assert_near(fit.distance.unwrap(), distance, 0.1, "distance");
    }
    let exponential: Vec<f64> = uniforms().map(|u| -(-u).ln_1p()).collect();
    assert_eq!(fit_gaps(&exponential, 1e-9).law, FittedGapLaw::Exponential);
    assert_eq!(fit_gaps(&[2.0; 100], 1e-9).law, FittedGapLaw::Constant);
}

#[test]
fn a_coarse_clock_tells_no_shape() {
    let gaps: Vec<f64> = uniforms().map(|u| (-(-u).ln_1p() * 2.0).floor()).collect();
    let fit = fit_gaps(&gaps, 1.0);
    assert_eq!((fit.law, fit.distance), (FittedGapLaw::Exponential, None));
    assert!(fit.coarse.is_some_and(|coarse| coarse > 0.5), "{fit:?}");
    assert_eq!(fit_gaps(&[1.0, 2.0], 1e-9).law, FittedGapLaw::Exponential);
}

/// Draws moments of a Poisson process with these rates. One follows the other, for 100 s each.
fn moments(seed: u64, rates: &[f64]) -> Vec<f64> {
    let mut stream = RandomStream::named(seed, "course");
    let mut moments = Vec::new();
    for (place, rate) in rates.iter().enumerate() {
        let (begins, mut at) = (place as f64 * 100.0, 0.0);
        loop {
            at += stream.exponential() / rate;
            if at >= 100.0 {
                break;
            }
            moments.push(begins + at);
        }
    }
    moments
}

#[test]
fn a_level_rate_is_left_whole_and_a_step_is_found() {
    // Of 200 level courses few may be cut by chance.
    let cut = (0..200).filter(|seed| rate_course(&moments(*seed, &[20.0; 3]), 300.0).len() > 1).count();
    assert!(cut <= 10, "{cut} of 200");
    for seed in 0..20 {
        let course = rate_course(&moments(seed, &[10.0, 20.0, 5.0]), 300.0);
        let lengths: Vec<_> = course.iter().map(|stretch| stretch.seconds).collect();
        assert!(lengths.len() >= 3, "seed {seed}: {course:?}");
        assert!((course[0].seconds - 100.0).abs() < 10.0 || lengths.len() > 3, "seed {seed}: {course:?}");
        assert_eq!(lengths.iter().sum::<f64>().round(), 300.0);
    }
    let none = rate_course(&[1.0, 2.0], 10.0);
    assert_eq!(none, [RatePhase { seconds: 10.0, arrivals: 2 }]);
}
