//! An engine thread beside the test, in real time.

use std::time::Duration;

use super::{EngineThread, JobRequest, LARGEST_JOBS, SubmitError};
use crate::clock::{Pacing, RunClock, Timestamp};
use crate::mock::metrics::Finish;
use crate::simulator::{Delay, FixedQueue, Job, JobId, Reject, ServerGauges, SimulatedServer, TokenEvent};

fn wanted(id: u64, tokens: u32) -> JobRequest {
    JobRequest {
        job: Job::new(JobId(id), 4, tokens),
        max_tokens: tokens,
        finish: Finish::Length,
        text: 0,
        has_text: true,
    }
}

fn engine(gap: f64) -> (EngineThread, RunClock) {
    let clock = RunClock::starting_in(Duration::ZERO);
    let server = FixedQueue::new(4, Delay::Constant(0.01), Delay::Constant(gap), 0);
    (EngineThread::start(Box::new(server), clock, Pacing::Precise).unwrap(), clock)
}

#[tokio::test]
async fn a_gap_of_800_microseconds_is_one_of_800_microseconds() {
    let (engine, clock) = engine(0.000_8);
    let (mut work, queued) = engine.take(vec![wanted(0, 1_000)], 1).await.unwrap();
    let mut lateness = Vec::new();
    let mut expected = queued.after(Duration::from_millis(10));
    while let Some(due) = work.next().await {
        lateness.push(clock.now().since(due.event.at));
        assert_eq!(due.event.at, expected);
        expected = expected.after(Duration::from_micros(800));
    }
    assert_eq!(lateness.len(), 1_000);
    lateness.sort_unstable();
    // Usually about 20 µs; loose, for busy machines, which hold up some and not all.
    assert!(lateness[100] < Duration::from_millis(20), "{:?}", lateness[100]);
}

#[tokio::test]
async fn dropped_work_leaves_the_server() {
    let (engine, _) = engine(10.0);
    let (mut work, _) = engine.take(vec![wanted(0, 5), wanted(1, 5)], 2).await.unwrap();
    assert!(work.next().await.is_some());
    assert_eq!(engine.look().await.unwrap().gauges.num_requests_running, 2);
    drop(work);
    let readings = engine.look().await.unwrap();
    assert_eq!(readings.gauges.num_requests_running, 0);
    assert_eq!(readings.meters.ended[Finish::Abort as usize], 2);
}

#[tokio::test]
async fn a_request_that_cannot_be_served_is_refused_whole() {
    let (engine, _) = engine(0.1);
    let refused = engine.take(vec![wanted(0, 5), wanted(1, 0)], 2).await;
    assert_eq!(refused.unwrap_err(), SubmitError::Refused(Reject::Empty));
    assert_eq!(engine.look().await.unwrap().gauges.num_requests_waiting, 0);
}

#[tokio::test]
async fn jobs_have_room_together() {
    let (engine, _) = engine(0.1);
    let large = |id| JobRequest { text: LARGEST_JOBS / 2, ..wanted(id, 5) };
    let (work, _) = engine.take(vec![large(0)], 1).await.unwrap();
    assert_eq!(engine.take(vec![large(1)], 1).await.unwrap_err(), SubmitError::NoRoom);
    drop(work);
    assert!(engine.take(vec![large(2)], 1).await.is_ok(), "room is given back");
}

#[tokio::test]
async fn nothing_is_queued_before_it_was_asked_for() {
    let (engine, clock) = engine(0.000_01);
    for id in 0..500 {
        let asked = clock.now();
        let (_work, queued) = engine.take(vec![wanted(id, 50)], 1).await.unwrap();
        assert!(queued >= asked, "{queued:?} before {asked:?}");
    }
}

/// A server with a bug.
struct Broken;

impl SimulatedServer for Broken {
    fn submit(&mut self, _: Timestamp, _: Job) -> Result<(), Reject> {
        panic!("broken on purpose")
    }
    fn cancel(&mut self, _: Timestamp, _: JobId) -> bool {
        false
    }
    fn next_event(&self) -> Option<Timestamp> {
        None
    }
    fn advance(&mut self, _: Timestamp, _: &mut Vec<TokenEvent>) {}
    fn gauges(&self) -> ServerGauges {
        ServerGauges::default()
    }
    fn jobs(&self) -> u64 {
        0
    }
}

#[tokio::test]
async fn an_engine_thread_that_stopped_is_reported() {
    let engine = EngineThread::start(Box::new(Broken), RunClock::starting_in(Duration::ZERO), Pacing::Precise).unwrap();
    assert_eq!(engine.take(vec![wanted(0, 5)], 1).await.unwrap_err(), SubmitError::Stopped);
    assert!(engine.look().await.is_none());
}
