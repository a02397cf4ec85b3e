//! A row for each request, and one for each token.

use std::borrow::Cow;
use std::ops::Deref;

use super::column::{DataColumns, name};
use crate::analysis::selections::LATENCIES_OF_REQUEST;
use crate::analysis::{Metric, RequestLatency, StreamDelivery, Unit, audio_seconds, real_time_factor, tokens_per_s};
use crate::clock::Timestamp;
use crate::record::{
    Failure, FailureKind, FinishReason, LostConnection, Outcome, RecordRef, RequestRecord, RunLog, WorkKind,
};
use crate::units::millis;

/// A request of a run, with what analysis says of it.
#[derive(Clone, Debug)]
pub(super) struct RequestRow<'a> {
    pub(super) log: &'a RunLog,
    pub(super) record: RecordRef<'a>,
    pub(super) latency: RequestLatency,
    /// Whether it met its SLO; absent where it has none, or nobody can tell.
    pub(super) slo_met: Option<bool>,
}

impl<'a> RequestRow<'a> {
    /// The rows of `log`, in order of their scheduled moments.
    pub(super) fn all(log: &'a RunLog) -> impl Iterator<Item = Self> {
        let delivery = StreamDelivery::from_log(log);
        in_order(log).into_iter().map(move |place| Self::new(log, &delivery, log.records.at(place as usize)))
    }

    /// The row of `record`, a request of `log`.
    fn new(log: &'a RunLog, delivery: &StreamDelivery, record: RecordRef<'a>) -> Self {
        let (latency, slo_met) = crate::analysis::of_request(log, delivery, &record);
        Self { log, record, latency, slo_met }
    }
}

impl Deref for RequestRow<'_> {
    type Target = RequestRecord;

    fn deref(&self) -> &RequestRecord {
        &self.record
    }
}

/// The places of a run's requests, in order of their scheduled moments.
pub(super) fn in_order(log: &RunLog) -> Vec<u32> {
    log.records.places_by(|record| Some((record.scheduled, record.index)))
}

/// Whether its answer has tokens.
fn has_tokens(row: &RequestRow<'_>) -> bool {
    row.work != WorkKind::Items
}

/// The name in a list of the workload at this place.
fn named<'r>(names: impl Fn(usize) -> Option<&'r str>, place: Option<u16>) -> Option<Cow<'r, str>> {
    names(usize::from(place?)).map(Cow::Borrowed)
}

