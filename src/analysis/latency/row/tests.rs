//! Percentiles that were asked for.

use super::*;

/// Of 1 to 401 ms numpy's p99.5 is 1 + 0.995 · 400; a usual percentile is the same with and without being asked for.
#[test]
fn percentiles_that_are_asked_for_come_once_each_and_in_order() {
    let values: Vec<f64> = (1..=401).map(f64::from).collect();
    let row = LatencyRow::new(&Sample::new(values), &[99.5, 95.0, 99.5, 10.0]).unwrap();
    let shown: Vec<_> =
        row.asked.iter().map(|asked| (asked.quantile.to_string(), asked.figure.at_least())).collect();
    assert_eq!(shown, [("p10".to_owned(), 41.0), ("p95".to_owned(), 381.0), ("p99.5".to_owned(), 399.0)]);
    assert_eq!(row.asked[1], *row.percentile(Quantile::P95));
    assert_eq!(
        (row.shown().count(), row.at(Statistic::Percentile(row.asked[2].quantile))),
        (7, row.asked.last())
    );
    let stored = serde_json::to_value(&row).unwrap();
    assert_eq!(
        (&stored["p99_5"]["value_ms"], &stored["p99_5"]["mark"]),
        (&399.0.into(), &"too_few_samples".into())
    );
    assert_eq!(stored.as_object().unwrap().keys().filter(|key| key.starts_with("p95")).count(), 1);
}

#[test]
fn the_tail_is_a_multiple_of_the_middle() {
    let ratio = |values: &[f64]| LatencyRow::in_order(values).unwrap().p99_over_p50();
    assert_eq!(ratio(&[50.0; 3]), Some(1.0));
    assert_eq!(ratio(&[[20.0; 100], [70.0; 100]].concat()[..150]), Some(3.5));
    assert_eq!((ratio(&[0.0; 3]), ratio(&[0.0, 0.0, 9.0])), (None, None));
}

/// Of answers that were cut off after 40 and 60 ms nothing bounds the times from above.
#[test]
fn what_is_known_only_within_bounds_is_stored_with_them() {
    let row = LatencyRow::new(&Sample::new(vec![10.0]).and_at_least([40.0, 60.0]), &[]).unwrap();
    let stored = serde_json::to_value(&row).unwrap();
    assert_eq!((&stored["min_ms"], &stored["min_at_least_ms"]), (&10.0.into(), &().into()));
    assert_eq!((&stored["max_ms"], &stored["max_at_least_ms"]), (&().into(), &60.0.into()));
    assert_eq!((&stored["max_at_most_ms"], &stored["p50"]["at_most_ms"]), (&().into(), &().into()));
}
