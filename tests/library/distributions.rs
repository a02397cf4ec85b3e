//! Our distributions against those of the crate `rand_distr`, by the two-sample Kolmogorov–Smirnov test.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng as _;
use rand_distr::{Distribution as _, Exp, Exp1, Gamma, LogNormal, Normal, StandardNormal};
use skyline::generator::LengthSampler;
use skyline::random::RandomStream;
use skyline::workload::Distribution;

const DRAWS: usize = 40_000;

/// The largest distance between the distribution functions of two samples of `DRAWS`, times √(n/2).
fn distance(mut ours: impl FnMut() -> f64, mut theirs: impl FnMut() -> f64) -> f64 {
    let sorted = |draw: &mut dyn FnMut() -> f64| {
        let mut draws: Vec<f64> = (0..DRAWS).map(|_| draw()).collect();
        draws.sort_by(f64::total_cmp);
        draws
    };
    let (ours, theirs) = (sorted(&mut ours), sorted(&mut theirs));
    let below = |draws: &[f64], x: f64| draws.partition_point(|&draw| draw <= x) as f64 / DRAWS as f64;
    let gap = |&x: &f64| (below(&ours, x) - below(&theirs, x)).abs();
    ours.iter().chain(&theirs).map(gap).fold(0.0, f64::max) * (DRAWS as f64 / 2.0).sqrt()
}

/// The 0.1 % critical value of the Kolmogorov distribution; the seeds are fixed, so that this cannot flicker.
const CRITICAL: f64 = 1.95;

fn their_bits() -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(2026)
}

#[test]
fn exponential_normal_and_gamma_are_theirs() {
    let (mut stream, mut bits) = (RandomStream::named(11, "against rand_distr"), their_bits());
    assert!(distance(|| stream.exponential(), || Exp1.sample(&mut bits)) < CRITICAL);
    assert!(distance(|| stream.normal(), || StandardNormal.sample(&mut bits)) < CRITICAL);
    for shape in [0.25, 0.5, 1.0, 2.0, 7.5] {
        let theirs = Gamma::new(shape, 1.0).unwrap();
        let found = distance(|| stream.gamma(shape), || theirs.sample(&mut bits));
        assert!(found < CRITICAL, "gamma of shape {shape}: {found}");
    }
    let other = Gamma::new(2.2, 1.0).unwrap();
    assert!(distance(|| stream.gamma(2.0), || other.sample(&mut bits)) > CRITICAL, "it can tell");
}

/// Theirs are cut to the bounds by drawing again.
#[test]
fn lengths_are_theirs_inside_their_bounds() {
    let mut bits = their_bits();
    let (min, max) = (16, 1024);
    let mut hold = |distribution: &Distribution, draw: &mut dyn FnMut(&mut ChaCha8Rng) -> f64, (min, max)| {
        let lengths = LengthSampler::new(distribution);
        let mut stream = RandomStream::named(3, "against rand_distr");
        let inside = || loop {
            let length = draw(&mut bits);
            if (f64::from(min)..=f64::from(max)).contains(&length) {
                return length.round();
            }
        };
        let found = distance(|| f64::from(lengths.draw(&mut stream)), inside);
        assert!(found < CRITICAL, "{distribution:?}: {found}");
    };
    let normal = Normal::new(256.0, 128.0).unwrap();
    let ours = Distribution::Normal { mean: 256.0, std: 128.0, min, max };
    hold(&ours, &mut |bits| normal.sample(bits), (min, max));
    let tail = Distribution::Normal { mean: 256.0, std: 128.0, min: 400, max: 900 };
    hold(&tail, &mut |bits| normal.sample(bits), (400, 900));
    let log_normal = LogNormal::new(200_f64.ln(), 0.9).unwrap();
    let ours = Distribution::LogNormal { median: 200.0, sigma: 0.9, min, max };
    hold(&ours, &mut |bits| log_normal.sample(bits), (min, max));
    let exponential = Exp::new(1.0 / 300.0).unwrap();
    let ours = Distribution::Exponential { mean: 300.0, min, max };
    hold(&ours, &mut |bits| exponential.sample(bits), (min, max));
}
