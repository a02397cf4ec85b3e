//! Golden prompts in exact, paused time, against an engine that follows a script.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio_util::sync::CancellationToken;

use super::engines::{Script, at, ms};
use super::{sleep_until, watch};
use crate::clock::{RunClock, Timestamp};
use crate::engine::PreparedRequest;
use crate::record::FailureKind;
use crate::runner::checks::{CheckTimes, Checks, FinishedCheck};
use crate::runner::options::Interrupt;

fn checks(ttft: u64, limit: Option<u64>) -> Checks<Script> {
    Checks {
        engine: Arc::new(Script { ttft: ms(ttft), gap: ms(0), tokens: 1 }),
        prompts: (0..2).map(|index| PreparedRequest::new(index, Bytes::new())).collect(),
        limit: limit.map(ms),
    }
}

/// Returns the prompts sent every 10 ms from 5 ms on. At 45 ms no more are sent, in a run that ended at `over`. Each
/// has index, dispatch and end, ms.
async fn asked(checks: Checks<Script>, over: u64, stopped: Option<u64>) -> Vec<(u16, u64, Option<u64>)> {
    let clock = RunClock::starting_in(Duration::ZERO);
    let (cancel, (wish, interrupt)) = (CancellationToken::new(), watch::channel(Interrupt::None));
    let ending = cancel.clone();
    tokio::spawn(async move {
        if let Some(stopped) = stopped {
            sleep_until(clock.instant(at(stopped))).await;
            wish.send_replace(Interrupt::StopReleasing);
        }
        sleep_until(clock.instant(at(over))).await;
        ending.cancel();
    });
    let times = CheckTimes { from: at(5), until: at(45), every: ms(10) };
    let mut kept = Vec::new();
    checks.under_load(clock, times, interrupt, cancel, |check| kept.push(check)).await;
    let millis = |moment: Timestamp| moment.as_nanos() / 1_000_000;
    kept.sort_by_key(|check| check.released);
    kept.iter()
        .map(|asked| (asked.check, millis(asked.released.unwrap()), asked.end.as_ref().map(|end| millis(end.at))))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn checks_leave_in_turn_at_their_moments_and_wait_for_none() {
    let expected = [(0, 5, Some(25)), (1, 15, Some(35)), (0, 25, Some(45)), (1, 35, Some(55))];
    assert_eq!(asked(checks(20, None), 1_000, None).await, expected);
}

#[tokio::test(start_paused = true)]
async fn what_has_no_answer_when_the_run_ends_is_cut_off() {
    assert_eq!(asked(checks(20, None), 30, None).await, [(0, 5, Some(25)), (1, 15, None), (0, 25, None)]);
}

#[tokio::test(start_paused = true)]
async fn a_person_who_stops_the_run_stops_them() {
    assert_eq!(asked(checks(1, None), 1_000, Some(20)).await, [(0, 5, Some(6)), (1, 15, Some(16))]);
}

#[tokio::test(start_paused = true)]
async fn before_a_run_each_is_asked_once_and_none_for_longer_than_its_limit() {
    let ends = |asked: Vec<FinishedCheck>| -> Vec<_> {
        asked.into_iter().map(|asked| (asked.check, asked.released, asked.end.unwrap().result.err())).collect()
    };
    assert_eq!(ends(checks(20, Some(30)).before().await), [(0, None, None), (1, None, None)]);
    let late = ends(checks(20, Some(10)).before().await);
    assert_eq!(late[1].2.as_ref().unwrap().reason, FailureKind::TimeoutTotal);
}
