//! What the measuring machine was found to do against a server of known streams.

use serde::{Deserialize, Serialize};

use super::Delays;

/// What the measuring machine was found to do, shortly before a run, against a server of known streams inside the
/// same process: the floor under every figure that it takes.
///
/// Costs are processor time of the one thread that writes requests and reads answers, so what it can do at most is
/// a second divided by them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// How long it took to measure.
    pub took_ns: u64,
    /// The client's stamp of an event − the moment at which the server began to write it.
    pub stamp_delay: Delays,
    /// The moment at which a request was let go − the moment that its schedule says.
    pub pacer_delay: Delays,
    /// Cost of a request whose answer has one event, nanoseconds.
    pub request_cpu_ns: u64,
    /// Cost of an event that comes in a packet of its own, nanoseconds.
    pub paced_event_cpu_ns: u64,
    /// Cost of an event that comes together with as many others as fit, nanoseconds.
    pub coalesced_event_cpu_ns: u64,
}

impl Calibration {
    /// Requests per second, with an answer of one event each, that take all of the thread's time.
    #[must_use]
    pub fn requests_per_s(&self) -> f64 {
        per_second(self.request_cpu_ns)
    }

    /// Events per second, each in a packet of its own, that take all of the thread's time.
    #[must_use]
    pub fn paced_events_per_s(&self) -> f64 {
        per_second(self.paced_event_cpu_ns)
    }

    /// Events per second, as many together as fit, that take all of the thread's time.
    #[must_use]
    pub fn coalesced_events_per_s(&self) -> f64 {
        per_second(self.coalesced_event_cpu_ns)
    }
}

/// How often something that takes so long can be done in a second. Nothing takes less than the clock can tell.
fn per_second(cpu_ns: u64) -> f64 {
    1e9 / cpu_ns.max(1) as f64
}
