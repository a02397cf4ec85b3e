//! Admission control: a server that refuses what exceeds its limits, and what it does with abandoned work.

use std::collections::HashMap;
use std::time::Duration;

use crate::clock::Timestamp;
use crate::simulator::job::{Job, JobId, urgency};
use crate::simulator::server::{Reject, ServerGauges, SimulatedServer, TokenEvent, as_inner};
use crate::simulator::work_totals::WorkTotals;
use crate::workload::Priority;

/// Admission of a deployment, all its servers together, and of abandoned work. By default it admits
/// everything, and an abandoned job frees its resources at once.
///
/// With one limit of K for all requests and one slot a plain server is M/M/1/K: K requests in service and waiting.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Admission {
    /// Groups, each with the most requests of it in the server, in service and waiting. A request must be within all
    /// limits of the groups that it belongs to.
    pub limits: Vec<(AdmissionGroup, u32)>,
    /// Most requests that wait for their first step (SGLang's `--max-queued-requests`); absent: no limit. One that
    /// arrives waits, if only for the next step.
    pub max_queued: Option<u32>,
    /// Time after which a refused client may come again, as the refusal says. The refusal says it in `Retry-After`;
    /// absent: it says nothing.
    pub retry_after: Option<Duration>,
    /// Work of a client that has gone.
    pub abandoned: AbandonedWork,
}

/// Requests that share a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdmissionGroup {
    /// All requests.
    All,
    /// The requests of one class, by its index in the workload's list.
    Class(u16),
    /// The requests of one priority.
    Priority(Priority),
}

/// Treatment of the work of a client that has gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AbandonedWork {
    /// Noticed, and its resources freed at once.
    #[default]
    Cancelled,
    /// Not noticed: an answer is computed that nobody reads.
    Completed,
}

impl AdmissionGroup {
    fn has(self, job: &Job) -> bool {
        match self {
            Self::All => true,
            Self::Class(class) => job.class == Some(class),
            Self::Priority(priority) => job.priority.signum() == urgency(priority),
        }
    }
}

/// A server behind admission control.
pub(crate) struct AdmissionControl {
    inner: Box<dyn SimulatedServer + Send>,
    admission: Admission,
    /// Limits that each job in the server counts under.
    inside: HashMap<JobId, Vec<usize>>,
    /// Jobs in the server that count under each limit.
    held: Vec<u32>,
}

impl AdmissionControl {
    /// `inner`, which must be empty, behind these limits.
    pub(crate) fn new(inner: Box<dyn SimulatedServer + Send>, admission: Admission) -> Self {
        let held = vec![0; admission.limits.len()];
        Self { inner, admission, inside: HashMap::new(), held }
    }

    /// The limit that refuses a job under these limits, if one does.
    fn full(&self, under: &[usize]) -> Option<u32> {
        let limits = under.iter().map(|&place| (self.held[place], self.admission.limits[place].1));
        let waiting = self.admission.max_queued.map(|most| (self.inner.gauges().num_requests_waiting, most));
        limits
            .map(|(held, most)| (u64::from(held), most))
            .chain(waiting)
            .find(|(held, most)| *held >= u64::from(*most))
            .map(|(_, most)| most)
    }

    fn left(&mut self, id: JobId) {
        for place in self.inside.remove(&id).unwrap_or_default() {
            self.held[place] -= 1;
        }
    }
}

impl SimulatedServer for AdmissionControl {
    fn submit(&mut self, now: Timestamp, job: Job) -> Result<(), Reject> {
        let limits = self.admission.limits.iter().enumerate();
        let under: Vec<usize> = limits.filter(|(_, (group, _))| group.has(&job)).map(|(place, _)| place).collect();
        if let Some(limit) = self.full(&under) {
            return Err(Reject::Full { limit, retry_after: self.admission.retry_after });
        }
        let id = job.id;
        self.inner.submit(now, job)?;
        for &place in &under {
            self.held[place] += 1;
        }
        self.inside.insert(id, under);
        Ok(())
    }

    fn cancel(&mut self, now: Timestamp, id: JobId) -> bool {
        match self.admission.abandoned {
            AbandonedWork::Cancelled => {
                self.left(id);
                self.inner.cancel(now, id)
            }
            AbandonedWork::Completed => self.inside.contains_key(&id),
        }
    }

    fn withdraw(&mut self, now: Timestamp, id: JobId) -> bool {
        self.left(id);
        self.inner.withdraw(now, id)
    }

    fn next_event(&self) -> Option<Timestamp> {
        self.inner.next_event()
    }

    fn advance(&mut self, now: Timestamp, events: &mut Vec<TokenEvent>) {
        let known = events.len();
        self.inner.advance(now, events);
        for event in events[known..].iter().filter(|event| event.finished) {
            self.left(event.job);
        }
    }

