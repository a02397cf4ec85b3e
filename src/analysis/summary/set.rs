//! Figures under their keys: of a run, a point of a sweep, a side of a comparison, a row of a table.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::across_runs::AcrossRuns;
use crate::analysis::figures::{FigureKey, Metric, Quantile};
use crate::analysis::summary::run::Summary;

/// Figures of one run or of several together. A key that no run has a figure for is kept without one.
///
/// It is stored as a map from [`FigureKey::field`] to the figure, `null` where there is none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FigureSet(Vec<(FigureKey, Option<AcrossRuns>)>);

impl FigureSet {
    /// The figures `keys` of `runs` together.
    pub fn new(keys: impl IntoIterator<Item = FigureKey>, runs: &[&Summary]) -> Self {
        let figure = |key: FigureKey| {
            let across = AcrossRuns::new(&key, runs).known();
            (key, across)
        };
        Self(keys.into_iter().map(figure).collect())
    }

    /// The figures of several sets with the same keys, each of other runs, together.
    pub fn joined(sets: &[&Self]) -> Self {
        let keys = sets.first().into_iter().flat_map(|set| &set.0).map(|(key, _)| key);
        let joined = keys.map(|key| {
            let parts: Vec<_> = sets.iter().map(|set| set.get(key)).collect();
            (key.clone(), AcrossRuns::joined(key, &parts).known())
        });
        Self(joined.collect())
    }

    /// Returns one of the figures.
    pub fn get(&self, key: &FigureKey) -> Option<&AcrossRuns> {
        self.0.iter().find(|(of, _)| of == key).and_then(|(_, figure)| figure.as_ref())
    }

    /// A percentile of a latency.
    pub fn percentile(&self, quantile: Quantile, metric: Metric) -> Option<&AcrossRuns> {
        self.get(&FigureKey::percentile(quantile, metric))
    }

    /// A rate, a share or a number.
    pub fn metric(&self, metric: Metric) -> Option<&AcrossRuns> {
        self.get(&FigureKey::from_metric(metric))
    }

    /// Figures that there are, in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&FigureKey, &AcrossRuns)> {
        self.0.iter().filter_map(|(key, figure)| Some((key, figure.as_ref()?)))
    }

    /// Returns the set with another figure for a key that it has.
    #[must_use]
    pub fn with(mut self, key: &FigureKey, figure: Option<&AcrossRuns>) -> Self {
        self.0.iter_mut().filter(|(of, _)| of == key).for_each(|place| place.1 = figure.cloned());
        self
    }
}

impl Serialize for FigureSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, figure)| (key.field(), figure)))
    }
}

impl<'de> Deserialize<'de> for FigureSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let stored = serde_json::Map::deserialize(deserializer)?;
        let figure = |(field, value): (String, serde_json::Value)| {
            let unknown = || D::Error::custom(format!("unknown field `{field}`, expected a figure of a run"));
            let key = FigureKey::of_field(&field).ok_or_else(unknown)?;
            Ok((key, serde_json::from_value(value).map_err(D::Error::custom)?))
        };
        stored.into_iter().map(figure).collect::<Result<_, _>>().map(Self)
    }
}

/// The schema of an object with a figure `of` for each of `keys`.
#[cfg(test)]
pub(crate) fn schema(
    keys: impl IntoIterator<Item = FigureKey>,
    of: &schemars::Schema,
) -> serde_json::Map<String, serde_json::Value> {
    let described = |key: FigureKey| {
        let mut figure = of.clone();
        let statistic = key.statistic.map_or(String::new(), |statistic| format!("{statistic}: "));
        let (meaning, unit) = (key.metric.info().meaning, key.metric.info().unit.sign);
        figure.insert("description".to_owned(), format!("{statistic}{meaning} ({unit}).").into());
        (key.field(), figure.to_value())
    };
    keys.into_iter().map(described).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::summarise::summarise;
    use crate::analysis::test_runs::{record, run};

    #[test]
    fn sets_are_joined_and_read_again() {
        let p50 = FigureKey::percentile(Quantile::P50, Metric::Ttft);
        let attainment = FigureKey::from_metric(Metric::SloAttainment);
        let of = |ttft| {
            let log = run(1_000, vec![record(0).sent_at(0, 0, 0).paced(ttft, 10, 11).build()]);
            FigureSet::new([p50.clone(), attainment.clone()], &[&summarise(&log, &[])])
        };
        let joined = FigureSet::joined(&[&of(100), &of(300)]);
        assert_eq!(joined.get(&p50).unwrap().mean, Some(200.0));
        assert_eq!((joined.get(&attainment), joined.iter().count()), (None, 1));
        let stored = serde_json::to_value(&joined).unwrap();
        assert_eq!((&stored["ttft_p50_ms"]["mean"], &stored["slo_attainment"]), (&200.0.into(), &().into()));
        assert_eq!(serde_json::from_value::<FigureSet>(stored).unwrap(), joined);
        let unknown = serde_json::from_str::<FigureSet>("{\"ttft_p51_ms\": null}").unwrap_err();
        assert!(unknown.to_string().contains("unknown field `ttft_p51_ms`"), "{unknown}");
        let other = of(500).get(&p50).cloned();
        let replaced = joined.clone().with(&p50, other.as_ref()).with(&attainment, None);
        assert_eq!((replaced.get(&p50).unwrap().mean, replaced.get(&attainment)), (Some(500.0), None));
    }
}
