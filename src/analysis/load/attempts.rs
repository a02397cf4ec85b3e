//! What clients that retry or hedge did: attempts, amplification, and how they ended.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use crate::analysis::requests::{Measured, Observed};
use crate::analysis::slo::attainment::Attainment;
use crate::clock::Timestamp;
use crate::record::{Attempt, AttemptEnd, AttemptKind, FailureKind, Outcome, RequestRecord};
use crate::workload::{RetryPolicy, WorkloadSpec};

/// Attempts of the requests of the window. An attempt is one sending of a request: the first, a retry after a
/// failure, or a hedge beside one that is slow. Latencies count from the scheduled moment, so they include
/// all of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AttemptFigures {
    /// Requests that a client set about sending.
    pub requests: u64,
    /// Attempts of these requests.
    pub attempts: u64,
    /// Attempts ÷ requests: what retries and hedges make of the load. Absent where there was no request.
    pub amplification: Option<f64>,
    /// Requests that the first attempt answered ÷ requests.
    pub first_attempt_success: Option<f64>,
    /// Attempts after a failure.
    pub retries: u64,
    /// The failures that they followed, most frequent first.
    pub retried_failures: Vec<RetriedFailure>,
    /// Requests that were retried.
    pub retried_requests: u64,
    /// Retried requests that were answered in the end.
    pub recovered_requests: u64,
    /// Attempts beside one that had given no token.
    pub hedges: u64,
    /// Hedges that answered.
    pub hedges_won: u64,
    /// Waits before a retry that the server (`Retry-After`) made longer than the client's own. Those that the end of
    /// the run cut off are included. Left out where there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked_waits: Option<AskedWaits>,
    /// Answer tokens that came and were thrown away.
    pub discarded_output_tokens: u64,
    /// Requests scheduled per second of the window; absent in a closed loop.
    pub offered_requests_per_s: Option<f64>,
    /// Attempts begun per second of the window. The request may belong to any part of the run.
    pub attempts_per_s: Option<f64>,
    /// Requests per second that completed and met their SLO. Where none has an SLO, all that completed count.
    pub goodput_per_s: Option<f64>,
}

/// Waits that a server asked for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AskedWaits {
    /// How many.
    pub waits: u64,
    /// The longest, as far as it was waited, seconds.
    pub longest_s: f64,
}

/// A failure that was retried.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RetriedFailure {
    /// Kind of the failure in words: `http 429`.
    pub kind: String,
    /// Retries that followed it.
    pub retries: u64,
}

impl AttemptFigures {
    /// `None` where every client sent each request once, as clients do by default.
    pub(crate) fn new(observed: &Observed<'_>, offered_requests_per_s: Option<f64>, slo: &Attainment) -> Option<Self> {
        let WorkloadSpec { clients, seed, .. } = &observed.log.header.workload;
        let (clients, seed) = (clients.as_ref()?, *seed);
        if !clients.sends_again() {
            return None;
        }
        let mut found = Self {
            asked_waits: asked_waits(observed, &RetryPolicy::new(clients.clone(), seed)),
            offered_requests_per_s,
            attempts_per_s: observed.per_second(begun_in_window(observed) as f64),
            goodput_per_s: slo.goodput_per_s,
            ..Self::default()
        };
        let (mut at_once, mut kinds) = (0, BTreeMap::new());
        for record in observed.requests.iter().map(Measured::record) {
            found.add(&record, &mut kinds);
            at_once += u64::from(record.first_end() == Some(AttemptEnd::Answered));
        }
        let per_request = |count: u64| (found.requests > 0).then(|| count as f64 / found.requests as f64);
        (found.amplification, found.first_attempt_success) = (per_request(found.attempts), per_request(at_once));
        let mut kinds: Vec<(FailureKind, u64)> = kinds.into_iter().collect();
        kinds.sort_by_key(|(_, retries)| std::cmp::Reverse(*retries));
        let retried = |(kind, retries): (FailureKind, u64)| RetriedFailure { kind: kind.to_string(), retries };
        found.retried_failures = kinds.into_iter().map(retried).collect();
        Some(found)
    }

    fn add(&mut self, record: &RequestRecord, kinds: &mut BTreeMap<FailureKind, u64>) {
        let (made, attempts) = (record.attempts_made(), record.attempts());
        self.requests += u64::from(made > 0);
        self.attempts += made;
        for (place, attempt) in attempts.iter().enumerate() {
            self.discarded_output_tokens += u64::from(attempt.discarded_tokens);
            match attempt.kind {
                AttemptKind::First => {}
                AttemptKind::Retry => {
                    self.retries += 1;
                    if let Some(kind) = failure_before(&attempts[..place]) {
                        *kinds.entry(kind).or_default() += 1;
                    }
                }
                AttemptKind::Hedge => {
                    self.hedges += 1;
                    self.hedges_won += u64::from(attempt.end == AttemptEnd::Answered);
                }
            }
        }
        let retried = attempts.iter().any(|attempt| attempt.kind == AttemptKind::Retry);
        self.retried_requests += u64::from(retried);
        self.recovered_requests += u64::from(retried && record.outcome == Outcome::Completed);
    }
}

