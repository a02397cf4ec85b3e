//! The series as `OpenMetrics` text.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};

use super::families::{Family, families, run_labels};
use crate::analysis::Summary;
use crate::report::render::printable;

/// The summary for Prometheus: gauges in base units, `# EOF` at the end (`OpenMetrics` 1.0). What is not known has no
/// sample.
///
/// # Errors
///
/// None that a string can have.
pub(crate) fn openmetrics(summary: &Summary) -> Result<String, fmt::Error> {
    let labels = run_labels(summary).into_iter().map(|(name, value)| (name, printable(&value))).collect();
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Collected { labels, families: families(summary) }));
    let mut text = String::new();
    encode(&mut text, &registry)?;
    Ok(text)
}

#[derive(Debug)]
struct Collected {
    labels: Vec<(String, String)>,
    families: Vec<Family>,
}

impl Collector for Collected {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        // A gauge, for the readers of Prometheus's own older format know no type `info`.
        let mut info = encoder.encode_descriptor("skyline_run_info", "What was run", None, MetricType::Gauge)?;
        ConstGauge::new(1.0).encode(info.encode_family(&self.labels)?)?;
        for family in &self.families {
            // The encoder itself adds the endings of units that have a name.
            let (unit, ending) = match family.unit.ending {
                "_seconds" | "_bytes" | "_joules" | "_watts" => {
                    (Some(Unit::Other(family.unit.ending[1..].to_owned())), "")
                }
                other => (None, other),
            };
            let name = format!("skyline_{}{ending}", family.name);
            let mut metric = encoder.encode_descriptor(&name, &family.help, unit.as_ref(), MetricType::Gauge)?;
            for (labels, value) in &family.points {
                let shown = labels.iter().map(|(name, value)| (*name, printable(value)));
                let labels: Vec<_> = shown.collect();
                ConstGauge::new(*value).encode(metric.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}
