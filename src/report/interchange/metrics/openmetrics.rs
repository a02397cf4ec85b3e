//! The series as `OpenMetrics` text.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit as MetricUnit};

use super::families::{facts, families, own_labels};
use super::{Family, Unit};
use crate::analysis::Summary;
use crate::report::printable;

/// The summary for Prometheus: gauges in base units, `# EOF` at the end (`OpenMetrics` 1.0). What is not known has no
/// sample.
///
/// # Errors
///
/// None that a string can have.
pub fn openmetrics(summary: &Summary) -> Result<String, fmt::Error> {
    let own = own_labels(summary).into_iter().map(|(name, value)| (name.to_owned(), value));
    let facts = own.chain(facts(summary)).map(|(name, value)| (name, printable(&value))).collect();
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Collected { facts, families: families(summary) }));
    let mut text = String::new();
    encode(&mut text, &registry)?;
    Ok(text)
}

#[derive(Debug)]
struct Collected {
    facts: Vec<(String, String)>,
    families: Vec<Family>,
}

impl Collector for Collected {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        // A gauge, for the readers of Prometheus's own older format know no type `info`.
        let mut info =
            encoder.encode_descriptor("skyline_run_info", "What was run", None, MetricType::Gauge)?;
        ConstGauge::new(1.0).encode(info.encode_family(&self.facts)?)?;
        for family in &self.families {
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
                let shown = point.labels.iter().map(|(name, value)| (*name, printable(value)));
                let labels: Vec<_> = shown.collect();
                ConstGauge::new(point.value).encode(metric.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}