impl RequestRow<'_> {
    /// The table's columns, in their order.
    pub(super) fn columns() -> DataColumns<Self> {
        let longest = "The longest silence between two of its chunks";
        let speed = |row: &Self| tokens_per_s(row, &row.latency);
        let all = LATENCIES_OF_REQUEST[..7].iter().copied().fold(Self::first_columns(), Self::exact);
        let all = all.number("longest_gap_ms", Unit::MILLISECONDS, longest, longest_gap);
        let all = LATENCIES_OF_REQUEST[7..].iter().copied().fold(all, Self::exact);
        let all = all.number("tokens_per_s", Unit::TOKENS_PER_SECOND, "Answer tokens / e2e", speed);
        // The schedule lag is always known.
        LATENCIES_OF_REQUEST[1..].iter().copied().fold(Self::last_columns(all), Self::at_least)
    }

    /// Returns the columns of the requests of `log`. There is one for each tag that they can have, those of audio, and
    /// that of their servers, where these are several.
    pub(super) fn columns_of(log: &RunLog) -> DataColumns<Self> {
        let all = log.header.workload.tag_keys().into_iter().fold(Self::columns(), Self::tag);
        let all = match log.header.workload.longest_audio() {
            None => all,
            Some(_) => all
                .number("audio_s", Unit::SECONDS, "Seconds of its audio", |row| audio_seconds(row.log, row))
                .number("rtf", Unit::FACTOR, "e2e / audio_s", |row| real_time_factor(row.log, row, &row.latency)),
        };
        let all = match log.header.engines.len() {
            1 => all,
            _ => all.whole("target", "Place of its server among the run's, from 0", |row| Some(row.target.into())),
        };
        let is_scored = log.header.workload.classes.iter().any(|class| class.scoring().is_some());
        let all = if is_scored {
            all.flag("right", "Its answer is right; empty where it was not scored", |row| Some(row.score?.right)).whole(
                "row",
                "Row of the dataset that its answer was scored by, from 0",
                |row| Some(row.score?.row.into()),
            )
        } else {
            all
        };
        match &log.footer {
            Some(footer) if footer.addresses.iter().any(|used| used.len() > 1) => {
                all.text("address", "Address that it was sent to", |row| {
                    Some(row.log.footer.as_ref()?.address_of(row)?.into())
                })
            }
            _ => all,
        }
    }

    fn tag(all: DataColumns<Self>, key: &str) -> DataColumns<Self> {
        let own = key.to_owned();
        all.text(format!("tag_{key}"), format!("Its tag `{key}`"), move |row| {
            row.log.header.workload.tag_of(row.class, row.tags, &own).map(Cow::Borrowed)
        })
    }

    /// A latency that is known.
    fn exact(all: DataColumns<Self>, metric: Metric) -> DataColumns<Self> {
        // The catalogue calls the number of output tokens N.
        let formula = metric.info().formula.replace('N', "output tokens");
        let read = move |row: &Self| row.latency.get(metric)?.exact();
        all.number(format!("{metric}_ms"), Unit::MILLISECONDS, formula, read)
    }

    /// Adds the least that an unknown latency can be: the request was cut off.
    fn at_least(all: DataColumns<Self>, metric: Metric) -> DataColumns<Self> {
        let meaning = format!("Of one that was cut off: the least that {metric} can be");
        let read = move |row: &Self| row.latency.get(metric)?.bounds().0;
        all.number(format!("{metric}_at_least_ms"), Unit::MILLISECONDS, meaning, read)
    }

    /// Returns the columns that say what was asked of a request, and when what happened.
    fn first_columns() -> DataColumns<Self> {
        DataColumns::<Self>::new()
            .whole("index", "Place in the plan, from 0; of a later turn: turn · 2²⁸ + session", |row| {
                Some(row.index)
            })
            .text("request_id", "What its X-Request-Id was", |row| {
                row.log.header.engine_of(row).ids().id_of(row.index).map(Into::into)
            })
            .text("trace_id", "Id of its trace, where it carried a traceparent", |row| {
                row.log.header.engine_of(row).ids().trace_of(row.index).map(|trace| trace.to_string().into())
            })
            .text("phase", "warmup, measured or cooldown; figures are of measured requests", |row| name(row.phase))
            .text("class", "Name of its class", |row| {
                let classes = &row.log.header.workload.classes;
                named(|place| Some(classes.get(place)?.name.as_str()), Some(row.class))
            })
            .text("priority", "high, medium or low", |row| Some(row.priority.to_string().into()))
            .text("tenant", "Name of its tenant", |row| {
                let tenants = &row.log.header.workload.tenants;
                named(|place| Some(tenants.get(place)?.name.as_str()), row.tenant)
            })
            .text("model", "Model that it requested", |row| match &row.log.header.workload.models {
                Some(models) => named(|place| models.names.get(place).map(String::as_str), row.model),
                None => Some(row.log.header.engine_of(row).model.as_str().into()),
            })
            .whole("session", "Number of its session", |row| Some(row.turn()?.session))
            .whole("turn", "Place in its session, from 0", |row| Some(row.turn()?.number.into()))
            .whole("turns", "Turns of its conversation", |row| Some(row.turn()?.of?.into()))
            .tokens("history_tokens", "Of its prompt: said in turns before", |row| {
                Some(row.turn()?.history_tokens.into())
            })
            .whole("prefix", "Number of the prefix that it shares, from 0", |row| Some(row.prefix?.number.into()))
            .tokens("prefix_tokens", "Length of that prefix", |row| Some(row.prefix?.tokens.into()))
            .at("scheduled_s", "The moment the schedule says", |row| Some(row.scheduled))
            .at("dispatched_s", "The pacer dispatched it", |row| Some(row.dispatched))
            .at("admitted_s", "A slot under the concurrency cap came free", |row| row.admitted)
            .at("sent_s", "It was handed to the socket", |row| row.sent)
            .at("headers_s", "The response status was known", |row| row.headers)
            .at("first_token_s", "The first chunk with text arrived", |row| row.chunks.first_at())
            .at(
                "first_answer_s",
                "The first chunk arrived that was not reasoning, where reasoning came before",
                |row| row.first_answer,
            )
            .at("last_token_s", "The last chunk arrived, or the whole answer that was not streamed", |row| {
                row.chunks.last_at().or(row.whole_answer)
            })
            .at("ended_s", "The stream closed, was cancelled or failed", |row| Some(row.ended))
    }

    /// Returns the columns that say how many tokens a request had, and how it ended.
    fn last_columns(before: DataColumns<Self>) -> DataColumns<Self> {
        before
            .tokens("input_tokens_asked", "Prompt tokens requested", |row| Some(row.input_tokens_asked.into()))
            .tokens("input_tokens", "Prompt tokens by the server's count, chat template included", |row| {
                row.counted_prompt()
            })
            .tokens("cached_tokens", "Those of them from its prefix cache", |row| row.usage?.cached())
            .tokens("output_tokens_asked", "Answer tokens requested", |row| {
                has_tokens(row).then_some(row.output_tokens_asked.into())
            })
            .tokens("output_tokens", "Answer tokens, by the best source there was", |row| {
                has_tokens(row).then_some(row.output_tokens)
            })
            .text("output_tokens_source", "usage, chunk_counts, tokenizer or chunks", |row| {
                name(row.output_tokens_source).filter(|_| has_tokens(row))
            })
            .tokens("reasoning_tokens", "Answer tokens spent on reasoning", |row| row.usage?.reasoning())
            .tokens("hidden_tokens", "Answer tokens whose text the server did not send", |row| {
                has_tokens(row).then_some(row.hidden_tokens.into())
            })
            .whole("chunks", "Chunks with text", |row| has_tokens(row).then_some(row.chunks.len() as u64))
            .whole("merged_reads", "Chunks that arrived in one read with the chunk before them", |row| {
                Some(row.merged_reads.into())
            })
            .flag("opened_connection", "It had to open its own connection", |row| Some(row.opened_connection))
            .flag("resent", "It was sent again: an idle connection was closed as it was sent", |row| {
                Some(row.lost_connection == Some(LostConnection::AsSent))
            })
            .whole("attempts", "How often it was tried, retries and hedges included", |row| Some(row.attempts_made()))
            .flag("leaves", "Its client was to leave before the end: no latency and no SLO counts it", |row| {
                Some(row.leaves)
            })
            .text(
                "outcome",
                "completed, failed, cancelled or censored: still running when the run stopped waiting",
                |row| name(&row.outcome),
            )
            .text("failure", "Why it failed: connect, http_status, truncated, timeout_total, …", |row| {
                name(failure(row)?.reason)
            })
            .whole("http_status", "The status that it failed with", |row| match failure(row)?.reason {
                FailureKind::HttpStatus(status) => Some(status.into()),
                _ => None,
            })
            .text("failure_message", "What the server or the system said of it, shortened", |row| {
                Some(failure(row)?.message.as_str().into())
            })
            .text("finish_reason", "Why the model stopped, in the server's words", |row| {
                match row.finish_reason.as_ref()? {
                    FinishReason::Other(word) => Some(word.into()),
                    known => name(known),
                }
            })
            .flag("slo_met", "It met its SLO; empty where it has none", |row| row.slo_met)
            .text("answer_form", "valid, invalid, cut_at_limit or not_completed, where a form was requested", |row| {
                name(row.validity?)
            })
    }
}

