//! The questions that all servers of a run answer together.

use super::counters::CounterReading;
use super::engine::OpenAiEngine;
use crate::engine::router::{Router, Targets};
use crate::engine::secrets::Secrets;
use crate::record::{Delays, ServerCounters, StampSource};

impl Router<OpenAiEngine> {
    /// The secrets of any of the servers.
    pub fn secrets(&self) -> Secrets {
        Secrets::joined(self.targets().iter().map(OpenAiEngine::secrets))
    }

    /// The coarsest source of stamps, as [`OpenAiEngine::stamp_source`] says of one.
    pub fn stamp_source(&self) -> StampSource {
        self.targets().iter().map(OpenAiEngine::stamp_source).min().unwrap_or_default()
    }

    /// The read delays of all servers' answers, as [`OpenAiEngine::read_delays`] says of one.
    pub fn read_delays(&self) -> Option<Delays> {
        self.targets().iter().filter_map(OpenAiEngine::read_delays).reduce(Delays::joined)
    }

    /// The counters of each server, as [`OpenAiEngine::counters`] reads them.
    pub async fn counters(&self) -> Targets<Option<CounterReading>> {
        let mut readings =
            futures::future::join_all(self.targets().iter().map(OpenAiEngine::counters)).await.into_iter();
        self.targets().map(|_| readings.next().flatten())
    }

    /// Returns the sum of what each server counted since `before`. `None` where one does not report it.
    pub async fn counted_since(&self, before: &Targets<Option<CounterReading>>) -> Option<ServerCounters> {
        let mut sum: Option<ServerCounters> = None;
        for (engine, before) in self.targets().iter().zip(before.iter()) {
            let before = before.as_ref()?;
            let counted = engine.counters().await?.since(before)?;
            sum = Some(sum.map_or(counted, |sum| sum.zip(counted, |one, other| Some(one? + other?))));
        }
        sum
    }

    /// Requests in all servers that report them, as [`OpenAiEngine::in_flight_requests`] says of one.
    pub async fn in_flight_requests(&self) -> Option<u64> {
        let all = futures::future::join_all(self.targets().iter().map(OpenAiEngine::in_flight_requests)).await;
        all.into_iter().flatten().reduce(u64::saturating_add)
    }
}
