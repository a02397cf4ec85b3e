//! Load that goes on for something beside a run.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

use super::engines::{Script, at, ms};
use super::{Executed, PATIENT, Trial, order};
use crate::clock::{RunClock, Timestamp};
use crate::record::{Phase, RunEnding};
use crate::runner::options::Interrupt;
use crate::runner::reader::Readers;
use crate::runner::tail::Tail;

/// Sends a request every 10 ms, each of which takes 100 ms. Three count. What the run waits for takes `tail` ms; the
/// user may have a wish.
async fn with_tail(tail: u64, wishes: &[(u64, Interrupt)]) -> (Executed, Option<Timestamp>) {
    let phase = |index| if index < 3 { Phase::Measured } else { Phase::Cooldown };
    let schedule = (0..30).map(move |index| order(index, at(index * 10), phase(index)));
    let (begins, begun) = oneshot::channel();
    let (ends, over) = oneshot::channel();
    let clock = RunClock::starting_in(Duration::ZERO);
    let beside = tokio::spawn(async move {
        begun.await.ok()?;
        let moment = clock.now();
        let mut ends = ends;
        tokio::select! {
            () = tokio::time::sleep(ms(tail)) => drop(ends.send(())),
            () = ends.closed() => {}
        }
        Some(moment)
    });
    let tail = Some(Tail { begins: Some(begins), over });
    let trial = Trial { schedule, measured: 3, window_end: 30, options: PATIENT, wishes, tail };
    let script = Script { ttft: ms(100), gap: ms(0), tokens: 1 };
    let (records, footer) = Box::pin(trial.execute(Readers::in_loop(Arc::new(script)))).await;
    (Executed { records, footer: footer.unwrap() }, beside.await.unwrap())
}

#[tokio::test(start_paused = true)]
async fn load_goes_on_for_what_the_run_waits_for() {
    let (executed, begun) = with_tail(50, &[]).await;
    assert_eq!(begun, Some(at(120)), "once the last that counts has ended");
    assert_eq!((executed.footer.ended, executed.footer.ending), (at(170), RunEnding::Finished));
    let during = executed.records.iter().filter(|record| (at(120)..at(170)).contains(&record.dispatched));
    assert_eq!(during.count(), 5);
    // Load that ends sooner ends the wait: 29 leaves at 290 ms and is done at 390.
    let (executed, _) = with_tail(1_000, &[]).await;
    assert_eq!((executed.footer.ended, executed.footer.ending), (at(390), RunEnding::Finished));
}

#[tokio::test(start_paused = true)]
async fn who_interrupts_waits_for_nothing_more() {
    let (executed, begun) = with_tail(50, &[(60, Interrupt::StopReleasing)]).await;
    assert_eq!((begun, executed.footer.ending), (None, RunEnding::Interrupted));
    let (executed, begun) = with_tail(1_000, &[(150, Interrupt::StopReleasing)]).await;
    assert_eq!((begun, executed.footer.ended), (Some(at(120)), at(150)));
}
