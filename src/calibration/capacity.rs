//! Compares what a plan demands of the client with what this machine can do.

use crate::record::{Calibration, Shard};
use crate::workload::WorkloadSpec;

/// Demand of a plan on one client at its peak.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClientDemand {
    /// Requests per second at the plan's highest rate, with the mean turns of a conversation. It is 0 for a closed
    /// loop, which paces itself.
    pub requests_per_s: f64,
    /// Events of a mean answer: one per token where answers are streamed.
    pub events_per_request: f64,
}

impl ClientDemand {
    /// The demand of a workload whose answers are streamed token by token.
    pub fn from_workload(workload: &WorkloadSpec) -> Self {
        let [_, answer_tokens] = workload.mean_tokens();
        Self {
            requests_per_s: workload.arrival.peak_rate_per_s() * workload.mean_turns(),
            events_per_request: answer_tokens,
        }
    }

    /// The demand where answers come in one piece.
    pub fn of_whole_answers(workload: &WorkloadSpec) -> Self {
        Self { events_per_request: 1.0, ..Self::from_workload(workload) }
    }

    /// The demand on one shard.
    #[must_use]
    pub fn shared(self, shard: Shard) -> Self {
        Self { requests_per_s: self.requests_per_s / shard.of as f64, ..self }
    }
}

/// Load that one client on this machine can execute reliably.
///
/// A client reads and stamps on one thread, so that no stamp waits for another; that thread is the
/// bottleneck. Half of its time may be planned: the other half absorbs bursts and coinciding answers without
/// a queue.
#[derive(Clone, Copy, Debug)]
pub struct ClientCapacity<'a>(pub &'a Calibration);

/// The share of the thread's time that may be planned.
const TRUSTED: f64 = 0.5;

impl ClientCapacity<'_> {
    /// Returns the share of the thread's time that a plan demands. It is requests/s × (cost of a request + its further
    /// events × cost of a separate event). Above 1 it is impossible.
    pub fn share(self, demand: ClientDemand) -> f64 {
        demand.requests_per_s * self.request_ns(demand.events_per_request) / 1e9
    }

    /// Requests per second, with answers of so many events, that the client can execute reliably.
    pub fn trusted_requests_per_s(self, events_per_request: f64) -> f64 {
        TRUSTED * 1e9 / self.request_ns(events_per_request)
    }

    /// Whether the client can execute a plan reliably.
    pub fn judge(self, demand: ClientDemand) -> Result<(), Overload> {
        let share = self.share(demand);
        if share <= TRUSTED {
            return Ok(());
        }
        Err(Overload { demand, share, factor: share / TRUSTED })
    }

    fn request_ns(self, events: f64) -> f64 {
        let Self(calibration) = self;
        let further = (events - 1.0).max(0.0);
        calibration.request_cpu_ns as f64 + further * calibration.paced_event_cpu_ns as f64
    }
}

/// A plan that demands more than a client on this machine can execute reliably.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overload {
    /// The demand.
    pub demand: ClientDemand,
    /// The share of the client's time that this takes.
    pub share: f64,
    /// The demand relative to what is reliable.
    factor: f64,
}

impl Overload {
    /// Returns the mean rate up to which the same traffic is reliable. The plan has the mean rate `mean_rate_per_s`.
    /// The rate has two digits and is rounded down.
    pub fn trusted_rate_per_s(&self, mean_rate_per_s: f64) -> f64 {
        let rate = mean_rate_per_s / self.factor;
        let digit = 10f64.powf(rate.log10().floor() - 1.0);
        (rate / digit).floor() * digit
    }

    /// Returns how many clients like this one can share the plan reliably.
    pub fn clients(&self) -> u64 {
        self.factor.ceil() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Delays;
    use crate::workload::{ArrivalPattern, Overrides};

    /// A request costs 100 µs, an event by itself 10 µs.
    const FOUND: Calibration = {
        let delay = Delays { n: 1, p50_ns: 1, p99_ns: 1, max_ns: 1 };
        Calibration {
            took_ns: 1,
            stamp_delay: delay,
            pacer_delay: delay,
            request_cpu_ns: 100_000,
            paced_event_cpu_ns: 10_000,
            coalesced_event_cpu_ns: 1_000,
        }
    };

    fn demand(requests_per_s: f64, events_per_request: f64) -> ClientDemand {
        ClientDemand { requests_per_s, events_per_request }
    }

    #[test]
    fn a_plan_is_requests_and_their_events() {
        let capacity = ClientCapacity(&FOUND);
        assert_eq!(capacity.share(demand(1_000.0, 1.0)), 0.1);
        // 100 µs and 90 × 10 µs a request.
        assert_eq!(capacity.share(demand(1_000.0, 91.0)), 1.0);
        assert_eq!(capacity.trusted_requests_per_s(91.0), 500.0);
        assert!(capacity.judge(demand(500.0, 91.0)).is_ok());
        assert!(capacity.judge(demand(501.0, 91.0)).is_err());
    }

    #[test]
    fn the_cure_is_a_lower_rate_or_more_clients() {
        let overload = ClientCapacity(&FOUND).judge(demand(1_230.0, 91.0)).unwrap_err();
        assert_eq!((overload.share, overload.clients()), (1.23, 3));
        // The mean may be below the peak: 615/s of mean for 1,230/s of peak, so 250/s for 500/s.
        assert_eq!(overload.trusted_rate_per_s(615.0), 250.0);
        let shared = overload.demand.shared(Shard { number: 1, of: 3 });
        assert!(ClientCapacity(&FOUND).judge(shared).is_ok(), "as many as are named suffice");
    }

    #[test]
    fn a_workload_asks_for_its_peak_and_its_mean_answer() {
        let mut workload = WorkloadSpec::load("short_chat").unwrap();
        workload.arrival =
            ArrivalPattern::Bursts { base_rate_per_s: 2.0, burst_rate_per_s: 30.0, base_s: 8.0, burst_s: 2.0 };
        let mut other = workload.classes[0].clone();
        other.name = "other".to_owned();
        workload.classes.push(other);
        for (class, (weight, tokens)) in workload.classes.iter_mut().zip([(3.0, 100), (1.0, 500)]) {
            class.weight = weight;
            class.output_tokens = crate::workload::Distribution::Constant { value: tokens };
        }
        workload.classes.truncate(2);
        assert_eq!(ClientDemand::from_workload(&workload), demand(30.0, 200.0));
        assert_eq!(ClientDemand::of_whole_answers(&workload), demand(30.0, 1.0));
        let doubled = Overrides { rate_per_s: Some(15.2), ..Overrides::default() };
        assert_eq!(ClientDemand::from_workload(&workload.with(&doubled).unwrap()).requests_per_s, 60.0);
    }
}