/// Returns why a request failed.
fn failure(record: &RequestRecord) -> Option<&Failure> {
    match &record.outcome {
        Outcome::Failed(failure) => Some(failure),
        Outcome::Completed | Outcome::Cancelled | Outcome::Censored => None,
    }
}

fn longest_gap(row: &RequestRow<'_>) -> Option<f64> {
    let chunks = &row.chunks;
    let later = chunks.iter().skip(1);
    let gaps = chunks.iter().zip(later).map(|(before, after)| after.at.since(before.at));
    gaps.max().map(millis)
}

/// A chunk of an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TokenRow {
    request: u64,
    chunk: u64,
    at: Timestamp,
    tokens: u32,
    gap_ms: Option<f64>,
    itl_ms: Option<f64>,
}

impl TokenRow {
    /// The chunks of an answer, in order.
    pub(super) fn from_record(record: &RequestRecord) -> impl Iterator<Item = Self> + '_ {
        let mut last_chunk = None;
        let mut last_token = None;
        record.chunks.iter().zip(0..).map(move |(chunk, number)| {
            let gap_ms = last_chunk.replace(chunk.at).map(|before| millis(chunk.at.since(before)));
            // A chunk without a whole token ends no gap: its time belongs to the next token. The first chunk
            // begins one, whatever it carries.
            let ends_gap = chunk.tokens > 0 || number == 0;
            let since = if ends_gap { last_token.replace(chunk.at) } else { None };
            let itl_ms = since.map(|before: Timestamp| millis(chunk.at.since(before)) / f64::from(chunk.tokens));
            Self { request: record.index, chunk: number, at: chunk.at, tokens: chunk.tokens, gap_ms, itl_ms }
        })
    }

    /// The table's columns, in their order.
    pub(super) fn columns() -> DataColumns<Self> {
        let of_gap = "Since the token before it, divided by its tokens: itl, once for each of them";
        DataColumns::<Self>::new()
            .whole("request_index", "index of its request", |row| Some(row.request))
            .whole("chunk", "Place in its answer, from 0", |row| Some(row.chunk))
            .at("at_s", "When it arrived", |row| Some(row.at))
            .tokens("tokens", "Tokens that it carried", |row| Some(row.tokens.into()))
            .number("gap_ms", Unit::MILLISECONDS, "Since the chunk before it: chunk_gap", |row| row.gap_ms)
            .number("itl_ms", Unit::MILLISECONDS, of_gap, |row| row.itl_ms)
    }
}