    as_inner!();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulator::engine::fixed_queue::{Delay, FixedQueue};

    const AT: fn(u64) -> Timestamp = |ms| Timestamp::from_nanos(ms * 1_000_000);

    /// One slot, 100 ms each.
    fn server(admission: Admission) -> AdmissionControl {
        let plain = FixedQueue::new(1, Delay::Constant(0.1), Delay::Constant(0.01), 0);
        AdmissionControl::new(Box::new(plain), admission)
    }

    fn limit(group: AdmissionGroup, most: u32) -> (AdmissionGroup, u32) {
        (group, most)
    }

    fn submit(server: &mut AdmissionControl, at: u64, job: Job) -> Result<(), Reject> {
        server.advance(AT(at), &mut Vec::new());
        let taken = server.submit(AT(at), job);
        server.advance(AT(at), &mut Vec::new());
        taken
    }

    fn plain(id: u64) -> Job {
        Job::new(JobId(id), 5, 1)
    }

    #[test]
    fn a_full_server_refuses_and_says_when_to_come_again() {
        let retry_after = Some(Duration::from_secs(2));
        let limits = vec![limit(AdmissionGroup::All, 2)];
        let mut server = server(Admission { limits, retry_after, ..Admission::default() });
        assert_eq!(submit(&mut server, 0, plain(0)), Ok(()));
        assert_eq!(submit(&mut server, 1, plain(1)), Ok(()));
        let full = Reject::Full { limit: 2, retry_after };
        assert_eq!(submit(&mut server, 2, plain(2)), Err(full));
        assert_eq!(full.http_status(), 429);
        // The first has left at 100 ms, and a client that has gone frees its place.
        assert_eq!(submit(&mut server, 101, plain(3)), Ok(()));
        assert_eq!(submit(&mut server, 102, plain(4)), Err(full));
        assert!(server.cancel(AT(103), JobId(3)));
        assert_eq!(submit(&mut server, 104, plain(5)), Ok(()));
    }

    #[test]
    fn classes_and_priorities_have_limits_of_their_own() {
        let limits = vec![
            limit(AdmissionGroup::Class(0), 1),
            limit(AdmissionGroup::Priority(Priority::Low), 1),
            limit(AdmissionGroup::All, 3),
        ];
        let mut server = server(Admission { limits, ..Admission::default() });
        let of = |id, class, priority| Job { class: Some(class), priority, ..plain(id) };
        assert!(submit(&mut server, 0, of(0, 0, 0)).is_ok());
        assert!(submit(&mut server, 1, of(1, 0, 0)).is_err(), "one of the first class");
        assert!(submit(&mut server, 2, of(2, 1, 7)).is_ok());
        assert!(submit(&mut server, 3, of(3, 1, 1)).is_err(), "one of low priority");
        assert!(submit(&mut server, 4, of(4, 1, -1)).is_ok());
        assert!(submit(&mut server, 5, of(5, 1, -1)).is_err(), "three in all");
    }

    #[test]
    fn a_queue_has_a_limit_beside_what_is_served() {
        let mut server = server(Admission { max_queued: Some(1), ..Admission::default() });
        assert!(submit(&mut server, 0, plain(0)).is_ok());
        assert!(submit(&mut server, 1, plain(1)).is_ok());
        assert!(submit(&mut server, 2, plain(2)).is_err());
    }

    #[test]
    fn abandoned_work_goes_on_where_nobody_notices() {
        let ends = |abandoned| {
            let mut server = server(Admission { abandoned, ..Admission::default() });
            submit(&mut server, 0, plain(0)).unwrap();
            submit(&mut server, 1, plain(1)).unwrap();
            assert!(server.cancel(AT(10), JobId(0)));
            let mut events = Vec::new();
            server.advance(AT(500), &mut events);
            events.iter().map(|event| (event.job.0, event.at.as_nanos() / 1_000_000)).collect::<Vec<_>>()
        };
        assert_eq!(ends(AbandonedWork::Cancelled), [(1, 110)]);
        assert_eq!(ends(AbandonedWork::Completed), [(0, 100), (1, 200)]);
    }

    #[test]
    fn what_is_taken_back_is_free_even_where_nobody_notices_who_has_gone() {
        let limits = vec![limit(AdmissionGroup::All, 1)];
        let mut server = server(Admission { limits, abandoned: AbandonedWork::Completed, ..Admission::default() });
        assert!(server.submit(AT(0), plain(0)).is_ok());
        assert!(server.submit(AT(0), plain(1)).is_err());
        assert!(server.withdraw(AT(0), JobId(0)));
        assert!(submit(&mut server, 0, plain(2)).is_ok());
        let mut events = Vec::new();
        server.advance(AT(500), &mut events);
        assert_eq!(events.iter().map(|event| event.job.0).collect::<Vec<_>>(), [2]);
    }
}
