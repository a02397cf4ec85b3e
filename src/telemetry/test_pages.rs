//! Recorded pages in the logs of tests.

use super::find::source;
use super::taken::{Depth, kind_of, taken};
use crate::clock::Timestamp;
use crate::engine::MetricNames;
use crate::record::{Reading, RunLog};

/// One H100 that waits for its memory.
pub(crate) const MEMORY_BOUND: &str = include_str!("../../tests/data/telemetry/dcgm_memory_bound.txt");
/// One that computes.
pub(crate) const COMPUTE_BOUND: &str = include_str!("../../tests/data/telemetry/dcgm_compute_bound.txt");
/// One that is hot: 88 °C, 900 of 1,980 MHz, hardware thermal slowdown.
pub(crate) const THROTTLED: &str = include_str!("../../tests/data/telemetry/dcgm_throttled.txt");

/// Returns the log as if `page` had been read every second of its window. The page had not changed.
pub(crate) fn with_page(mut log: RunLog, page: &str) -> RunLog {
    let url = "http://gpu-1:9400/metrics".to_owned();
    let place = log.header.telemetry.len() as u16;
    let names = MetricNames::from_kind(kind_of(page).unwrap());
    log.header.telemetry.push(source(url, page).unwrap());
    let seconds = log.header.plan.window_end.as_nanos().div_ceil(1_000_000_000);
    log.telemetry.readings.extend((0..=seconds).map(|second| {
        let at = Timestamp::from_nanos(second * 1_000_000_000);
        Reading { source: place, asked: at, answered: at, ..taken(page, names, Depth::Whole) }
    }));
    log
}
