//! Asks golden prompts: one after another before a run, and by the clock under its load.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::options::Interrupt;
use crate::clock::{RunClock, Timestamp};
use crate::engine::{Answer, AnswerEnd, AnswerEvent, Engine, PreparedRequest};
use crate::record::{Failure, FailureKind};
use crate::units::spoken;

/// The longest that an answer may take where there is no load: nobody should wait long for a run to begin.
const ALONE: Duration = Duration::from_mins(2);

/// A golden prompt that was asked.
#[derive(Clone, Debug, PartialEq)]
pub struct FinishedCheck {
    /// Its index in the workload's list.
    pub check: u16,
    /// The moment it was let go, under load; absent: before the run.
    pub released: Option<Timestamp>,
    /// How its answer ended; absent where the run ended first.
    pub end: Option<AnswerEnd>,
}

/// The golden prompts of a run, ready to be sent.
#[derive(Debug)]
pub struct Checks<E> {
    /// Who answers: apart from the engine of the load, so that its stamps and request ids are not mixed up with others.
    pub engine: Arc<E>,
    /// The prompts, in the order of the workload.
    pub prompts: Vec<PreparedRequest>,
    /// The longest that an answer may take; absent: no limit.
    pub limit: Option<Duration>,
}

/// When golden prompts are asked under load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckTimes {
    /// The moment of the first.
    pub from: Timestamp,
    /// None is asked from here on.
    pub until: Timestamp,
    /// From one to the next; zero: none is asked.
    pub every: Duration,
}

impl<E: Engine> Checks<E> {
    /// Asks each prompt once, one after another.
    pub async fn before(&self) -> Vec<FinishedCheck> {
        let clock = RunClock::starting_in(Duration::ZERO);
        let mut asked = Vec::new();
        for (check, prompt) in (0..).zip(&self.prompts) {
            let limit = self.limit.map_or(ALONE, |limit| limit.min(ALONE));
            let end = ask(&*self.engine, prompt.clone(), clock, Some(limit)).await;
            asked.push(FinishedCheck { check, released: None, end: Some(end) });
        }
        asked
    }

    /// Asks one prompt at each of the moments, in turn, whatever became of those before it, until `over` is cancelled;
    /// what has no answer then is cut off. A person who stops the run stops this too.
    pub async fn under_load(
        self,
        clock: RunClock,
        times: CheckTimes,
        interrupt: watch::Receiver<Interrupt>,
        over: CancellationToken,
        mut keep: impl FnMut(FinishedCheck),
    ) {
        let mut flights = JoinSet::new();
        for (number, moment) in (0..).zip(times.moments()) {
            loop {
                tokio::select! {
                    biased;
                    () = over.cancelled() => break,
                    Some(Ok(asked)) = flights.join_next() => keep(asked),
                    () = sleep_until(clock.instant(moment)) => break,
                }
            }
            if over.is_cancelled() || *interrupt.borrow() >= Interrupt::StopReleasing {
                break;
            }
            let place = number as usize % self.prompts.len();
            // Under a number of its own, since some servers refuse two of one name at a time.
            let prompt =
                PreparedRequest { index: number + self.prompts.len() as u64, ..self.prompts[place].clone() };
            let (engine, limit, over) = (Arc::clone(&self.engine), self.limit, over.clone());
            flights.spawn(async move {
                let released = Some(clock.now());
                let end = tokio::select! {
                    biased;
                    () = over.cancelled() => None,
                    end = ask(&*engine, prompt, clock, limit) => Some(end),
                };
                FinishedCheck { check: place as u16, released, end }
            });
        }
        while let Some(landed) = flights.join_next().await {
            landed.into_iter().for_each(&mut keep);
        }
    }
}

impl CheckTimes {
    fn moments(self) -> impl Iterator<Item = Timestamp> {
        let moment = move |k: u32| self.from.after(self.every * k);
        (0..).map(moment).take_while(move |&moment| !self.every.is_zero() && moment < self.until)
    }
}

/// How the answer to a prompt ended.
async fn ask<E: Engine>(
    engine: &E,
    prompt: PreparedRequest,
    clock: RunClock,
    limit: Option<Duration>,
) -> AnswerEnd {
    let mut answer = engine.generate(prompt, clock);
    let whole = async {
        loop {
            if let AnswerEvent::Ended(end) = answer.next().await {
                return *end;
            }
        }
    };
    let Some(limit) = limit else { return whole.await };
    timeout(limit, whole).await.unwrap_or_else(|_| AnswerEnd {
        at: clock.now(),
        result: Err(Failure::new(
            FailureKind::TimeoutTotal,
            format!("no more than {} allowed", spoken(limit)),
        )),
        whole_answer: None,
        finish_reason: None,
        usage: None,
        kept: None,
    })
}
