//! Holds percentiles against numpy and hdrhistogram.

use proptest::prelude::*;

use super::*;
use crate::analysis::figures::quantile::Quantile;

/// Compares a sample with figures from numpy 2.4.6. They are p50, p90, p95, p99, p99.9, mean and std(ddof=1), by
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
    assert_numpy(&Sample::new(many), [505.5, 907.1, 958.05, 998.01, 1_007.001, 505.046, 291.099_111_260_368_83]);

    // x = np.repeat([10, 4.5, 7.25, 30], [3, 5, 2, 1])
    let repeated = [(30_000_000, 3), (22_500_000, 5), (99_000_000, 0), (14_500_000, 2), (30_000_000, 1)];
    let expected = [
        7.25,
        10.0,
        20.0,
        28.000_000_000_000_007,
        29.800_000_000_000_004,
        8.818_181_818_181_818,
        7.423_013_967_630_424,
    ];
    assert_numpy(&tallied(&repeated), expected);

    // Computed from the nearer end: from the other one, its last bit differs.
    let two = Sample::new(vec![0.1, 0.3]);
    assert_numpy(&two, [0.2, 0.279_999_999_999_999_97, 0.29, 0.298, 0.2998, 0.2, 0.141_421_356_237_309_5]);
    assert_eq!(two.quantile(0.1), Some(Figure::Exact(0.120_000_000_000_000_01)));
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
    let sample: Sample =
        [Figure::Exact(1.0), Figure::Exact(2.0), Figure::Exact(3.0), Figure::AtLeast(1.5)].into_iter().collect();
    assert_eq!(sample.min(), Some(Figure::Exact(1.0)));
    // At its bound the censored one makes the median 1.75; at infinity, 2.5.
    assert_eq!(sample.quantile(0.5), Some(Figure::Between { low: 1.75, high: 2.5 }));
    assert_eq!(sample.quantile(1.0), Some(Figure::AtLeast(3.0)));
    let early: Sample = [Figure::AtLeast(0.5), Figure::Exact(2.0)].into_iter().collect();
    assert_eq!(early.min(), Some(Figure::Between { low: 0.5, high: 2.0 }));
}

