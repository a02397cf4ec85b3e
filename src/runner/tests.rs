//! Whole runs in exact, paused time, against an engine that follows a script.

mod attempts;
mod checks;
pub(super) mod engines;
mod faults;
mod feed;
mod graphs;
mod protocols;
mod sessions;
mod tail;
mod targets;

use std::convert::identity;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep_until;

use engines::{Endless, Script, SeenLate, at, ms};

use super::feed::RequestFeed;
use super::options::{Interrupt, RunOptions, Timeouts};
use super::progress::Progress;
use super::reader::Readers;
use super::run::Run;
use super::tail::Tail;
use crate::clock::{Pacing, RunClock, Timestamp};
use crate::engine::Engine;
use crate::generator::{ConcurrencyCaps, PlannedRequest, Prompt, RequestSpec};
use crate::record::{
    FailureKind, FinishReason, Outcome, Phase, PlanFacts, RequestRecord, RunEnding, RunFooter, TokenSource,
};

fn order(index: u64, scheduled: Timestamp, phase: Phase) -> RequestSpec {
    let planned =
        PlannedRequest { index, phase, scheduled, input_tokens: 4, output_tokens: 4, ..PlannedRequest::default() };
    planned.into_spec(Prompt::Text("hello".to_owned()))
}

struct Executed {
    records: Vec<RequestRecord>,
    footer: RunFooter,
}

/// Sends one request each `every` ms from 0 on. The window ends at `window_end`; the same follows as cool-down for ten
/// times as long.
async fn execute<E: Engine>(
    engine: E,
    every: u64,
    window_end: u64,
    options: RunOptions,
    wishes: &[(u64, Interrupt)],
) -> Executed {
    let measured = window_end.div_ceil(every);
    let schedule = (0..measured * 10).map(|index| {
        let phase = if index < measured { Phase::Measured } else { Phase::Cooldown };
        order(index, at(index * every), phase)
    });
    execute_schedule(engine, schedule.collect(), window_end, options, wishes).await
}

async fn execute_schedule<E: Engine>(
    engine: E,
    schedule: Vec<RequestSpec>,
    window_end: u64,
    options: RunOptions,
    wishes: &[(u64, Interrupt)],
) -> Executed {
    let measured = schedule.iter().filter(|one| one.planned.phase == Phase::Measured).count() as u64;
    let trial = Trial { schedule: schedule.into_iter(), measured, window_end, options, wishes, tail: None };
    let (records, footer) = Box::pin(trial.execute(Readers::in_loop(Arc::new(engine)))).await;
    Executed { records, footer: footer.unwrap() }
}

/// A run of some requests. So many are measured, until the end of its window; the user has wishes. Moments are in ms.
struct Trial<'a, S> {
    schedule: S,
    measured: u64,
    window_end: u64,
    options: RunOptions,
    wishes: &'a [(u64, Interrupt)],
    tail: Option<Tail>,
}

impl<S: Iterator<Item = RequestSpec> + Send + 'static> Trial<'_, S> {
    /// The records of what ended, and the end of the run.
    async fn execute<E: Engine>(self, readers: Readers<E>) -> (Vec<RequestRecord>, std::io::Result<RunFooter>) {
        let feed = RequestFeed::start(Arc::clone(&readers.engine), self.schedule, identity, None).unwrap();
        let clock = RunClock::starting_in(Duration::ZERO);
        let (wish, interrupt) = watch::channel(Interrupt::None);
        for &(moment, wanted) in self.wishes {
            let wish = wish.clone();
            tokio::spawn(async move {
                sleep_until(clock.instant(at(moment))).await;
                wish.send_replace(wanted);
            });
        }
        let plan = PlanFacts {
            hash: String::new(),
            warmup_requests: 0,
            measured_requests: self.measured,
            window_start: Timestamp::ZERO,
            window_end: at(self.window_end),
        };
        let progress = Arc::new(Progress::default());
        let run = Run {
            readers: Arc::new(readers),
            clock,
            plan,
            options: RunOptions { pacing: Pacing::Timer, ..self.options },
            samples: None,
            dispatches: None,
            progress: Arc::clone(&progress),
            interrupt,
            tail: self.tail,
        };
        let mut records = Vec::new();
        let footer = run.execute(feed, |finished| records.push(finished.record)).await;
        drop(wish);
        let snapshot = progress.snapshot(clock.now());
        assert_eq!((snapshot.in_flight, snapshot.queued), (0, 0), "nothing is left in flight");
        records.sort_by_key(|record| record.index);
        (records, footer)
    }
}

fn window(executed: &Executed) -> Vec<&RequestRecord> {
    executed.records.iter().filter(|record| record.phase == Phase::Measured).collect()
}

