//! A heart that beats beside the test, in real time.

use std::time::Duration;

use super::command::Wanted;
use super::handle::{Heart, NotTaken};
use crate::clock::{RunClock, Timestamp};
use crate::mock::metrics::Finish;
use crate::simulator::{Delay, FixedQueue, Job, JobId, Reject, ServerGauges, SimulatedServer, TokenEvent};

fn wanted(id: u64, tokens: u32) -> Wanted {
    Wanted { job: Job::new(JobId(id), 4, tokens), max_tokens: tokens, finish: Finish::Length }
}

fn heart(gap: f64) -> (Heart, RunClock) {
    let clock = RunClock::starting_in(Duration::ZERO);
    let server = FixedQueue::new(4, Delay::Constant(0.01), Delay::Constant(gap), 0);
    (Heart::start(Box::new(server), clock).unwrap(), clock)
}

#[tokio::test]
async fn a_gap_of_800_microseconds_is_one_of_800_microseconds() {
    let (heart, clock) = heart(0.000_8);
    let (mut work, queued) = heart.take(vec![wanted(0, 200)], 1).await.unwrap();
    let mut lateness = Vec::new();
    let mut expected = queued.after(Duration::from_millis(10));
    while let Some(due) = work.next().await {
        lateness.push(clock.now().since(due.at));
        assert_eq!(due.at, expected);
        expected = expected.after(Duration::from_micros(800));
    }
    assert_eq!(lateness.len(), 200);
    lateness.sort_unstable();
    // Usually some 20 µs; the bound is loose for busy machines.
    assert!(lateness[100] < Duration::from_millis(5), "{:?}", lateness[100]);
}

#[tokio::test]
async fn dropped_work_leaves_the_server() {
    let (heart, _) = heart(10.0);
    let (mut work, _) = heart.take(vec![wanted(0, 5), wanted(1, 5)], 2).await.unwrap();
    assert!(work.next().await.is_some());
    assert_eq!(heart.look().await.unwrap().gauges.num_requests_running, 2);
    drop(work);
    let readings = heart.look().await.unwrap();
    assert_eq!(readings.gauges.num_requests_running, 0);
    assert_eq!(readings.meters.ended_by(Finish::Abort), 2);
}

#[tokio::test]
async fn a_request_that_cannot_be_served_is_refused_whole() {
    let (heart, _) = heart(0.1);
    let refused = heart.take(vec![wanted(0, 5), wanted(1, 0)], 2).await;
    assert_eq!(refused.unwrap_err(), NotTaken::Never(Reject::Empty));
    assert_eq!(heart.look().await.unwrap().gauges.num_requests_waiting, 0);
}

#[tokio::test]
async fn nothing_is_queued_before_it_was_asked_for() {
    let (heart, clock) = heart(0.000_01);
    for id in 0..500 {
        let asked = clock.now();
        let (_work, queued) = heart.take(vec![wanted(id, 50)], 1).await.unwrap();
        assert!(queued >= asked, "{queued:?} before {asked:?}");
    }
}

/// A server with a fault in it.
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
async fn a_heart_that_stopped_says_so() {
    let heart = Heart::start(Box::new(Broken), RunClock::starting_in(Duration::ZERO)).unwrap();
    assert_eq!(heart.take(vec![wanted(0, 5)], 1).await.unwrap_err(), NotTaken::Stopped);
    assert!(heart.look().await.is_none());
}
