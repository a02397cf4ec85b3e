//! What is read of metrics while a run is on.

use std::time::Duration;

use clap::Args;

use super::some_time;
use crate::engine::MetricsUrl;
use crate::session::Stop;
use crate::session::settings::{OwnPage, TelemetrySettings};

/// Pages of metrics.
///
/// Addresses are taken as text and read here, because clap repeats a value that it cannot parse.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Telemetry")]
pub(in crate::cli) struct TelemetryArgs {
    /// Page of metrics in Prometheus' format to read while a run is on, beside the server's own: of another of its
    /// replicas, or of a DCGM exporter for utilisation, memory and power of GPUs; may be repeated. Where servers at several
    /// addresses are compared, by `ab` or `matrix`, of exporters alone: the page of one server would count for all
    /// [default: none]
    #[arg(long = "metrics-url", value_name = "URL")]
    urls: Vec<String>,

    /// Leave the server's own page of metrics unread
    #[arg(long)]
    no_metrics: bool,

    /// Time from one reading of a page to the next
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = some_time, allow_hyphen_values = true)]
    metrics_interval: Duration,
}

impl TelemetryArgs {
    /// What it means.
    pub(super) fn settings(&self) -> Result<TelemetrySettings, Stop> {
        let mut urls: Vec<MetricsUrl> = Vec::new();
        for text in &self.urls {
            let url = text.parse().map_err(|error| Stop::usage(format!("--metrics-url: {error}")))?;
            if !urls.contains(&url) {
                urls.push(url);
            }
        }
        Ok(TelemetrySettings {
            urls,
            own_page: if self.no_metrics { OwnPage::Unread } else { OwnPage::Read },
            interval: self.metrics_interval,
        })
    }
}
