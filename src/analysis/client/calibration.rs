//! A calibration in the units of the summary.

use std::time::Duration;

use serde::Serialize;

use super::load::DelaySummary;
use crate::record::Calibration;
use crate::units::millis;

/// What the measuring machine was found to do against a server of known streams. Rates are those at which the one
/// thread that reads answers would have no time left.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CalibrationSummary {
    /// How long it took to measure.
    pub took_ms: f64,
    /// The client's stamp of an event − the moment at which the server began to write it, without its sign.
    pub stamp_delay: DelaySummary,
    /// The moment at which a request was dispatched − its scheduled moment.
    pub pacer_delay: DelaySummary,
    /// Requests per second with an answer of one event each.
    pub requests_per_s: f64,
    /// Events per second, each in a packet of its own.
    pub paced_events_per_s: f64,
    /// Events per second, as many together as fit.
    pub coalesced_events_per_s: f64,
}

impl From<Calibration> for CalibrationSummary {
    fn from(found: Calibration) -> Self {
        Self {
            took_ms: millis(Duration::from_nanos(found.took_ns)),
            stamp_delay: found.stamp_delay.into(),
            pacer_delay: found.pacer_delay.into(),
            requests_per_s: found.requests_per_s(),
            paced_events_per_s: found.paced_events_per_s(),
            coalesced_events_per_s: found.coalesced_events_per_s(),
        }
    }
}
