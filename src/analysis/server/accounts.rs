//! Holds the client's account of a stretch of time against the server's.

use std::collections::BTreeMap;

use serde::Serialize;

use super::histogram::TimeSummary;
use crate::clock::Timestamp;
use crate::record::{
    CheckResult, Counter, Outcome, PageKind, RequestRecord, RunLog, ServerTime, TokenCounting,
};

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
    /// Answer tokens; those of a request all at its end, where the server counts them then (SGLang, TGI, llama.cpp).
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
    /// Whether both may be about the same requests: their numbers differ by no more than one, or 2 %. Where they are not,
    /// as where others asked of the server too, the difference of the means says nothing.
    pub same_requests: bool,
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

/// Numbers of requests on both sides may differ by so much of the client's, for what happens at the ends of the stretch.
const SAME: f64 = 0.02;

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
        let first = |record: &RequestRecord| record.chunks.first_at();
        let last = |record: &RequestRecord| {
            let completed = record.outcome == Outcome::Completed;
            record.chunks.last_at().or(record.whole_answer).filter(|_| completed)
        };
        let count = |counter: Counter, client: u64| {
            counters.get(&counter).map(|&server| CountBeside { client, server })
        };
        let ended = log.records.iter().filter(|record| record.outcome == Outcome::Completed);
        let ended = ended.filter(|record| inside(record.ended)).count() as u64;
        // Answers of which several chunks share a count are spread over them alike on both sides.
        let counting = counting(log);
        let tokens = log.records.iter().map(|record| match counting {
            TokenCounting::AsTheyCome => tokens_inside(record, inside),
            TokenCounting::AtTheEnd if inside(record.ended) => record.output_tokens as f64,
            TokenCounting::AtTheEnd => 0.0,
        });
        let tokens = tokens.sum::<f64>();
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

/// When the servers whose pages were read count tokens.
fn counting(log: &RunLog) -> TokenCounting {
    let mut kinds = log.header.telemetry.iter().filter_map(|page| page.kind);
    kinds
        .find_map(|kind: PageKind| kind.is_of_engine().then(|| kind.counts_tokens()))
        .unwrap_or(TokenCounting::AsTheyCome)
}

/// Tokens of an answer that came while `inside`: where its chunks do not tell theirs, each has the same part of all. An
/// answer that was not streamed came whole.
fn tokens_inside(record: &RequestRecord, inside: impl Fn(Timestamp) -> bool) -> f64 {
    if record.chunks.is_empty() {
        return if record.whole_answer.is_some_and(inside) { record.output_tokens as f64 } else { 0.0 };
    }
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
        let apart = (server.count - client.len() as f64).abs();
        (client_ms > 0.0).then_some(Self {
            client_ms,
            client_n: client.len() as u64,
            server_ms: server.mean_ms,
            server_n: server.count,
            outside_ms,
            outside_share: outside_ms / client_ms,
            same_requests: apart <= (SAME * client.len() as f64).max(1.0),
        })
    }
}
