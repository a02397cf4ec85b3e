//! Whether the system had settled: what was there and how long it took, section by section of the window.

use serde::Serialize;

use super::observed::Observed;
use super::statistics::SECTIONS;
use super::{Figure, Level, Metric, Trend};
use crate::clock::Timestamp;
use crate::workload::ArrivalPattern;

/// Requests in a section, on average.
const LEAST_IN_SECTION: u64 = 5;
/// Fewer sections say nothing of a trend.
const FEWEST: u64 = 8;

/// How much there was and how long it took grew over the window; absent where the window is too short to tell, or the
/// declared rate itself changes in it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SteadyState {
    /// Requests waiting or in flight.
    pub present: Trend,
    /// Time to first token, milliseconds; of answers that are not streamed, the time to their end.
    pub latency_ms: Trend,
}

impl SteadyState {
    /// Of the window in at most [`SECTIONS`] sections, each of five requests or more on average; where the pattern has
    /// periods, each a whole period. A latency that was cut off counts with the least that it can be.
    pub(crate) fn of(observed: &Observed<'_>) -> Option<Self> {
        let sections = sections(observed)?;
        let (start, length_s) = (observed.start.as_secs_f64(), observed.length().as_secs_f64());
        let section_s = length_s / sections as f64;
        let bounds = |i: u64| {
            let at = |i: u64| Timestamp::from_secs_f64(start + section_s * i as f64);
            (at(i), at(i + 1))
        };
        let metric = if observed.log.header.engine.streamed { Metric::Ttft } else { Metric::E2e };
        let mut sums = vec![(0.0, 0_u32); sections as usize];
        for request in &observed.requests {
            let latency = if metric == Metric::Ttft { request.latency.ttft } else { request.latency.e2e };
            let section = (request.record.scheduled.as_secs_f64() - start) / section_s;
            if let (Some(latency), Some(sum)) =
                (latency.map(Figure::at_least), sums.get_mut(section as usize))
            {
                *sum = (sum.0 + latency, sum.1 + 1);
            }
        }
        let (mut present, mut latency) = (Vec::new(), Vec::new());
        for (i, (sum, n)) in (0..).zip(sums) {
            let middle = start + section_s * (i as f64 + 0.5);
            let stays = observed.log.records.iter().map(|record| (record.dispatched, record.ended));
            present.push((middle, Level::of(stays, bounds(i))?.mean));
            if n > 0 {
                latency.push((middle, sum / f64::from(n)));
            }
        }
        let enough = latency.len() as u64 >= FEWEST;
        let latency_ms = Trend::of(&latency, length_s).filter(|_| enough)?;
        Some(Self { present: Trend::of(&present, length_s)?, latency_ms })
    }
}

/// How many sections the window has; `None` where they would say nothing of a trend.
fn sections(observed: &Observed<'_>) -> Option<u64> {
    let by_requests = observed.requests.len() as u64 / LEAST_IN_SECTION;
    let sections = match &observed.log.header.workload.arrival {
        ArrivalPattern::Poisson { .. } | ArrivalPattern::Constant { .. } | ArrivalPattern::Gamma { .. } => {
            by_requests.min(SECTIONS as u64)
        }
        ArrivalPattern::Bursts { base_s, burst_s, .. } => {
            let periods = observed.length().as_secs_f64() / (base_s + burst_s);
            // Sections that are not whole periods would each hold another share of the bursts.
            let whole = (periods - periods.round()).abs() < 1e-6 && by_requests as f64 >= periods;
            if whole { periods.round() as u64 } else { 0 }
        }
        ArrivalPattern::Stages { .. } => 0,
    };
    (sections >= FEWEST).then_some(sections)
}
