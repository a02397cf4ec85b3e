//! How far ahead of the run requests are built.

use std::convert::identity;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use super::engines::{Script, at, ms};
use super::{PATIENT, Trial, order};
use crate::record::Phase;
use crate::runner::feed::RequestFeed;
use crate::runner::reader::Readers;

#[test]
fn enough_is_ready_before_a_run_and_never_much_more() {
    let built = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&built);
    let schedule = (0..).map(move |index| {
        std::thread::sleep(Duration::from_micros(100));
        count.fetch_add(1, Relaxed);
        order(index, at(index), Phase::Measured)
    });
    let engine = Script { ttft: ms(0), gap: ms(0), tokens: 1 };
    let mut feed = RequestFeed::start(Arc::new(engine), schedule, identity, None).unwrap();
    assert!(built.load(Relaxed) >= RequestFeed::READY);
    for taken in 1..=1_000 {
        assert_eq!(feed.next().unwrap().request.index, taken - 1);
        let ahead = built.load(Relaxed) - taken;
        assert!(ahead <= 600, "{ahead} requests are built after {taken}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_plan_breaks_off_is_no_run_that_finished() {
    let script = Script { ttft: ms(1), gap: ms(1), tokens: 2 };
    let broken = |from: u64| {
        (0..3_000).map(move |index| {
            assert!(index < from, "this program has a fault");
            order(index, at(index), Phase::Measured)
        })
    };
    // Far beyond what is built ahead.
    let trial = Trial {
        schedule: broken(2_000),
        measured: 3_000,
        window_end: 3_000,
        options: PATIENT,
        wishes: &[],
        tail: None,
    };
    let (records, footer) = trial.execute(Readers::in_loop(Arc::new(script))).await;
    let words = footer.unwrap_err().to_string();
    assert!(words.contains("has panicked, so a part of the plan was not sent"), "{words}");
    assert!((1_900..2_000).contains(&records.len()), "{}", records.len());
    let words = RequestFeed::start(Arc::new(script), broken(4), identity, None).err().unwrap().to_string();
    assert!(words.contains("has panicked"), "{words}");
}