/// The failure of the last of these attempts to fail.
fn failure_before(attempts: &[Attempt]) -> Option<FailureKind> {
    let failed = attempts.iter().filter_map(|attempt| match attempt.end {
        AttemptEnd::Failed(kind) => Some((attempt.ended, kind)),
        _ => None,
    });
    failed.max_by_key(|(ended, _)| *ended).map(|(_, kind)| kind)
}

/// The longest delay of a retry beyond its due moment, even from a busy client.
const LATE: Duration = Duration::from_millis(100);

/// Waits of the window's requests that were longer than `policy` has them.
fn asked_waits(observed: &Observed<'_>, policy: &RetryPolicy) -> Option<AskedWaits> {
    let mut longest = Vec::new();
    for record in observed.requests.iter().map(Measured::record) {
        let attempts = record.attempts();
        let next = |place: usize| attempts[place..].iter().find(|attempt| attempt.kind == AttemptKind::Retry);
        let sent_again = attempts.iter().enumerate().filter(|(_, attempt)| attempt.kind != AttemptKind::Hedge);
        for ((place, failed), number) in sent_again.zip(1..) {
            let over = next(place + 1).map(|retry| retry.begun);
            let cut_off = || matches!(record.outcome, Outcome::Cancelled | Outcome::Censored).then_some(record.ended);
            let Some(over) = over.or_else(cut_off).filter(|_| matches!(failed.end, AttemptEnd::Failed(_))) else {
                continue;
            };
            let wait = over.since(failed.ended);
            if wait > policy.backoff(record.index, number) + LATE {
                longest.push(wait.as_secs_f64());
            }
        }
    }
    let longest_s = longest.iter().copied().max_by(f64::total_cmp)?;
    Some(AskedWaits { waits: longest.len() as u64, longest_s })
}

fn begun_in_window(observed: &Observed<'_>) -> u64 {
    let inside = |at: Timestamp| observed.start <= at && at < observed.end;
    let of = |record: &RequestRecord| match record.attempts() {
        [] => u64::from(record.attempts_made() > 0 && inside(record.admitted.unwrap_or(record.dispatched))),
        attempts => attempts.iter().filter(|attempt| inside(attempt.begun)).count() as u64,
    };
    observed.log.records.iter().map(|record| of(&record)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::summarise;
    use crate::analysis::test_runs::{ms, record, run};
    use crate::record::Failure;
    use crate::workload::ClientBehaviour;

    const BUSY: AttemptEnd = AttemptEnd::Failed(FailureKind::HttpStatus(429));

    fn attempt(kind: AttemptKind, begun: u64, ended: u64, end: AttemptEnd) -> Attempt {
        Attempt { kind, begun: ms(begun), sent: Some(ms(begun)), ended: ms(ended), end, discarded_tokens: 0 }
    }

    /// Four requests in a second. One is answered at once, one at its third attempt, one by its hedge, one not at all.
    #[test]
    fn attempts_are_counted_by_kind_and_outcome() {
        use AttemptEnd::{Answered, Cancelled};
        use AttemptKind::{First, Hedge, Retry};
        let answered = |index: u64| record(index).sent_at(index, index, index).paced(900, 10, 3).build();
        let with = |mut record: RequestRecord, attempts: &[Attempt]| {
            record.set_attempts(attempts.to_vec());
            record
        };
        let timed_out = AttemptEnd::Failed(FailureKind::TimeoutTotal);
        let late = Attempt { discarded_tokens: 5, ..attempt(First, 1, 100, timed_out) };
        let third = [late, attempt(Retry, 200, 300, BUSY), attempt(Retry, 800, 920, Answered)];
        let hedged = [attempt(First, 2, 900, Cancelled), attempt(Hedge, 500, 920, Answered)];
        let refused =
            record(3).sent_at(3, 3, 3).failed(1_500, Failure::new(FailureKind::HttpStatus(429), "busy")).build();
        let failed = [attempt(First, 3, 4, BUSY), attempt(Retry, 1_400, 1_500, BUSY)];
        let mut log = run(
            1_000,
            vec![answered(0), with(answered(1), &third), with(answered(2), &hedged), with(refused, &failed)],
        );
        assert_eq!(summarise(&log, &[]).attempts, None, "clients that send once have no such figures");
        log.header.workload.clients =
            Some(ClientBehaviour { retries: 2, hedge_after_s: Some(0.5), ..ClientBehaviour::default() });
        let found = summarise(&log, &[]).attempts.unwrap();
        assert_eq!((found.requests, found.attempts, found.amplification), (4, 8, Some(2.0)));
        assert_eq!((found.first_attempt_success, found.retries), (Some(0.25), 3));
        assert_eq!((found.retried_requests, found.recovered_requests), (2, 1));
        assert_eq!((found.hedges, found.hedges_won, found.discarded_output_tokens), (1, 1, 5));
        let retried: Vec<_> = found.retried_failures.iter().map(|kind| (kind.kind.as_str(), kind.retries)).collect();
        assert_eq!(retried, [("http 429", 2), ("timeout in total", 1)]);
        // The last retry began after the window.
        assert_eq!((found.offered_requests_per_s, found.attempts_per_s), (Some(4.0), Some(7.0)));
        assert_eq!(found.goodput_per_s, Some(3.0));
        assert_eq!(found.asked_waits, Some(AskedWaits { waits: 1, longest_s: 1.396 }), "the client's own is under 1 s");
    }
}