#[test]
fn one_request_censored_early_leaves_a_long_run_its_percentiles() {
    // 1 … 546 and one known only to exceed 0.25. By hand, ranks 273, 540.54 and 545.454 from 0: with that one
    // first every sample stands a rank higher than with it last.
    let sample: Sample = (1..=546).map(|i| Figure::Exact(f64::from(i))).chain([Figure::AtLeast(0.25)]).collect();
    assert_eq!(sample.quantile(0.5), Some(Figure::Between { low: 273.0, high: 274.0 }));
    let p99 = sample.quantile(0.99).unwrap();
    assert!((p99.at_least() - 540.54).abs() < 1e-9 && (p99.at_most().unwrap() - 541.54).abs() < 1e-9);
    assert_eq!(sample.quantile(0.999).unwrap().at_most(), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Draws lengths that lie close together and far apart, often the same. Some are too long for pages. They are of
    /// few and of many tokens, and bounds lie among them.
    #[test]
    fn a_tally_says_what_a_list_says(
        lengths in prop::collection::vec(
            (
                prop_oneof![0..40_u64, 0..200_000_u64, 0..9_000_000_000_u64],
                prop_oneof![0..4_u32, 1..90_u32],
                1..3_usize,
            ),
            0..20,
        ),
        bounds in prop::collection::vec(prop_oneof![0.0..1e-4f64, 0.0..9e3f64], 0..6),
        asked in prop::collection::vec(0.0..=1.0f64, 3),
    ) {
        let lengths: Vec<_> = lengths.iter().flat_map(|&(ns, tokens, times)| vec![(ns, tokens); times]).collect();
        assert_same(&tallied(&lengths).and_at_least(bounds.iter().copied()), &listed(&lengths, &bounds), &asked)?;
    }
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

/// Lengths in nanoseconds, with the tokens of each.
fn tallied(lengths: &[(u64, u32)]) -> Sample {
    let mut tally = Tally::default();
    for (nanos, tokens) in lengths {
        tally.add(*nanos, *tokens);
    }
    Sample::tallied(tally)
}

/// Sample of such lengths in a list. Each value has the tokens by which it is weighed when it is summed up.
struct Listed {
    exact: Vec<(f64, u32)>,
    bounds: Vec<f64>,
}

fn listed(lengths: &[(u64, u32)], bounds: &[f64]) -> Listed {
    let of_token = |&(nanos, tokens): &(u64, u32)| (nanos as f64 / 1e6 / f64::from(tokens), tokens);
    let mut exact: Vec<_> = lengths.iter().filter(|(_, tokens)| *tokens > 0).map(of_token).collect();
    exact.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    Listed { exact, bounds: bounds.to_vec() }
}

/// Every figure is the same to the last bit.
fn assert_same(sample: &Sample, list: &Listed, asked: &[f64]) -> Result<(), TestCaseError> {
    let spread = || list.exact.iter().flat_map(|(value, tokens)| vec![*value; *tokens as usize]);
    let in_order = |others: &[f64]| {
        let mut all: Vec<f64> = spread().chain(others.iter().copied()).collect();
        all.sort_by(f64::total_cmp);
        all
    };
    let (lower, upper) = (in_order(&list.bounds), in_order(&[]));
    prop_assert_eq!((sample.len(), sample.censored()), (lower.len() as u64, list.bounds.len() as u64));
    for rank in (0..lower.len()).step_by(lower.len() / 20 + 1) {
        let expected = Figure::within(lower[rank], upper.get(rank).copied());
        prop_assert_eq!(sample.order_statistic(rank as u64), Some(expected), "{}", rank);
    }
    prop_assert_eq!(sample.order_statistic(lower.len() as u64), None);
    for &share in asked {
        let of = |sorted: &[f64]| {
            let rank = (lower.len().checked_sub(1)?) as f64 * share;
            let (low, part) = (*sorted.get(rank as usize)?, rank.fract());
            if part == 0.0 { Some(low) } else { Some(interpolate(low, *sorted.get(rank as usize + 1)?, part)) }
        };
        prop_assert_eq!(sample.quantile(share), of(&lower).map(|low| Figure::within(low, of(&upper))));
        let value = lower.get((share * lower.len() as f64) as usize).copied().unwrap_or(1.0);
        for value in [value, value.next_down(), value.next_up(), value * share, 1e9 * share] {
            let below = lower.iter().filter(|one| **one <= value).count();
            let expected = if lower.is_empty() { 0.0 } else { below as f64 / lower.len() as f64 };
            prop_assert_eq!(sample.share_at_most(value).to_bits(), expected.to_bits());
        }
    }
    let n = upper.len() as f64;
    let known = list.bounds.is_empty() && n > 0.0;
    let sum: f64 = list.exact.iter().map(|(value, tokens)| value * f64::from(*tokens)).sum();
    prop_assert_eq!(sample.mean().map(f64::to_bits), known.then(|| (sum / n).to_bits()));
    let squares = list.exact.iter().map(|(value, tokens)| (value - sum / n).powi(2) * f64::from(*tokens));
    let std = (squares.sum::<f64>() / (n - 1.0)).sqrt();
    prop_assert_eq!(sample.std().map(f64::to_bits), (known && n > 1.0).then(|| std.to_bits()));
    Ok(())
}

/// Fills three pages with 200,000 lengths, a third of them in one nanosecond. Counts start again, and blocks are summed
/// up.
#[test]
fn full_pages_are_exact_too() {
    let lengths: Vec<_> = (0..200_000_u64)
        .map(|i| if i.is_multiple_of(3) { 70_001 } else { i * i * 7_919 % (3 << 16) })
        .zip((0..).map(|i| 1 + i / 150_000))
        .collect();
    let sample = tallied(&lengths);
    let list = listed(&lengths, &[]);
    let spread: Vec<f64> = list.exact.iter().flat_map(|(value, tokens)| vec![*value; *tokens as usize]).collect();
    assert_eq!(sample.len(), 250_000);
    for rank in (0..250_000).step_by(17_777) {
        assert_eq!(sample.order_statistic(rank as u64), Some(Figure::Exact(spread[rank])), "{rank}");
    }
    let sum: f64 = list.exact.iter().map(|(value, tokens)| value * f64::from(*tokens)).sum();
    assert_eq!(sample.mean(), Some(sum / 250_000.0));
    for value in [0.0, 0.07, 0.070_001, 0.131_071, 0.131_072, 0.3] {
        let below = spread.partition_point(|one| *one <= value) as f64;
        assert_eq!(sample.share_at_most(value), below / 250_000.0, "{value}");
    }
    let asked = [0.0, 0.37, 0.5, 0.999, 1.0];
    assert_same(&sample, &list, &asked).unwrap();
    let bounds = [0.070_001, 0.1];
    assert_same(&sample.and_at_least(bounds), &listed(&lengths, &bounds), &asked).unwrap();
}

/// A clone of what may be a billion values shares them.
#[test]
fn a_clone_shares_the_values() {
    let shared = |sample: &Sample| match &sample.clone().exact {
        Sorted::Values(values) => Arc::strong_count(values),
        Sorted::Tallied(ranked) => Arc::strong_count(ranked),
    };
    assert_eq!([Sample::new(vec![3.0, 1.0]), tallied(&[(3, 1)])].map(|sample| shared(&sample)), [2, 2]);
}
