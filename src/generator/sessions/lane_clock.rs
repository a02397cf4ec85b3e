//! The clock of agents, which jumps ahead where nothing is in flight for too long.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::clock::Timestamp;
use crate::generator::request::PlannedRequest;
use crate::record::{GraphPlace, Turn};
use crate::workload::WorkloadSpec;

/// The clock on which the moments of agents' requests are planned. It runs with that of the run, and jumps ahead.
///
/// AIPerf's system idle cap does the same. Once nothing has been in flight for so long in the window, all requests that
/// have a moment come sooner, by the same time each, so that the first of them is due. Delays, their order and what
/// waits for what stay. While a request is in flight the clock never jumps, so one number says for each how far it was
/// ahead.
#[derive(Debug)]
pub(super) struct LaneClock {
    /// Longest time in which nothing is in flight, and the agents. Absent: the clock never jumps.
    cap: Option<(Duration, u64)>,
    ahead: Duration,
    in_flight: u64,
    /// Agents whose first request has left.
    begun: u64,
    /// Requests that have a moment and have not left, in their order. With each is whether it was handed out.
    pending: BTreeMap<(Timestamp, u64), (PlannedRequest, bool)>,
}

impl LaneClock {
    pub(super) fn new(workload: &WorkloadSpec) -> Self {
        let cap = workload.system_idle_cap_s.map(Duration::from_secs_f64).zip(workload.arrival.users());
        Self { cap, ahead: Duration::ZERO, in_flight: 0, begun: 0, pending: BTreeMap::new() }
    }

    /// A moment of the run, on this clock.
    pub(super) fn of_run(&self, moment: Timestamp) -> Timestamp {
        moment.after(self.ahead)
    }

    /// A moment on this clock, in the run.
    pub(super) fn in_run(&self, moment: Timestamp) -> Timestamp {
        Timestamp::from_nanos(moment.as_nanos().saturating_sub(self.ahead.as_nanos() as u64))
    }

    /// A request, with how far the clock is ahead.
    pub(super) fn stamped(&self, request: PlannedRequest) -> PlannedRequest {
        let ahead_ns = self.ahead.as_nanos() as u64;
        let place = |place: GraphPlace| GraphPlace { ahead_ns, ..place };
        let turn = request.turn.map(|turn| Turn { graph: turn.graph.map(place), ..turn });
        PlannedRequest { turn, ..request }
    }

    /// Notes a request that has a `moment`, and whether it is handed out.
    pub(super) fn plan(&mut self, request: PlannedRequest, moment: Timestamp, is_handed_out: bool) {
        if self.cap.is_some() {
            self.pending.insert((moment, request.index), (request, is_handed_out));
        }
    }

    /// Notes a request that leaves.
    pub(super) fn left(&mut self, request: &PlannedRequest) {
        self.in_flight += 1;
        self.begun += u64::from(request.turn.is_some_and(|turn| turn.number == 0));
        self.pending.remove(&(request.scheduled, request.index));
    }

    /// Notes the end of a request.
    pub(super) fn ended(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
    }

    /// Jumps ahead if nothing is in flight from `now` on, for too long. It takes out all requests that have a moment,
    /// each with the one before, the one now, and whether it was handed out. `None` where the clock does not jump.
    pub(super) fn jump(
        &mut self,
        now: Timestamp,
        (start, end): (Timestamp, Timestamp),
    ) -> Option<Vec<(PlannedRequest, [Timestamp; 2], bool)>> {
        let (cap, agents) = self.cap?;
        let until = now.max(start).after(cap);
        let ((first, _), _) = self.pending.first_key_value()?;
        // Before all agents have begun, the plan has further moments.
        if self.in_flight > 0 || self.begun < agents || *first <= until || until >= end {
            return None;
        }
        let by = first.since(until);
        self.ahead += by;
        let sooner = |moment: Timestamp| until.after(moment.since(until).saturating_sub(by));
        let pending = std::mem::take(&mut self.pending).into_iter();
        Some(pending.map(|((moment, _), (request, out))| (request, [moment, sooner(moment)], out)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{ArrivalPattern, ThinkTime};

    /// Request `number` of an agent, due after so many seconds.
    fn request(agent: u64, number: u32, due: u64) -> PlannedRequest {
        let turn = Turn { session: agent, number, graph: Some(GraphPlace::default()), ..Turn::default() };
        let (index, scheduled) = (Turn::index_of(agent, number), Timestamp::from_secs_f64(due as f64));
        PlannedRequest { index, scheduled, turn: Some(turn), ..PlannedRequest::default() }
    }

    fn seconds(moments: &[(PlannedRequest, [Timestamp; 2], bool)]) -> Vec<(f64, f64)> {
        moments.iter().map(|(_, [before, now], _)| (before.as_secs_f64(), now.as_secs_f64())).collect()
    }

    #[test]
    fn all_that_waits_comes_sooner_by_the_same_time_once_nothing_is_in_flight() {
        let arrival = ArrivalPattern::of_users(2, ThinkTime::default());
        let spec = WorkloadSpec::synthetic().unwrap();
        let mut clock = LaneClock::new(&WorkloadSpec { arrival, system_idle_cap_s: Some(10.0), ..spec.clone() });
        let (at, window) = (|s: u64| Timestamp::from_secs_f64(s as f64), |end| (Timestamp::ZERO, end));
        clock.left(&request(0, 0, 0));
        clock.ended();
        let later = [request(0, 1, 60), request(0, 2, 75)];
        clock.plan(later[0], at(60), true);
        clock.plan(later[1], at(75), false);
        assert!(clock.jump(at(1), window(at(900))).is_none(), "the second agent has not begun");
        clock.left(&request(1, 0, 2));
        assert!(clock.jump(at(3), window(at(900))).is_none(), "it is in flight");
        clock.ended();
        assert!(clock.jump(at(4), window(at(14))).is_none(), "the window is over by then");
        assert!(clock.jump(at(50), window(at(900))).is_none(), "the next one is due in time");
        let moved = clock.jump(at(4), window(at(900))).unwrap();
        assert_eq!(seconds(&moved), [(60.0, 14.0), (75.0, 29.0)]);
        assert_eq!(moved.iter().map(|(.., out)| *out).collect::<Vec<_>>(), [true, false]);
        // What ends now is 46 s later on the clock of the agents.
        assert_eq!((clock.of_run(at(20)), clock.in_run(at(66))), (at(66), at(20)));
        let stamped = clock.stamped(later[0]).turn.unwrap();
        assert_eq!((stamped.on_agents_clock(at(14)), stamped.in_run(at(60))), (at(60), at(14)));
        // The time before the window does not count.
        clock.plan(later[0], at(300), true);
        assert_eq!(seconds(&clock.jump(at(20), (at(100), at(900))).unwrap()), [(300.0, 110.0)]);
        let mut without = LaneClock::new(&spec);
        without.plan(later[0], at(60), true);
        assert!(without.jump(at(4), window(at(900))).is_none() && without.pending.is_empty());
    }
}
