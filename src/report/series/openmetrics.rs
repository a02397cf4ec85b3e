//! The series as `OpenMetrics` text.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit as MetricUnit};

use super::families::{facts, families, own_labels};
use super::{Family, Point, Unit};
use crate::analysis::Summary;

/// The summary for Prometheus: gauges in base units, `# EOF` at the end (`OpenMetrics` 1.0). What is not known has no
/// sample.
///
/// # Errors
///
/// None that a string can have.
pub fn openmetrics(summary: &Summary) -> Result<String, fmt::Error> {
    let mut labels = own_labels(summary);
    labels.extend(facts(summary));
    // A gauge, for the readers of Prometheus's own older format know no type `info`.
    let info = Family {
        name: "run_info".to_owned(),
        help: "What was run".to_owned(),
        unit: Unit::Yes,
        points: vec![Point { labels, value: 1.0 }],
    };
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Collected([vec![info], families(summary)].concat())));
    let mut text = String::new();
    encode(&mut text, &registry)?;
    Ok(text)
}

#[derive(Debug)]
struct Collected(Vec<Family>);

impl Collector for Collected {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        for family in &self.0 {
            let (unit, ending) = match family.unit {
                // These endings the encoder adds itself.
                Unit::Seconds => (Some(MetricUnit::Seconds), ""),
                Unit::Bytes => (Some(MetricUnit::Bytes), ""),
                Unit::Joules => (Some(MetricUnit::Joules), ""),
                Unit::Watts => (Some(MetricUnit::Other("watts".to_owned())), ""),
                other => (None, other.ending()),
            };
            let name = format!("skyline_{}{ending}", family.name);
            let mut metric =
                encoder.encode_descriptor(&name, &family.help, unit.as_ref(), MetricType::Gauge)?;
            for point in &family.points {
                ConstGauge::new(point.value).encode(metric.encode_family(&point.labels)?)?;
            }
        }
        Ok(())
    }
}
