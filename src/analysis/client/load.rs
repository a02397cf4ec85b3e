//! The load of the measuring machine and process.

use std::time::Duration;

use serde::Serialize;

use crate::record::{Delays, RunLog, StampSource};
use crate::units::millis;

/// What the measuring machine had to do in a run, from its zero to its end.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ClientLoad {
    /// Processors that this process kept busy on average: its CPU time ÷ the length of the run.
    pub cpu_cores: f64,
    /// Share of the run in which the thread that writes requests and reads answers was busy, between 0 and 1.
    pub loop_busy: f64,
    /// How late that thread came back to a timer that was due. The timer itself is up to about 2 ms late.
    pub loop_delay: Option<DelaySummary>,
    /// How long bytes lay in the kernel before they were read, where the kernel tells when they came.
    pub read_delay: Option<DelaySummary>,
    /// Where the moments of arriving bytes come from.
    pub stamps: StampSource,
    /// Largest memory that the process held, bytes, where the system tells.
    pub peak_memory_bytes: Option<u64>,
    /// TCP segments that the whole machine, in its network namespace, sent again until the last sample of the run, to
    /// anybody; absent where nobody looked.
    pub retransmits: Option<u64>,
}

/// A distribution of delays in brief, milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DelaySummary {
    /// Number of samples.
    pub n: u64,
    /// Median.
    pub p50_ms: f64,
    /// 99th percentile.
    pub p99_ms: f64,
    /// Largest.
    pub max_ms: f64,
}

impl From<Delays> for DelaySummary {
    fn from(delays: Delays) -> Self {
        let ms = |ns| millis(Duration::from_nanos(ns));
        let Delays { n, p50_ns, p99_ns, max_ns } = delays;
        Self { n, p50_ms: ms(p50_ns), p99_ms: ms(p99_ns), max_ms: ms(max_ns) }
    }
}

impl ClientLoad {
    /// What the log tells; `None` where nobody watched.
    pub(crate) fn of(log: &RunLog) -> Option<Self> {
        let footer = log.footer.as_ref()?;
        let client = footer.client.as_ref()?;
        let length_ns = footer.ended.as_nanos();
        let share = |cpu_ns: u64| if length_ns == 0 { 0.0 } else { cpu_ns as f64 / length_ns as f64 };
        Some(Self {
            cpu_cores: share(client.cpu_ns),
            loop_busy: share(client.loop_cpu_ns),
            loop_delay: client.loop_delay.map(DelaySummary::from),
            read_delay: client.read_delay.map(DelaySummary::from),
            stamps: log.header.stamps,
            peak_memory_bytes: client.peak_memory_bytes,
            retransmits: log.telemetry.client.last().and_then(|sample| sample.retransmits),
        })
    }
}
