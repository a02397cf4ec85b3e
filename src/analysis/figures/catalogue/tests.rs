//! Every figure has its row.

use super::*;

#[test]
fn every_figure_has_its_own_row() {
    for (place, metric) in Metric::ALL.iter().copied().enumerate() {
        assert_eq!(metric as usize, place);
        let FigureInfo { key, field, title, meaning, formula, source, .. } = *metric.info();
        assert!([key, field, title, meaning, formula, source].iter().all(|text| !text.is_empty()), "{key}");
        assert_eq!((Metric::named(key), Metric::named(field)), (Some(metric), Some(metric)));
    }
    assert!(Metric::LATENCIES.iter().all(|metric| metric.kind() == FigureKind::Latency));
    assert_eq!(Metric::named("e2el"), Some(Metric::E2e));
    let latencies = Metric::ALL.iter().filter(|metric| metric.kind() == FigureKind::Latency);
    assert_eq!(latencies.count(), Metric::LATENCIES.len());
    let costs = Metric::ALL.iter().copied().filter(|metric| metric.kind() == FigureKind::Cost);
    assert_eq!(costs.collect::<Vec<_>>(), Metric::COSTS);
}
