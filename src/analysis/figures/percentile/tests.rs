//! Holds percentiles against numpy and hdrhistogram.

use proptest::prelude::*;

use super::*;
use crate::analysis::figures::quantile::Quantile;

/// p50, p90, p95, p99, p99.9, mean, std(ddof=1) from numpy 2.4.6:
/// `[float(np.quantile(x, q)) for q in (.5, .9, .95, .99, .999)], x.mean(), x.std(ddof=1)`.
fn assert_numpy(sample: &Sample, [p50, p90, p95, p99, p999, mean, std]: [f64; 7]) {
    for (quantile, expected) in Quantile::ALL.into_iter().zip([p50, p90, p95, p99, p999]) {
        assert_eq!(sample.quantile(quantile.fraction()), Some(Figure::Exact(expected)), "{quantile}");
    }
    assert!((sample.mean().unwrap() / mean - 1.0).abs() < 1e-13);
    assert!((sample.std().unwrap() / std - 1.0).abs() < 1e-13);
}

#[test]
fn figures_are_numpys() {
    let few = vec![12.5, 3.25, 100.0, 47.75, 8.0, 8.0, 260.5, 31.0, 5.125, 77.0, 19.5];
    let expected = [
        19.5,
        100.0,
        180.25,
        244.450_000_000_000_05,
        258.895_000_000_000_04,
        52.056_818_181_818_18,
        76.106_901_864_178_1,
    ];
    assert_numpy(&Sample::new(few), expected);

    // x = (np.arange(1, 1001) * 7919 % 1009).astype(float)
    let many = (1..=1000).map(|i| f64::from(i * 7919 % 1009)).collect();
    assert_numpy(
        &Sample::new(many),
        [505.5, 907.1, 958.05, 998.01, 1_007.001, 505.046, 291.099_111_260_368_83],
    );

    // x = np.repeat([10, 4.5, 7.25, 30], [3, 5, 2, 1])
    let repeated = vec![(10.0, 3), (4.5, 5), (99.0, 0), (7.25, 2), (30.0, 1)];
    let expected = [
        7.25,
        10.0,
        20.0,
        28.000_000_000_000_007,
        29.800_000_000_000_004,
        8.818_181_818_181_818,
        7.423_013_967_630_424,
    ];
    assert_numpy(&Sample::weighted(repeated), expected);
}

#[test]
fn an_empty_sample_has_no_figures() {
    let empty = Sample::new(Vec::new());
    assert!(empty.is_empty());
    assert_eq!(empty.quantile(0.5), None);
    assert_eq!((empty.mean(), empty.std(), empty.min(), empty.max()), (None, None, None, None));
    assert!(empty.share_at_most(1.0).abs() < 1e-12);
    assert_eq!(Sample::new(vec![4.0]).std(), None);
}

#[test]
fn a_percentile_among_the_censored_is_a_lower_bound() {
    let sample: Sample = (1..=98)
        .map(|i| Figure::Exact(f64::from(i)))
        .chain([Figure::AtLeast(5_000.0), Figure::AtLeast(4_000.0)])
        .collect();
    assert_eq!((sample.len(), sample.censored()), (100, 2));
    assert_eq!(sample.quantile(0.5), Some(Figure::Exact(50.5)));
    assert_eq!(sample.quantile(0.95), Some(Figure::Exact(95.05)));
    assert_eq!(sample.quantile(0.999).map(Figure::exact), Some(None));
    assert_eq!(sample.max(), Some(Figure::AtLeast(5_000.0)));
    assert_eq!((sample.mean(), sample.std()), (None, None));
    assert!((sample.share_at_most(4_500.0) - 0.99).abs() < 1e-12);
}

#[test]
fn a_bound_among_the_observed_leaves_what_lies_above_it_between_two_ends() {
    let sample: Sample = [Figure::Exact(1.0), Figure::Exact(2.0), Figure::Exact(3.0), Figure::AtLeast(1.5)]
        .into_iter()
        .collect();
    assert_eq!(sample.min(), Some(Figure::Exact(1.0)));
    // At its bound the censored one makes the median 1.75; at infinity, 2.5.
    assert_eq!(sample.quantile(0.5), Some(Figure::Between { low: 1.75, high: 2.5 }));
    assert_eq!(sample.quantile(1.0), Some(Figure::AtLeast(3.0)));
    let early: Sample = [Figure::AtLeast(0.5), Figure::Exact(2.0)].into_iter().collect();
    assert_eq!(early.min(), Some(Figure::Between { low: 0.5, high: 2.0 }));
}

#[test]
fn weighted_samples_may_have_bounds_too() {
    let pairs = vec![(10.0, 3), (20.0, 1)];
    let sample = Sample::weighted(pairs.clone()).and_at_least([5.0, 15.0]);
    let spread = [10.0, 10.0, 10.0, 20.0].map(Figure::Exact).into_iter();
    let plain: Sample = spread.chain([5.0, 15.0].map(Figure::AtLeast)).collect();
    assert_eq!((sample.len(), sample.censored(), sample.mean()), (6, 2, None));
    for fraction in [0.0, 0.2, 0.5, 0.7, 1.0] {
        assert_eq!(sample.quantile(fraction), plain.quantile(fraction), "{fraction}");
    }
    assert_eq!(Sample::weighted(pairs).and_at_least([]).mean(), Some(12.5));
}