fn failure(record: &RequestRecord) -> Option<FailureKind> {
    match &record.outcome {
        Outcome::Failed(failure) => Some(failure.reason),
        _ => None,
    }
}

const PATIENT: RunOptions = RunOptions {
    caps: ConcurrencyCaps { total: None, classes: Vec::new() },
    timeouts: Timeouts { first_token: None, between_tokens: None, total: None },
    drain: Duration::from_mins(1),
    pacing: Pacing::Timer,
    breakers: Vec::new(),
    retries: None,
    leaving: None,
};

#[tokio::test(start_paused = true)]
async fn every_moment_of_a_plain_run_is_exact() {
    let script = Script { ttft: ms(5), gap: ms(2), tokens: 3 };
    let executed = execute(script, 10, 30, PATIENT, &[]).await;
    let records = window(&executed);
    assert_eq!(records.len(), 3);
    for (record, begin) in records.iter().zip([0, 10, 20]) {
        assert_eq!(record.scheduled, at(begin));
        assert_eq!((record.dispatched, record.sent), (at(begin), Some(at(begin))));
        assert_eq!(record.admitted, None);
        let arrivals: Vec<_> = record.chunks.iter().map(|chunk| chunk.at).collect();
        assert_eq!(arrivals, [at(begin + 5), at(begin + 7), at(begin + 9)]);
        assert_eq!(record.ended, at(begin + 9));
        assert_eq!(record.outcome, Outcome::Completed);
        assert_eq!((record.output_tokens, record.output_tokens_source), (3, TokenSource::ChunkCounts));
    }
    let expected = RunFooter {
        released_until: at(30),
        ended: at(29),
        ending: RunEnding::Finished,
        present_ns: Some(27_000_000),
        ..RunFooter::default()
    };
    assert_eq!(executed.footer, expected);
}

#[tokio::test(start_paused = true)]
async fn a_slow_engine_delays_no_release() {
    let executed = execute(Script { ttft: ms(5_000), gap: ms(0), tokens: 1 }, 1, 1_000, PATIENT, &[]).await;
    let records = window(&executed);
    assert_eq!(records.len(), 1_000);
    assert!(records.iter().all(|record| record.dispatched == record.scheduled));
    assert!(records.iter().all(|record| record.sent == Some(record.scheduled)));
}

#[tokio::test(start_paused = true)]
async fn load_goes_on_until_the_windows_last_request_is_done() {
    let executed = execute(Script { ttft: ms(100), gap: ms(0), tokens: 1 }, 10, 30, PATIENT, &[]).await;
    assert!(window(&executed).iter().all(|record| record.outcome == Outcome::Completed));
    // The last of the window left at 20 ms and was done at 120 ms; what left from 30 ms on was cut off then.
    assert_eq!(executed.footer.ended, at(120));
    let cooldown: Vec<_> = executed.records.iter().filter(|r| r.phase == Phase::Cooldown).collect();
    assert!(cooldown.len() >= 9, "{}", cooldown.len());
    assert!(cooldown.iter().all(|record| record.outcome == Outcome::Censored && record.ended == at(120)));
}

#[tokio::test(start_paused = true)]
async fn a_cap_makes_requests_wait_in_order_and_the_wait_shows() {
    let options = RunOptions { caps: ConcurrencyCaps { total: Some(1), classes: Vec::new() }, ..PATIENT };
    let executed = execute(Script { ttft: ms(25), gap: ms(0), tokens: 1 }, 10, 40, options, &[]).await;
    for (record, (dispatched, admitted)) in window(&executed).iter().zip([(0, 0), (10, 25), (20, 50), (30, 75)]) {
        assert_eq!(record.dispatched, at(dispatched), "the pacer is not held up by the cap");
        assert_eq!(record.admitted, Some(at(admitted)));
        assert_eq!(record.chunks.first_at(), Some(at(admitted + 25)));
    }
}

/// Sends two requests of each class at once, 10 ms each. Class 1 may have one in flight.
#[tokio::test(start_paused = true)]
async fn a_class_waits_under_its_own_cap_and_holds_up_no_other() {
    let script = Script { ttft: ms(10), gap: ms(1), tokens: 1 };
    let of_class = |index: u64, class| {
        let mut request = order(index, at(index), Phase::Measured);
        request.planned.class = class;
        request
    };
    let schedule = [1, 1, 1, 0, 0].iter().zip(0..).map(|(class, index)| of_class(index, *class)).collect();
    let caps = ConcurrencyCaps { total: None, classes: vec![None, Some(1)] };
    let options = RunOptions { caps, ..PATIENT };
    let executed = execute_schedule(script, schedule, 50, options, &[]).await;
    let admitted: Vec<_> = executed.records.iter().map(|record| record.admitted).collect();
    assert_eq!(admitted, [at(0), at(10), at(20), at(3), at(4)].map(Some));
}

