//! Faults of this program, after which every request still ends.

use std::sync::Arc;

use tokio::runtime::Builder;

use super::engines::{Script, Scripted, at, ms};
use super::{PATIENT, Trial, failure, order};
use crate::clock::RunClock;
use crate::engine::{Engine, PreparedRequest};
use crate::generator::RequestSpec;
use crate::record::{FailureKind, Phase, RunEnding};
use crate::runner::reader::Readers;

/// Panics at the request with index 1.
struct Faulty(Script);

impl Engine for Faulty {
    type Answer = Scripted;

    fn prepare(&self, request: &RequestSpec) -> PreparedRequest {
        self.0.prepare(request)
    }

    fn generate(&self, request: PreparedRequest, clock: RunClock) -> Scripted {
        assert!(request.index != 1, "this program has a fault");
        self.0.generate(request, clock)
    }

    async fn warm_up(&self, _count: usize) {}
}

/// The failures of three requests that these readers send.
async fn failures(readers: Readers<Faulty>) -> [Option<FailureKind>; 3] {
    let schedule = (0..3).map(|index| order(index, at(index * 10), Phase::Measured));
    let trial = Trial { schedule, measured: 3, window_end: 30, options: PATIENT, wishes: &[], tail: None };
    let (records, footer) = trial.execute(readers).await;
    assert_eq!(footer.unwrap().ending, RunEnding::Finished);
    [0, 1, 2].map(|index: usize| failure(&records[index]))
}

#[tokio::test(start_paused = true)]
async fn a_request_that_meets_a_fault_ends_and_so_do_all_of_a_reader_that_is_gone() {
    let engine = Arc::new(Faulty(Script { ttft: ms(1), gap: ms(1), tokens: 2 }));
    let lost = Some(FailureKind::Internal);
    assert_eq!(failures(Readers::in_loop(Arc::clone(&engine))).await, [None, lost, None]);
    let gone = Builder::new_current_thread().build().unwrap();
    let readers = {
        let _inside = gone.enter();
        Readers::in_loop(engine)
    };
    gone.shutdown_background();
    assert_eq!(failures(readers).await, [lost; 3]);
}
