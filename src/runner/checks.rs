//! Sends golden prompts: one after another before a run, and at fixed times under its load.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::options::Interrupt;
use crate::clock::{RunClock, Timestamp};
use crate::engine::{Answer, AnswerEnd, Engine, PreparedRequest};
use crate::record::{Failure, FailureKind};
use crate::units::spoken;

/// Longest time that an answer may take without load, so that the run begins soon.
const ALONE: Duration = Duration::from_secs(2 * 60);

/// A golden prompt that was sent, and how its answer ended.
#[derive(Clone, Debug, PartialEq)]
pub struct FinishedCheck {
    /// Its index in the workload's list.
    pub check: u16,
    /// Moment when it was dispatched under load; `None` before the run.
    pub released: Option<Timestamp>,
    /// How its answer ended; `None` if the run ended first.
    pub end: Option<AnswerEnd>,
}

/// The golden prompts of a run, ready to be sent.
#[derive(Debug)]
pub struct Checks<E> {
    /// A separate engine. Its stamps and request ids do not mix with those of the load.
    pub engine: Arc<E>,
    /// The prompts, in the order of the workload.
    pub prompts: Vec<PreparedRequest>,
    /// Longest time that an answer may take; `None` means no limit.
    pub limit: Option<Duration>,
}

/// When golden prompts are sent under load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckTimes {
    /// Time of the first prompt.
    pub from: Timestamp,
    /// No prompt is sent from this time on.
    pub until: Timestamp,
    /// Interval between prompts; zero sends none.
    pub every: Duration,
}

impl<E: Engine> Checks<E> {
    /// How long each answer may take before a run.
    pub fn patience(&self) -> Duration {
        self.limit.map_or(ALONE, |limit| limit.min(ALONE))
    }

    /// Sends each prompt once, one after another.
    pub async fn before(&self) -> Vec<FinishedCheck> {
        let clock = RunClock::starting_in(Duration::ZERO);
        let mut asked = Vec::new();
        for (check, prompt) in (0..).zip(&self.prompts) {
            let end = ask(&*self.engine, prompt.clone(), clock, Some(self.patience())).await;
            asked.push(FinishedCheck { check, released: None, end: Some(end) });
        }
        asked
    }

    /// Sends one prompt at each time, in turn, whatever the answers to earlier ones. Stops when `over` is
    /// cancelled (an unfinished answer is then cut off) or when the user interrupts the run.
    pub async fn under_load(
        self,
        clock: RunClock,
        times: CheckTimes,
        interrupt: watch::Receiver<Interrupt>,
        over: CancellationToken,
        mut keep: impl FnMut(FinishedCheck),
    ) {
        let mut running = JoinSet::new();
        for (number, moment) in (0..).zip(times.moments()) {
            loop {
                tokio::select! {
                    biased;
                    () = over.cancelled() => break,
                    Some(Ok(asked)) = running.join_next() => keep(asked),
                    () = sleep_until(clock.instant(moment)) => break,
                }
            }
            if over.is_cancelled() || *interrupt.borrow() >= Interrupt::StopReleasing {
                break;
            }
            let check = number as usize % self.prompts.len();
            // Some servers refuse two concurrent requests with one id, so each request has its own index.
            let prompt = PreparedRequest { index: number + self.prompts.len() as u64, ..self.prompts[check].clone() };
            let (engine, limit, over) = (Arc::clone(&self.engine), self.limit, over.clone());
            running.spawn(async move {
                let released = Some(clock.now());
                let end = tokio::select! {
                    biased;
                    () = over.cancelled() => None,
                    end = ask(&*engine, prompt, clock, limit) => Some(end),
                };
                FinishedCheck { check: check as u16, released, end }
            });
        }
        while let Some(finished) = running.join_next().await {
            finished.into_iter().for_each(&mut keep);
        }
    }
}

impl CheckTimes {
    fn moments(self) -> impl Iterator<Item = Timestamp> {
        let moment = move |k: u32| self.from.after(self.every * k);
        (0..).map(moment).take_while(move |&moment| !self.every.is_zero() && moment < self.until)
    }
}

/// Sends one prompt and returns how its answer ended.
async fn ask<E: Engine>(engine: &E, prompt: PreparedRequest, clock: RunClock, limit: Option<Duration>) -> AnswerEnd {
    let mut answer = engine.generate(engine.routed(prompt), clock);
    let whole = answer.until_end();
    let Some(limit) = limit else { return whole.await };
    timeout(limit, whole).await.unwrap_or_else(|_| {
        let message = format!("no more than {} allowed", spoken(limit));
        AnswerEnd::failed(clock.now(), Failure::new(FailureKind::TimeoutTotal, message))
    })
}
