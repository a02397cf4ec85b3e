//! Holds the streams to their pinned values, and the samplers to closed forms.

use super::normal::{normal_cdf, normal_quantile};
use super::stream::{RandomStream, WeightedChoice};

/// The seed and the name under which a plan draws its arrivals, as an example.
fn arrivals() -> RandomStream {
    RandomStream::named(42, "arrivals")
}

#[test]
fn streams_are_pinned_forever() {
    // By an independent ChaCha8 in Python (RFC 8439's block function with 8 rounds, a 64-bit counter and a 64-bit
    // stream number), keyed with hashlib.sha256(b"skyline stream 1\0" + struct.pack("<Q", 42) + b"arrivals").
    let mut stream = arrivals();
    let first: Vec<u64> = (0..4).map(|_| stream.bits()).collect();
    assert_eq!(first, [0xdb25_4d8a_efe8_34dd, 0xa718_2d09_dae4_f52d, 0x372a_c48d_e9fb_b25b, 0x5407_cae3_611e_e0f0]);
    let mut branch = arrivals().branch(7);
    assert_eq!([branch.bits(), branch.bits()], [0x35ac_7bf0_1814_91b7, 0x6cd3_f981_c2e1_7c0b]);
    assert_eq!(stream.branch(0).bits(), first[0], "a branch begins at its beginning");
}

#[test]
fn samples_are_pinned_forever() {
    // The same bits through numpy: (v >> 11) * 2.0**-53, -log1p(-u), norm.ppf(((v >> 11) | 1) * 2.0**-53).
    let mut stream = arrivals();
    assert_eq!([stream.unit(), stream.unit()], [0.856_037_947_101_783_2, 0.652_712_645_441_073_9]);
    let mut stream = arrivals();
    for expected in [1.938_205_535_674_199_4, 1.057_602_730_609_287_7, 0.242_704_034_663_084_93] {
        assert_close(stream.exponential(), expected, 4e-16);
    }
    let mut stream = arrivals();
    for expected in [1.062_686_586_472_692_9, 0.392_654_461_460_023_03, -0.787_494_119_632_059] {
        assert_close(stream.normal(), expected, 4e-16);
    }
    // Exact bits: a change of any of these figures breaks every plan ever drawn.
    let mut stream = arrivals();
    let bits = [stream.exponential(), stream.normal(), stream.gamma(0.5), stream.gamma(4.0)].map(f64::to_bits);
    assert_eq!(
        bits.map(|b| format!("{b:016x}")),
        ["3fff02e3ceca597d", "3fd921402da65ac9", "3fa1d0260230f64f", "401ccbd76838282a"]
    );
}

fn assert_close(actual: f64, expected: f64, relative: f64) {
    let bound = relative * expected.abs();
    assert!((actual - expected).abs() <= bound, "{actual:e} is not {expected:e} within {bound:e}");
}

#[test]
fn normal_quantiles_are_scipys() {
    // python3 -c 'import scipy.stats as s; print([(p, float(s.norm.ppf(p))) for p in …])', scipy 1.16
    for (p, expected) in [
        (1e-300, -37.047_096_299_361_2),
        (1e-100, -21.273_453_560_965_322),
        (1e-20, -9.262_340_089_798_409),
        (1e-10, -6.361_340_902_404_056),
        (1e-5, -4.264_890_793_922_825),
        (0.001, -3.090_232_306_167_813),
        (0.02, -2.053_748_910_631_823),
        (0.074, -1.446_632_067_158_978_5),
        (0.075, -1.439_531_470_938_456_3),
        (0.1, -1.281_551_565_544_600_4),
        (0.3, -0.524_400_512_708_040_9),
        (0.6, 0.253_347_103_135_799_7),
        (0.9, 1.281_551_565_544_600_4),
        (0.925, 1.439_531_470_938_456_3),
        (0.975, 1.959_963_984_540_054),
        (0.999, 3.090_232_306_167_813),
        (0.999_999_999_9, 6.361_340_889_697_422),
    ] {
        assert_close(normal_quantile(p), expected, 2e-15);
    }
    assert_eq!(normal_quantile(0.5), 0.0);
    assert_eq!(normal_quantile(0.0), f64::NEG_INFINITY);
    assert_eq!(normal_quantile(1.0), f64::INFINITY);
    assert!(normal_quantile(-0.1).is_nan() && normal_quantile(1.1).is_nan());
}

#[test]
fn normal_probabilities_are_scipys() {
    // float(s.norm.cdf(x))
    for (x, expected) in [
        (-37.0, 5.725_571_222_523_926_6e-300),
        (-10.0, 7.619_853_024_160_47e-24),
        (-3.0, 0.001_349_898_031_630_093_3),
        (-1.0, 0.158_655_253_931_457_07),
        (-0.1, 0.460_172_162_722_971),
        (0.0, 0.5),
        (0.5, 0.691_462_461_274_013_1),
        (2.0, 0.977_249_868_051_820_8),
        (8.0, 0.999_999_999_999_999_3),
    ] {
        assert_close(normal_cdf(x), expected, 1e-13);
    }
}