#[test]
fn one_request_censored_early_leaves_a_long_run_its_percentiles() {
    // 1 … 546 and one known only to exceed 0.25. By hand, ranks 273, 540.54 and 545.454 from 0: with that one
    // first every sample stands a rank higher than with it last.
    let sample: Sample =
        (1..=546).map(|i| Figure::Exact(f64::from(i))).chain([Figure::AtLeast(0.25)]).collect();
    assert_eq!(sample.quantile(0.5), Some(Figure::Between { low: 273.0, high: 274.0 }));
    let p99 = sample.quantile(0.99).unwrap();
    assert!((p99.at_least() - 540.54).abs() < 1e-9 && (p99.at_most().unwrap() - 541.54).abs() < 1e-9);
    assert_eq!(sample.quantile(0.999).unwrap().at_most(), None);
}

proptest! {
    #[test]
    fn quantiles_rise_within_the_extremes(values in prop::collection::vec(0.0..1e6f64, 1..200)) {
        let sample = Sample::new(values);
        let ladder: Vec<f64> =
            (0..=100).map(|i| sample.quantile(f64::from(i) / 100.0).unwrap().at_least()).collect();
        prop_assert!(ladder.is_sorted());
        prop_assert_eq!(Some(Figure::Exact(ladder[0])), sample.min());
        prop_assert_eq!(Some(Figure::Exact(ladder[100])), sample.max());
    }

    #[test]
    fn a_weight_is_that_many_equal_samples(pairs in prop::collection::vec((0.0..1e3f64, 0u32..5), 1..60)) {
        let spread = pairs.iter().flat_map(|&(value, weight)| vec![value; weight as usize]).collect();
        let (weighted, plain) = (Sample::weighted(pairs), Sample::new(spread));
        prop_assert_eq!(weighted.len(), plain.len());
        for quantile in Quantile::ALL {
            prop_assert_eq!(weighted.quantile(quantile.fraction()), plain.quantile(quantile.fraction()));
            let value = 1e3 * quantile.fraction();
            prop_assert_eq!(weighted.share_at_most(value).to_bits(), plain.share_at_most(value).to_bits());
        }
    }

    #[test]
    fn censoring_never_lowers_a_figure(
        values in prop::collection::vec(0.0..100.0f64, 2..60),
        bounds in prop::collection::vec(0.0..200.0f64, 0..10),
        beyond in 0.0..500.0f64,
        fraction in 0.0..1.0f64,
    ) {
        // Whatever the censored samples turn out to be, an exact figure is right and a bound holds.
        let figures = values.iter().map(|&v| Figure::Exact(v)).chain(bounds.iter().map(|&b| Figure::AtLeast(b)));
        let reported = figures.collect::<Sample>().quantile(fraction).unwrap();
        let truth = Sample::new(values.iter().copied().chain(bounds.iter().map(|b| b + beyond)).collect());
        let truth = truth.quantile(fraction).unwrap().at_least();
        match reported {
            Figure::Exact(value) => prop_assert_eq!(value, truth),
            Figure::Between { low, high } => prop_assert!(low <= truth + 1e-9 && truth <= high + 1e-9),
            Figure::AtLeast(bound) => prop_assert!(bound <= truth + 1e-9),
        }
    }

    #[test]
    fn hdrhistogram_agrees_within_its_resolution(values in prop::collection::vec(1u64..10_000_000, 2..300)) {
        let mut histogram = hdrhistogram::Histogram::<u64>::new(3).unwrap();
        for &value in &values {
            histogram.record(value).unwrap();
        }
        let sample = Sample::new(values.iter().map(|&value| value as f64).collect());
        for quantile in Quantile::ALL {
            // hdrhistogram answers with one of the two ranks between which the exact figure lies.
            let rank = (values.len() - 1) as f64 * quantile.fraction();
            let low = sample.order_statistic(rank as u64).unwrap().at_least();
            let high = sample.order_statistic(rank.ceil() as u64).unwrap().at_least();
            let coarse = histogram.value_at_quantile(quantile.fraction()) as f64;
            prop_assert!(low * 0.999 <= coarse && coarse <= high * 1.001 + 1.0, "{} {} {}", low, coarse, high);
        }
    }
}

#[test]
fn a_clone_shares_the_values() {
    for sorted in [Sorted::new(vec![3.0, 1.0]), Sorted::weighted(vec![(3.0, 2), (1.0, 1)])] {
        assert!(Arc::ptr_eq(&sorted.values, &sorted.clone().values));
    }
}

#[test]
fn nanoseconds_give_the_same_figures_as_milliseconds() {
    let nanos: Vec<u64> = (0..1_000).map(|i| (i * 7_919_317) % 5_000_000_123).collect();
    let in_ms: Vec<f64> = nanos.iter().map(|&nanos| millis(Duration::from_nanos(nanos))).collect();
    let (short, long): (Vec<u64>, Vec<u64>) = nanos.iter().partition(|&&nanos| u32::try_from(nanos).is_ok());
    assert!(short.len() > 500 && long.len() > 50);
    let long = long.into_iter().map(|nanos| millis(Duration::from_nanos(nanos))).collect();
    let compact = Sample::of_nanos(short.into_iter().map(|nanos| nanos as u32).collect(), long);
    let plain = Sample::new(in_ms);
    for sample in
        [(&compact, &plain), (&compact.clone().and_at_least([9.0]), &plain.clone().and_at_least([9.0]))]
    {
        let figures = |sample: &Sample| {
            let quantiles = [0.0, 0.001, 0.5, 0.77, 0.9, 0.999, 1.0].map(|share| sample.quantile(share));
            let shares = [0.0, 1.0, 4_294.967, 4_500.0, 9e9].map(|value| sample.share_at_most(value));
            (sample.len(), sample.censored(), sample.mean(), quantiles, shares)
        };
        assert_eq!(figures(sample.0), figures(sample.1));
    }
}
