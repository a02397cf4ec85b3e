//! Retries and hedges in exact time: what a request goes through, and what its record says of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::sleep_until;

use super::engines::{at, ms};
use super::{Executed, PATIENT, execute_schedule, order};
use crate::clock::{RunClock, Timestamp};
use crate::engine::{Answer, AnswerEnd, AnswerEvent, ChunkText, Engine, PreparedRequest};
use crate::generator::RequestSpec;
use crate::record::{Attempt, AttemptEnd, AttemptKind, Failure, FailureKind, Outcome, Phase, RequestRecord};
use crate::runner::options::{RunOptions, Timeouts};
use crate::workload::{ClientBehaviour, Jitter, Leaving, LeavingPolicy, RetryCause, RetryPolicy};

/// The treatment that one attempt meets, each time from its sending.
#[derive(Clone, Copy)]
enum Play {
    /// A status, after so many milliseconds, with this `Retry-After`.
    Refuses(u64, u16, Option<Duration>),
    /// Two tokens, the first after so many milliseconds, the second after so many.
    Answers(u64, u64),
    /// One token after so many milliseconds, and nothing more.
    Stops(u64),
}

/// Plays one after another, whichever request is sent; then the last again and again.
#[derive(Clone)]
struct Plays(Arc<Vec<Play>>, Arc<AtomicUsize>);

impl Plays {
    fn new(plays: &[Play]) -> Self {
        Self(Arc::new(plays.to_vec()), Arc::default())
    }
}

struct Played {
    play: Play,
    clock: RunClock,
    sent: Option<Timestamp>,
    chunks: u32,
}

impl Engine for Plays {
    type Answer = Played;

    fn prepare(&self, request: &RequestSpec) -> PreparedRequest {
        PreparedRequest::new(request.planned.index, Bytes::new())
    }

    fn generate(&self, _request: PreparedRequest, clock: RunClock) -> Played {
        let place = self.1.fetch_add(1, Relaxed).min(self.0.len() - 1);
        Played { play: self.0[place], clock, sent: None, chunks: 0 }
    }

    async fn warm_up(&self, _count: usize) {}
}

impl Answer for Played {
    async fn next(&mut self) -> AnswerEvent {
        let Some(sent) = self.sent else {
            let now = self.clock.now();
            self.sent = Some(now);
            return AnswerEvent::Sent { at: now, opened_connection: false };
        };
        let (after, result, retry_after) = match (self.play, self.chunks) {
            (Play::Refuses(after, status, wait), _) => {
                (after, Err(Failure::new(FailureKind::HttpStatus(status), "busy")), wait)
            }
            (Play::Answers(first, _) | Play::Stops(first), 0) => (first, Ok(()), None),
            (Play::Answers(_, second), _) => (second, Ok(()), None),
            (Play::Stops(_), _) => return std::future::pending().await,
        };
        let moment = sent.after(ms(after));
        sleep_until(self.clock.instant(moment)).await;
        if result.is_ok() && self.chunks < 2 {
            self.chunks += 1;
            return AnswerEvent::Chunk {
                at: moment,
                tokens: Some(1),
                text: ChunkText::Content,
                merged: false,
                choice: 0,
            };
        }
        let failed = AnswerEnd::failed(moment, Failure::new(FailureKind::Internal, ""));
        AnswerEvent::Ended(Box::new(AnswerEnd { result, retry_after, ..failed }))
    }
}

/// Clients without jitter: their waits are 500 ms, 1 s, 2 s, …
fn patient(retries: u32) -> ClientBehaviour {
    ClientBehaviour { retries, jitter: Jitter::None, ..ClientBehaviour::default() }
}

async fn run_of(plays: &[Play], clients: ClientBehaviour, options: RunOptions) -> Executed {
    let retries = Some(Arc::new(RetryPolicy::new(clients, 1)));
    let options = RunOptions { retries, ..options };
    let schedule = vec![order(0, at(100), Phase::Measured)];
    execute_schedule(Plays::new(plays), schedule, 200, options, &[]).await
}

async fn record_of(plays: &[Play], clients: ClientBehaviour) -> RequestRecord {
    run_of(plays, clients, PATIENT).await.records.remove(0)
}

