//! Compares what a plan demands of the client with what this machine can do.

use std::num::NonZeroUsize;

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
/// The readers of a client are the bottleneck: each reads and stamps on a core of its own. Half of their time may be
/// planned: the other half absorbs bursts and coinciding answers without a queue.
#[derive(Clone, Copy, Debug)]
pub struct ClientCapacity<'a> {
    /// Costs of one reader.
    pub found: &'a Calibration,
    /// Number of readers.
    pub readers: NonZeroUsize,
}

/// The share of the readers' time that may be planned.
const TRUSTED: f64 = 0.5;
/// CPU time of the one thread that sends, for each request, nanoseconds. It is chosen, not measured: about twice what an
/// idle machine needs.
const SENDING_NS: f64 = 20_000.0;
/// The share of a reader's time above which another helps.
const BUSY: f64 = 0.25;

impl ClientCapacity<'_> {
    /// Returns the share of the readers' time that a plan demands. It is requests/s × (cost of a request + its further
    /// events × cost of a separate event). Above 1 it is impossible.
    pub fn share(self, demand: ClientDemand) -> f64 {
        demand.requests_per_s * self.scarcest_ns(demand.events_per_request) / 1e9
    }

    /// The number of readers with which a plan leaves each much time. A closed loop of `users`, which
    /// paces itself, needs one for each 50 of them.
    pub fn needed(self, demand: ClientDemand, users: Option<u64>) -> NonZeroUsize {
        let needed = match users {
            Some(users) => users as f64 / 50.0,
            None => demand.requests_per_s * self.request_ns(demand.events_per_request) / 1e9 / BUSY,
        };
        NonZeroUsize::new(needed.ceil() as usize).unwrap_or(NonZeroUsize::MIN).min(self.readers)
    }

    /// Requests per second, with answers of so many events, that the client can execute reliably.
    pub fn trusted_requests_per_s(self, events_per_request: f64) -> f64 {
        TRUSTED * 1e9 / self.scarcest_ns(events_per_request)
    }

    /// Whether the client can execute a plan reliably.
    pub fn judge(self, demand: ClientDemand) -> Result<(), Overload> {
        let share = self.share(demand);
        if share <= TRUSTED {
            return Ok(());
        }
        Err(Overload { demand, share, factor: share / TRUSTED })
    }

    /// Cost of a request to the scarcest thread: a reader, or the sender.
    fn scarcest_ns(self, events: f64) -> f64 {
        (self.request_ns(events) / self.readers.get() as f64).max(SENDING_NS)
    }

    fn request_ns(self, events: f64) -> f64 {
        let further = (events - 1.0).max(0.0);
        self.found.request_cpu_ns as f64 + further * self.found.paced_event_cpu_ns as f64
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
            age_s: None,
            stamp_delay: delay,
            pacer_delay: delay,
            request_cpu_ns: 100_000,
            paced_event_cpu_ns: 10_000,
            coalesced_event_cpu_ns: 1_000,
        }
    };

    fn one() -> ClientCapacity<'static> {
        ClientCapacity { found: &FOUND, readers: NonZeroUsize::MIN }
    }

    #[test]
    fn readers_share_a_plan_and_no_more_read_than_it_needs() {
        let four = ClientCapacity { readers: NonZeroUsize::new(4).unwrap(), ..one() };
        assert_eq!((four.share(demand(1_000.0, 91.0)), four.trusted_requests_per_s(91.0)), (0.25, 2_000.0));
        let many = ClientCapacity { readers: NonZeroUsize::new(64).unwrap(), ..one() };
        assert_eq!(many.trusted_requests_per_s(1.0), 25_000.0, "one thread sends");
        let needed = |per_s, users| four.needed(demand(per_s, 91.0), users).get();
        assert_eq!([needed(0.0, None), needed(250.0, None), needed(251.0, None), needed(9_000.0, None)], [1, 1, 2, 4]);
        assert_eq!([needed(0.0, Some(1)), needed(0.0, Some(101)), needed(0.0, Some(1_000))], [1, 3, 4]);
    }

    fn demand(requests_per_s: f64, events_per_request: f64) -> ClientDemand {
        ClientDemand { requests_per_s, events_per_request }
    }

    #[test]
    fn a_plan_is_requests_and_their_events() {
        let capacity = one();
        assert_eq!(capacity.share(demand(1_000.0, 1.0)), 0.1);
        // 100 µs and 90 × 10 µs a request.
        assert_eq!(capacity.share(demand(1_000.0, 91.0)), 1.0);
        assert_eq!(capacity.trusted_requests_per_s(91.0), 500.0);
        assert!(capacity.judge(demand(500.0, 91.0)).is_ok());
        assert!(capacity.judge(demand(501.0, 91.0)).is_err());
    }

    #[test]
    fn the_cure_is_a_lower_rate_or_more_clients() {
        let overload = one().judge(demand(1_230.0, 91.0)).unwrap_err();
        assert_eq!((overload.share, overload.clients()), (1.23, 3));
        // The mean may be below the peak: 615/s of mean for 1,230/s of peak, so 250/s for 500/s.
        assert_eq!(overload.trusted_rate_per_s(615.0), 250.0);
        let shared = overload.demand.shared(Shard { number: 1, of: 3 });
        assert!(one().judge(shared).is_ok(), "as many as are named suffice");
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
