//! Holds the client's account of a stretch of time against the server's.

use std::collections::BTreeMap;

use serde::Serialize;

use super::TimeSummary;
use crate::clock::Timestamp;
use crate::record::{CheckResult, Counter, Outcome, RequestRecord, RunLog, ServerTime};

/// The same by both accounts, of the stretch between two readings: each request, each token where it happened in it, of
/// warm-up and cool-down too.
///
/// What happens at the very ends of the stretch may count on one side alone, and what others asked of the server counts on
/// its side.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BothAccounts {
    /// Time to the first token: the client's from sending, the server's from the request's arrival.
    pub ttft: Option<TimeBeside>,
    /// Time to the last token, as above.
    pub e2e: Option<TimeBeside>,
    /// Requests that ended well.
    pub requests: Option<CountBeside>,
    /// Answer tokens.
    pub output_tokens: Option<CountBeside>,
}

/// A mean time by both accounts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TimeBeside {
    /// The client's mean, milliseconds.
    pub client_ms: f64,
    /// Number of requests in it.
    pub client_n: u64,
    /// The server's mean, milliseconds.
    pub server_ms: f64,
    /// Number of requests in it.
    pub server_n: f64,
    /// What lies outside of the server, milliseconds: the network, proxies, both kernels, and this program. The difference
    /// of the means; below 0 where the two are about different requests.
    pub outside_ms: f64,
    /// The same as a share of the client's mean.
    pub outside_share: f64,
}

/// A count by both accounts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CountBeside {
    /// The client's.
    pub client: u64,
    /// The server's.
    pub server: f64,
}

impl BothAccounts {
    pub(super) fn of(
        log: &RunLog,
        counters: &BTreeMap<Counter, f64>,
        times: &BTreeMap<ServerTime, TimeSummary>,
        (from, until): (f64, f64),
    ) -> Self {
        let inside = |at: Timestamp| (from..until).contains(&at.as_secs_f64());
        let time = |time: ServerTime, end: fn(&RequestRecord) -> Option<Timestamp>| {
            let server = times.get(&time)?;
            let of_record = |record: &RequestRecord| {
                let end = end(record).filter(|&end| inside(end))?;
                Some(end.since(record.sent?).as_secs_f64() * 1e3)
            };
            let client: Vec<f64> = log.records.iter().filter_map(of_record).collect();
            TimeBeside::of(&client, server)
        };
        let first = |record: &RequestRecord| record.chunks.iter().next().map(|chunk| chunk.at);
        let last = |record: &RequestRecord| {
            let completed = record.outcome == Outcome::Completed;
            record.chunks.iter().last().map(|chunk| chunk.at).filter(|_| completed)
        };
        let count = |counter: Counter, client: u64| {
            counters.get(&counter).map(|&server| CountBeside { client, server })
        };
        let ended = log.records.iter().filter(|record| record.outcome == Outcome::Completed);
        let ended = ended.filter(|record| inside(record.ended)).count() as u64;
        // Answers of which several chunks share a count are spread over them alike on both sides.
        let tokens = log.records.iter().map(|record| tokens_inside(record, inside)).sum::<f64>();
        let golden = log.checks.iter().filter(|check| {
            let answered = matches!(check.result, CheckResult::Passed | CheckResult::Unmet { .. });
            answered && check.released.is_some_and(inside)
        });
        let golden_tokens: u64 =
            golden.clone().filter_map(|check| check.usage).map(|usage| usage.completion_tokens).sum();
        Self {
            ttft: time(ServerTime::Ttft, first),
            e2e: time(ServerTime::E2e, last),
            requests: count(Counter::RequestsSucceeded, ended + golden.count() as u64),
            output_tokens: count(Counter::GenerationTokens, tokens.round() as u64 + golden_tokens),
        }
    }
}

/// Tokens of an answer that came while `inside`: where its chunks do not tell theirs, each has the same part of all.
fn tokens_inside(record: &RequestRecord, inside: impl Fn(Timestamp) -> bool) -> f64 {
    let seen: u64 = record.chunks.iter().map(|chunk| u64::from(chunk.tokens)).sum();
    let came = record.chunks.iter().filter(|chunk| inside(chunk.at));
    let tokens: u64 = came.map(|chunk| u64::from(chunk.tokens)).sum();
    if seen == 0 { 0.0 } else { tokens as f64 * record.output_tokens as f64 / seen as f64 }
}

impl TimeBeside {
    /// `None` where the client has seen none.
    fn of(client: &[f64], server: &TimeSummary) -> Option<Self> {
        let client_ms = client.iter().sum::<f64>() / client.len() as f64;
        let outside_ms = client_ms - server.mean_ms;
        (client_ms > 0.0).then_some(Self {
            client_ms,
            client_n: client.len() as u64,
            server_ms: server.mean_ms,
            server_n: server.count,
            outside_ms,
            outside_share: outside_ms / client_ms,
        })
    }
}
