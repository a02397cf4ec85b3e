//! A front end that delays every token by a fixed time.
use std::collections::VecDeque;
use std::time::Duration;

use crate::clock::Timestamp;
use crate::simulator::job::{Job, JobId};
use crate::simulator::server::{Reject, ServerGauges, SimulatedServer, TokenEvent, as_inner};
use crate::simulator::work_totals::WorkTotals;

/// A server behind a front end that adds a fixed time on the way out. The front end is HTTP, tokenising, the network.
///
/// If the time is spent on the way in instead, a client of a server that is not full sees the same: answers begin
/// that much later. The work itself is not delayed.
pub(crate) struct FrontEnd {
    inner: Box<dyn SimulatedServer + Send>,
    delay: Duration,
    /// Tokens in transit, in order.
    under_way: VecDeque<TokenEvent>,
    made: Vec<TokenEvent>,
}

impl FrontEnd {
    /// `inner`, whose tokens arrive after `delay`.
    pub(crate) fn new(inner: Box<dyn SimulatedServer + Send>, delay: Duration) -> Self {
        Self { inner, delay, under_way: VecDeque::new(), made: Vec::new() }
    }
}

impl SimulatedServer for FrontEnd {
    fn submit(&mut self, now: Timestamp, job: Job) -> Result<(), Reject> {
        self.inner.submit(now, job)
    }

    fn cancel(&mut self, now: Timestamp, id: JobId) -> bool {
        let before = self.under_way.len();
        self.under_way.retain(|event| event.job != id);
        self.inner.cancel(now, id) || before > self.under_way.len()
    }

    fn withdraw(&mut self, now: Timestamp, id: JobId) -> bool {
        self.inner.withdraw(now, id)
    }

    fn next_event(&self) -> Option<Timestamp> {
        let seen = self.under_way.front().map(|event| event.at);
        [seen, self.inner.next_event()].into_iter().flatten().min()
    }

    fn advance(&mut self, now: Timestamp, events: &mut Vec<TokenEvent>) {
        self.inner.advance(now, &mut self.made);
        let delay = self.delay;
        self.under_way.extend(self.made.drain(..).map(|event| TokenEvent { at: event.at.after(delay), ..event }));
        let due = self.under_way.iter().take_while(|event| event.at <= now).count();
        events.extend(self.under_way.drain(..due));
    }

    as_inner!();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulator::engine::fixed_queue::{Delay, FixedQueue};
    use crate::simulator::simulate::Driver;

    #[test]
    fn every_token_comes_later_and_gaps_stay() {
        let arrivals = || (0..3).map(|id| (Timestamp::from_nanos(id * 40_000_000), Job::new(JobId(id), 5, 3)));
        let plain = || FixedQueue::new(2, Delay::Constant(0.1), Delay::Constant(0.01), 0);
        let seen = |server: &mut dyn SimulatedServer| {
            let mut seen = Vec::new();
            let mut driver = Driver::new(server);
            let mut arrivals = arrivals().peekable();
            while let Some(now) = [arrivals.peek().map(|next| next.0), driver.next_event()].into_iter().flatten().min()
            {
                while let Some((_, job)) = arrivals.next_if(|next| next.0 <= now) {
                    assert!(driver.submit(now, job).is_none());
                }
                driver.advance(now, |history| {
                    seen.push((history.job, history.chunks.iter().map(|chunk| chunk.at).collect::<Vec<_>>()));
                });
            }
            seen
        };
        let delay = Duration::from_millis(7);
        let behind = seen(&mut FrontEnd::new(Box::new(plain()), delay));
        let mut expected = seen(&mut plain());
        for at in expected.iter_mut().flat_map(|(_, moments)| moments) {
            *at = at.after(delay);
        }
        assert_eq!(behind, expected);
    }
}