#[tokio::test(start_paused = true)]
async fn what_the_drain_limit_cuts_off_is_censored_and_kept_with_its_tokens() {
    let options = RunOptions { drain: ms(100), ..PATIENT };
    let executed = execute(Script { ttft: ms(50), gap: ms(50), tokens: 100 }, 10, 20, options, &[]).await;
    assert_eq!(
        executed.footer,
        RunFooter {
            released_until: at(20),
            ended: at(120),
            ending: RunEnding::DrainLimit,
            present_ns: Some(30_000_000),
            ..RunFooter::default()
        }
    );
    let records = window(&executed);
    assert_eq!(records.len(), 2);
    for record in records {
        assert_eq!((&record.outcome, record.ended), (&Outcome::Censored, at(120)));
        assert_eq!(record.chunks.len(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_cap_that_never_frees_leaves_censored_records_for_all_that_waited() {
    let options =
        RunOptions { caps: ConcurrencyCaps { total: Some(1), classes: Vec::new() }, drain: ms(100), ..PATIENT };
    let executed = execute(Script { ttft: ms(10_000), gap: ms(0), tokens: 1 }, 10, 50, options, &[]).await;
    let records = window(&executed);
    assert_eq!(records.len(), 5);
    assert!(records.iter().all(|record| record.outcome == Outcome::Censored));
    assert_eq!(records.iter().filter(|record| record.sent.is_some()).count(), 1);
}

#[tokio::test(start_paused = true)]
async fn each_time_limit_fails_the_request_at_its_moment() {
    let script = Script { ttft: ms(40), gap: ms(20), tokens: 10 };
    for (timeouts, kind, ended, tokens) in [
        (Timeouts { first_token: Some(ms(30)), ..Timeouts::default() }, FailureKind::TimeoutFirstToken, 30, 0),
        (Timeouts { between_tokens: Some(ms(15)), ..Timeouts::default() }, FailureKind::TimeoutBetweenTokens, 55, 1),
        (Timeouts { total: Some(ms(90)), ..Timeouts::default() }, FailureKind::TimeoutTotal, 90, 3),
        (
            Timeouts { first_token: Some(ms(1_000)), between_tokens: Some(ms(15)), total: Some(ms(500)) },
            FailureKind::TimeoutBetweenTokens,
            55,
            1,
        ),
    ] {
        let executed = execute(script, 10, 10, RunOptions { timeouts, ..PATIENT }, &[]).await;
        let record = window(&executed)[0];
        assert_eq!((failure(record), record.ended), (Some(kind), at(ended)), "{timeouts:?}");
        assert_eq!(record.chunks.len(), tokens);
    }
    let generous = Timeouts { first_token: Some(ms(41)), between_tokens: Some(ms(21)), total: Some(ms(221)) };
    let executed = execute(script, 10, 10, RunOptions { timeouts: generous, ..PATIENT }, &[]).await;
    assert_eq!(window(&executed)[0].outcome, Outcome::Completed);
}

#[tokio::test(start_paused = true)]
async fn why_the_model_stopped_is_kept_of_an_answer_that_never_ends() {
    let total = Timeouts { total: Some(ms(90)), ..Timeouts::default() };
    let short = Timeouts { total: Some(ms(30)), ..Timeouts::default() };
    let drain = RunOptions { drain: ms(50), ..PATIENT };
    for (options, reason) in [
        (RunOptions { timeouts: total, ..PATIENT }, Some(FinishReason::Stop)),
        (drain, Some(FinishReason::Stop)),
        (RunOptions { timeouts: short, ..PATIENT }, None),
    ] {
        let executed = execute(Endless, 10, 10, options, &[]).await;
        let record = window(&executed)[0];
        assert!(record.outcome.is_cut_off(), "{record:?}");
        assert_eq!(record.finish_reason, reason);
    }
}

#[tokio::test(start_paused = true)]
async fn an_end_that_came_after_a_limit_is_no_success_however_late_it_is_seen() {
    let total = Timeouts { total: Some(ms(90)), ..Timeouts::default() };
    let silence = Timeouts { between_tokens: Some(ms(30)), ..Timeouts::default() };
    for (timeouts, token, end, kind) in [
        // A whole answer, and the end of a streamed one.
        (total, None, 89, None),
        (total, None, 91, Some(FailureKind::TimeoutTotal)),
        (total, Some(ms(40)), 89, None),
        (total, Some(ms(40)), 91, Some(FailureKind::TimeoutTotal)),
        (silence, Some(ms(40)), 69, None),
        (silence, Some(ms(40)), 71, Some(FailureKind::TimeoutBetweenTokens)),
    ] {
        let engine = SeenLate { token, end: ms(end) };
        let executed = execute(engine, 10, 10, RunOptions { timeouts, ..PATIENT }, &[]).await;
        let record = window(&executed)[0];
        assert_eq!((failure(record), record.ended), (kind, at(end)), "{timeouts:?} {token:?} {end}");
        assert_eq!(record.whole_answer.is_some(), kind.is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_interrupt_stops_releases_and_drains() {
    let script = Script { ttft: ms(50), gap: ms(0), tokens: 1 };
    let executed = execute(script, 10, 1_000, PATIENT, &[(95, Interrupt::StopReleasing)]).await;
    let expected = RunFooter {
        released_until: at(95),
        ended: at(140),
        ending: RunEnding::Interrupted,
        present_ns: Some(500_000_000),
        ..RunFooter::default()
    };
    assert_eq!(executed.footer, expected);
    assert_eq!(executed.records.len(), 10, "those of 0 to 90 ms");
    assert!(executed.records.iter().all(|record| record.outcome == Outcome::Completed));
}

#[tokio::test(start_paused = true)]
async fn the_drain_limit_counts_from_the_interrupt() {
    let options = RunOptions { drain: ms(100), ..PATIENT };
    let script = Script { ttft: ms(50), gap: ms(50), tokens: 100 };
    let executed = execute(script, 10, 1_000, options, &[(95, Interrupt::StopReleasing)]).await;
    assert_eq!((executed.footer.ended, executed.records.len()), (at(195), 10));
    assert!(executed.records.iter().all(|record| record.outcome == Outcome::Censored));
}

#[tokio::test(start_paused = true)]
async fn a_breaker_stops_releases_and_drains() {
    let script = Script { ttft: ms(10_000), gap: ms(0), tokens: 1 };
    let breakers = vec!["in_flight > 5 for 2s".parse().unwrap()];
    let options = RunOptions { breakers, ..PATIENT };
    let executed = execute(script, 100, 30_000, options, &[(4_050, Interrupt::StopReleasing)]).await;
    let RunFooter { released_until, ended, ending, breaker, .. } = executed.footer;
    // It holds at 1 s, 2 s and 3 s; the wish that comes after it changes nothing.
    let trip = breaker.unwrap();
    assert_eq!((trip.breaker.as_str(), trip.at), ("in_flight > 5 for 2s", at(3_000)));
    assert_eq!((released_until, ending), (at(3_000), RunEnding::Aborted));
    assert!((30..=31).contains(&executed.records.len()), "{}", executed.records.len());
    assert!(executed.records.iter().all(|record| record.outcome == Outcome::Completed));
    assert!(ended <= at(13_000), "all that was in flight is answered");
}

#[tokio::test(start_paused = true)]
async fn a_breaker_ends_no_run_that_has_sent_its_last_request() {
    let script = Script { ttft: ms(10_000), gap: ms(0), tokens: 1 };
    let breakers = vec!["in_flight > 0 for 2s".parse().unwrap()];
    let last = vec![order(0, at(500), Phase::Measured)];
    let options = RunOptions { breakers, ..PATIENT };
    let executed = execute_schedule(script, last, 30_000, options, &[]).await;
    assert_eq!((executed.footer.breaker, executed.footer.ending), (None, RunEnding::Finished));
    assert_eq!(executed.footer.ended, at(10_500));
}

#[tokio::test(start_paused = true)]
async fn the_second_interrupt_leaves_at_once_and_keeps_every_record() {
    let script = Script { ttft: ms(500), gap: ms(0), tokens: 1 };
    let wishes = [(95, Interrupt::StopReleasing), (120, Interrupt::Leave)];
    let executed = execute(script, 10, 1_000, PATIENT, &wishes).await;
    assert_eq!((executed.footer.ended, executed.footer.ending), (at(120), RunEnding::Interrupted));
    assert_eq!(executed.records.len(), 10);
    assert!(executed.records.iter().all(|record| record.outcome == Outcome::Censored));
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_sends_nothing_more_that_waits_under_a_cap() {
    let options = RunOptions { caps: ConcurrencyCaps { total: Some(1), classes: Vec::new() }, ..PATIENT };
    let script = Script { ttft: ms(60), gap: ms(0), tokens: 1 };
    let executed = execute(script, 10, 1_000, options, &[(95, Interrupt::StopReleasing)]).await;
    // The second was sent at 60 ms and drains; the eight behind it are censored, unsent.
    let sent: Vec<_> = executed.records.iter().filter(|record| record.sent.is_some()).collect();
    assert_eq!((executed.records.len(), sent.len()), (10, 2));
    assert!(sent.iter().all(|record| record.outcome == Outcome::Completed));
    let waited = executed.records.iter().filter(|record| record.sent.is_none());
    assert!(waited.clone().all(|record| record.outcome == Outcome::Censored && record.ended == at(95)));
    assert_eq!((waited.count(), executed.footer.ended), (8, at(120)));
}