/// Largest distance between the distribution of `n` draws and a distribution function, times √n.
fn kolmogorov(n: usize, mut draw: impl FnMut() -> f64, cdf: impl Fn(f64) -> f64) -> f64 {
    let mut sample: Vec<f64> = (0..n).map(|_| draw()).collect();
    sample.sort_by(f64::total_cmp);
    let size = n as f64;
    let gap = |(i, &x): (usize, &f64)| {
        let p = cdf(x);
        (p - i as f64 / size).max((i + 1) as f64 / size - p)
    };
    sample.iter().enumerate().map(gap).fold(0.0, f64::max) * size.sqrt()
}

#[test]
fn samples_follow_their_distributions() {
    // 1.95 is the Kolmogorov distribution's 0.1 % critical value; the seeds are fixed, so this cannot flicker.
    let mut stream = RandomStream::named(1, "laws");
    assert!(kolmogorov(20_000, || stream.unit(), |x| x) < 1.95);
    assert!(kolmogorov(20_000, || stream.exponential(), |x| 1.0 - (-x).exp()) < 1.95);
    assert!(kolmogorov(20_000, || stream.normal(), normal_cdf) < 1.95);
    // Gamma(1/2) is half a squared normal; Gamma(1) exponential; Gamma(3) has an elementary distribution function.
    assert!(kolmogorov(20_000, || stream.gamma(0.5), |x| libm::erf(x.sqrt())) < 1.95);
    assert!(kolmogorov(20_000, || stream.gamma(1.0), |x| 1.0 - (-x).exp()) < 1.95);
    let gamma_3 = |x: f64| 1.0 - (-x).exp() * (1.0 + x + x * x / 2.0);
    assert!(kolmogorov(20_000, || stream.gamma(3.0), gamma_3) < 1.95);
}

#[test]
fn moments_are_the_closed_forms() {
    let n = 100_000;
    let mut stream = RandomStream::named(2, "moments");
    for shape in [0.2, 0.5, 1.0, 2.5, 9.0] {
        let sample: Vec<f64> = (0..n).map(|_| stream.gamma(shape)).collect();
        let mean = sample.iter().sum::<f64>() / f64::from(n);
        let variance = sample.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / f64::from(n);
        // Standard errors: √(k/n) for the mean, √((2k² + 6k)/n) for the variance. Four of them allowed.
        assert!((mean - shape).abs() < 4.0 * (shape / f64::from(n)).sqrt(), "mean {mean} of {shape}");
        let bound = 4.0 * ((2.0 * shape * shape + 6.0 * shape) / f64::from(n)).sqrt();
        assert!((variance - shape).abs() < bound, "variance {variance} of {shape}");
    }
}

#[test]
fn whole_numbers_are_even_and_inside() {
    let mut stream = RandomStream::named(3, "below");
    let mut counts = [0_u32; 7];
    for _ in 0..70_000 {
        counts[stream.below(7) as usize] += 1;
    }
    let chi_square: f64 = counts.iter().map(|&c| (f64::from(c) - 1e4).powi(2) / 1e4).sum();
    assert!(chi_square < 22.46, "{chi_square}: over the 0.1 % critical value for 6 degrees of freedom");
    assert_eq!(stream.below(1), 0);
    assert_eq!(stream.below(0), 0);
    // Three quarters of the range: without rejection, one third of the results would be twice as likely.
    let bound = 3 << 62;
    let low = (0..30_000).filter(|_| stream.below(bound) < bound / 2).count();
    assert!((14_640..15_360).contains(&low), "{low} of 30,000 in the lower half");
}

#[test]
fn open_units_exclude_both_ends() {
    let mut stream = RandomStream::named(4, "open");
    assert!((0..10_000).map(|_| stream.open_unit()).all(|u| u > 0.0 && u < 1.0));
}

#[test]
fn choices_follow_their_weights() {
    let mut stream = RandomStream::named(5, "choice");
    let choice = WeightedChoice::new([0.0, 1.0, 0.0, 3.0, 0.0]);
    let mut counts = [0_u32; 5];
    for _ in 0..40_000 {
        counts[choice.draw(&mut stream)] += 1;
    }
    assert_eq!([counts[0], counts[2], counts[4]], [0; 3]);
    assert!((9_650..10_350).contains(&counts[1]), "{counts:?}"); // 4 standard deviations of 87
    let equal = WeightedChoice::new([0.0, 0.0]);
    assert!((0..100).map(|_| equal.draw(&mut stream)).any(|place| place == 1));
    assert_eq!(WeightedChoice::new([]).draw(&mut stream), 0);
}