fn ends(record: &RequestRecord) -> Vec<(AttemptKind, u64, u64, AttemptEnd)> {
    let millis = |at: Timestamp| at.as_nanos() / 1_000_000;
    let of = |attempt: &Attempt| {
        assert_eq!(attempt.sent, Some(attempt.begun));
        (attempt.kind, millis(attempt.begun), millis(attempt.ended), attempt.end)
    };
    record.attempts().iter().map(of).collect()
}

const BUSY: AttemptEnd = AttemptEnd::Failed(FailureKind::HttpStatus(429));

#[tokio::test(start_paused = true)]
async fn a_latency_includes_every_failed_attempt_and_every_wait() {
    let refused = Play::Refuses(7, 429, None);
    let record = record_of(&[refused, refused, Play::Answers(5, 9)], patient(3)).await;
    // 7 ms and 500 ms, 7 ms and 1 s, then the answer.
    let third = 100 + 507 + 1_007;
    assert_eq!(
        ends(&record),
        [
            (AttemptKind::First, 100, 107, BUSY),
            (AttemptKind::Retry, 607, 614, BUSY),
            (AttemptKind::Retry, third, third + 9, AttemptEnd::Answered),
        ]
    );
    assert_eq!((record.scheduled, record.sent), (at(100), Some(at(100))));
    let chunks: Vec<_> = record.chunks.iter().map(|chunk| chunk.at).collect();
    assert_eq!(chunks, [at(third + 5), at(third + 9)]);
    assert_eq!((record.ended, &record.outcome), (at(third + 9), &Outcome::Completed));
    assert_eq!((record.attempts_made(), record.handed_over_in()), (3, Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn the_server_may_ask_for_a_longer_wait() {
    let plays = [Play::Refuses(0, 503, Some(ms(2_000))), Play::Answers(1, 2)];
    let record = record_of(&plays, patient(1)).await;
    assert_eq!(record.attempts()[1].begun, at(2_100));
}

#[tokio::test(start_paused = true)]
async fn what_is_not_retried_fails_as_before() {
    for (plays, clients) in [
        (vec![Play::Refuses(7, 500, None)], patient(3)),
        (vec![Play::Refuses(7, 429, None)], ClientBehaviour { hedge_after_s: Some(1.0), ..patient(0) }),
    ] {
        let record = record_of(&plays, clients).await;
        assert!(matches!(record.outcome, Outcome::Failed(_)));
        assert_eq!((record.ended, record.attempts, record.sent), (at(107), None, Some(at(100))));
    }
}

#[tokio::test(start_paused = true)]
async fn the_last_failure_is_the_request_s_own() {
    let plays = [Play::Refuses(7, 429, None), Play::Refuses(3, 503, None)];
    let record = record_of(&plays, patient(1)).await;
    let Outcome::Failed(failure) = &record.outcome else { panic!("{record:?}") };
    assert_eq!(failure.reason, FailureKind::HttpStatus(503));
    assert_eq!((record.attempts().len(), record.ended), (2, at(610)));
}

#[tokio::test(start_paused = true)]
async fn time_limits_are_of_each_attempt() {
    let timeouts = Timeouts { total: Some(ms(50)), ..Timeouts::default() };
    let clients = ClientBehaviour { retry_on: vec![RetryCause::Timeout], ..patient(2) };
    let plays = [Play::Stops(10), Play::Answers(20, 40)];
    let executed = run_of(&plays, clients, RunOptions { timeouts, ..PATIENT }).await;
    let record = &executed.records[0];
    let late = AttemptEnd::Failed(FailureKind::TimeoutTotal);
    let expected = [(AttemptKind::First, 100, 150, late), (AttemptKind::Retry, 650, 690, AttemptEnd::Answered)];
    assert_eq!(ends(record), expected);
    assert_eq!(record.attempts()[0].discarded_tokens, 1, "its token was thrown away");
    assert_eq!((record.chunks.len(), record.chunks.first_at()), (2, Some(at(670))));
}

#[tokio::test(start_paused = true)]
async fn the_first_token_decides_between_a_request_and_its_hedge() {
    let hedged = || ClientBehaviour { hedge_after_s: Some(0.05), ..patient(0) };
    let wins = record_of(&[Play::Answers(500, 600), Play::Answers(20, 30)], hedged()).await;
    let first = (AttemptKind::First, 100, 170, AttemptEnd::Cancelled);
    assert_eq!(ends(&wins), [first, (AttemptKind::Hedge, 150, 180, AttemptEnd::Answered)]);
    assert_eq!((wins.sent, wins.ended, wins.chunks.first_at()), (Some(at(100)), at(180), Some(at(170))));

    let loses = record_of(&[Play::Answers(60, 200), Play::Answers(20, 30)], hedged()).await;
    let hedge = (AttemptKind::Hedge, 150, 160, AttemptEnd::Cancelled);
    assert_eq!(ends(&loses), [(AttemptKind::First, 100, 300, AttemptEnd::Answered), hedge]);

    let alone = record_of(&[Play::Answers(49, 200)], hedged()).await;
    assert_eq!((alone.attempts_made(), alone.attempts), (1, None));
}

#[tokio::test(start_paused = true)]
async fn a_hedge_goes_on_where_the_other_attempt_fails() {
    let hedged = ClientBehaviour { hedge_after_s: Some(0.05), ..patient(1) };
    let plays = [Play::Refuses(60, 429, None), Play::Answers(20, 30)];
    let record = record_of(&plays, hedged.clone()).await;
    assert_eq!(
        ends(&record),
        [(AttemptKind::First, 100, 160, BUSY), (AttemptKind::Hedge, 150, 180, AttemptEnd::Answered)]
    );
    // Both fail: the wait counts from the later.
    let plays = [Play::Refuses(80, 429, None), Play::Refuses(10, 429, None), Play::Answers(1, 2)];
    let record = record_of(&plays, hedged).await;
    assert_eq!(record.outcome, Outcome::Completed);
    assert_eq!(
        ends(&record),
        [
            (AttemptKind::First, 100, 180, BUSY),
            (AttemptKind::Hedge, 150, 160, BUSY),
            (AttemptKind::Retry, 680, 682, AttemptEnd::Answered),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_run_censors_a_request_that_waits_for_its_retry() {
    let options = RunOptions { drain: ms(100), ..PATIENT };
    let executed = run_of(&[Play::Refuses(7, 429, None)], patient(3), options).await;
    let record = &executed.records[0];
    assert_eq!((&record.outcome, record.ended), (&Outcome::Censored, at(300)));
    assert_eq!(ends(record), [(AttemptKind::First, 100, 107, BUSY)]);
    // In flight from its dispatch to the end of the window.
    assert_eq!(executed.footer.present_ns, Some(100_000_000));
}

/// Every client leaves so, and tries twice again before.
async fn left(plays: &[Play], leaving: Leaving) -> RequestRecord {
    let policy = LeavingPolicy::new(std::iter::once(Some(leaving)), 1);
    let options = RunOptions { leaving: policy.map(Arc::new), ..PATIENT };
    run_of(plays, patient(2), options).await.records.remove(0)
}

#[tokio::test(start_paused = true)]
async fn clients_leave_at_their_moment_and_what_is_over_before_it_is_complete() {
    let after = |after_s| Leaving { share: 1.0, after_s: Some(after_s), after_tokens: None };
    // Before the first token, between two, after the last, and while it waits to be sent again.
    for (plays, seconds, ended, tokens, outcome) in [
        (vec![Play::Answers(50, 90)], 0.02, 120, 0, Outcome::Cancelled),
        (vec![Play::Answers(50, 90)], 0.07, 170, 1, Outcome::Cancelled),
        (vec![Play::Answers(50, 90)], 0.2, 190, 2, Outcome::Completed),
        (vec![Play::Refuses(7, 429, None), Play::Answers(5, 9)], 0.3, 400, 0, Outcome::Cancelled),
        (vec![Play::Refuses(7, 429, None), Play::Answers(5, 90)], 0.55, 650, 1, Outcome::Cancelled),
    ] {
        let record = left(&plays, after(seconds)).await;
        assert_eq!((record.ended, record.output_tokens, &record.outcome), (at(ended), tokens, &outcome), "{seconds}");
        assert!(record.leaves && record.attempts().iter().all(|attempt| attempt.ended <= at(ended)), "{record:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn clients_leave_after_their_tokens_unless_the_answer_has_no_more() {
    let after = |tokens| Leaving { share: 1.0, after_s: None, after_tokens: Some(tokens) };
    let record = left(&[Play::Answers(50, 90)], after(1)).await;
    assert_eq!((record.ended, record.output_tokens, &record.outcome), (at(150), 1, &Outcome::Cancelled));
    let record = left(&[Play::Answers(50, 90)], after(3)).await;
    assert_eq!((record.output_tokens, &record.outcome, record.leaves), (2, &Outcome::Completed, true));
}
