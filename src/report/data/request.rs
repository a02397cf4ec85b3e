//! The table of requests: who asked, when what came, how long it took, and how it ended.

use std::borrow::Cow;

use super::column::DataColumn;
use crate::analysis::RequestLatency;
use crate::clock::Timestamp;
use crate::record::{
    FailureKind, FinishReason, Outcome, Phase, RequestRecord, RunLog, TokenSource, Validity,
};

/// A request of a run, with what analysis says of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestRow<'a> {
    pub(super) log: &'a RunLog,
    pub(super) record: &'a RequestRecord,
    pub(super) latency: RequestLatency,
    /// Whether it kept its promise; absent where it was promised nothing, or nobody can tell.
    pub(super) slo_met: Option<bool>,
}

impl<'a> RequestRow<'a> {
    /// The row of `record`, a request of `log`.
    pub(super) fn of(log: &'a RunLog, record: &'a RequestRecord) -> Self {
        let (latency, slo_met) = crate::analysis::of_request(log, record);
        Self { log, record, latency, slo_met }
    }
}

/// The requests of a run, in order of their scheduled moments.
pub(super) fn in_order(log: &RunLog) -> Vec<&RequestRecord> {
    let mut records: Vec<_> = log.records.iter().collect();
    records.sort_unstable_by_key(|record| (record.scheduled, record.index));
    records
}

fn secs(at: Option<Timestamp>) -> Option<f64> {
    at.map(Timestamp::as_secs_f64)
}

/// The name in a list of the workload at this place.
fn named<'r>(names: impl Fn(usize) -> Option<&'r str>, place: Option<u16>) -> Option<Cow<'r, str>> {
    names(usize::from(place?)).map(Cow::Borrowed)
}

impl<'a> RequestRow<'a> {
    /// The table's columns, in their order.
    pub(super) const COLUMNS: &'a [DataColumn<Self>] = &[
        DataColumn::whole(
            "index",
            "Place in the plan, from 0; of a later turn: turn · 2²⁸ + session",
            |row| Some(row.record.index),
        ),
        DataColumn::text("request_id", "What its X-Request-Id was", |row| {
            let prefix = &row.log.header.engine.request_id_prefix;
            (!prefix.is_empty()).then(|| format!("{prefix}{:012x}", row.record.index).into())
        }),
        DataColumn::text("phase", "warmup, measured or cooldown; figures are of measured requests", |row| {
            Some(phase(row.record.phase).into())
        }),
        DataColumn::text("class", "Name of its class", |row| {
            let classes = &row.log.header.workload.classes;
            named(|place| Some(classes.get(place)?.name.as_str()), Some(row.record.class))
        }),
        DataColumn::text("priority", "high, medium or low", |row| {
            Some(row.record.priority.to_string().into())
        }),
        DataColumn::text("tenant", "Name of its tenant", |row| {
            let tenants = &row.log.header.workload.tenants;
            named(|place| Some(tenants.get(place)?.name.as_str()), row.record.tenant)
        }),
        DataColumn::text("model", "Model that it asked for", |row| match &row.log.header.workload.models {
            Some(models) => named(|place| models.names.get(place).map(String::as_str), row.record.model),
            None => Some(row.log.header.engine.model.as_str().into()),
        }),
        DataColumn::whole("session", "Number of its session", |row| Some(row.record.turn?.session)),
        DataColumn::whole("turn", "Place in its session, from 0", |row| Some(row.record.turn?.number.into())),
        DataColumn::whole("turns", "Turns of its conversation", |row| Some(row.record.turn?.of?.into())),
        DataColumn::tokens("history_tokens", "Of its prompt: said in turns before", |row| {
            Some(row.record.turn?.history_tokens.into())
        }),
        DataColumn::whole("prefix", "Number of the prefix that it shares, from 0", |row| {
            Some(row.record.prefix?.number.into())
        }),
        DataColumn::tokens("prefix_tokens", "Length of that prefix", |row| {
            Some(row.record.prefix?.tokens.into())
        }),
        DataColumn::at("scheduled_s", "The moment the schedule says", |row| secs(Some(row.record.scheduled))),
        DataColumn::at("dispatched_s", "The pacer let it go", |row| secs(Some(row.record.dispatched))),
        DataColumn::at("admitted_s", "A place under the concurrency cap came free", |row| {
            secs(row.record.admitted)
        }),
        DataColumn::at("sent_s", "It was handed to the socket", |row| secs(row.record.sent)),
        DataColumn::at("headers_s", "The response status was known", |row| secs(row.record.headers)),
        DataColumn::at("first_token_s", "The first chunk with text arrived", |row| {
            secs(row.record.chunks.first_at())
        }),
        DataColumn::at(
            "first_answer_s",
            "The first chunk arrived that was not reasoning, where reasoning came before",
            |row| secs(row.record.first_answer),
        ),
        DataColumn::at(
            "last_token_s",
            "The last chunk arrived, or the whole answer that was not streamed",
            |row| secs(row.record.chunks.last_at().or(row.record.whole_answer)),
        ),
        DataColumn::at("ended_s", "The stream closed, was cancelled or failed", |row| {
            secs(Some(row.record.ended))
        }),
        Self::SCHEDULE_LAG,
        Self::QUEUE_WAIT,
        Self::TTFT,
        Self::TTFT_FROM_SEND,
        Self::TTFA,
        Self::TPOT,
        Self::TPOT_ADJUSTED,
        Self::LONGEST_GAP,
        Self::E2E,
        Self::E2E_FROM_SEND,
        DataColumn::tokens("input_tokens_asked", "Prompt tokens asked for", |row| {
            Some(row.record.input_tokens_asked.into())
        }),
        DataColumn::tokens(
            "input_tokens",
            "Prompt tokens by the server's count, chat template included",
            |row| Some(row.record.usage?.prompt_tokens),
        ),
        DataColumn::tokens("cached_tokens", "Those of them from its prefix cache", |row| {
            row.record.usage?.cached_tokens
        }),
        DataColumn::tokens("output_tokens_asked", "Answer tokens asked for", |row| {
            Some(row.record.output_tokens_asked.into())
        }),
        DataColumn::tokens("output_tokens", "Answer tokens, by the best source there was", |row| {
            Some(row.record.output_tokens)
        }),
        DataColumn::text("output_tokens_source", "usage, chunk_counts, tokenizer or chunks", |row| {
            Some(source(row.record.output_tokens_source).into())
        }),
        DataColumn::tokens("reasoning_tokens", "Answer tokens spent on reasoning", |row| {
            row.record.usage?.reasoning_tokens
        }),
        DataColumn::whole("chunks", "Chunks with text", |row| Some(row.record.chunks.len() as u64)),
        DataColumn::whole("merged_reads", "Chunks that came in one read with the chunk before them", |row| {
            Some(row.record.merged_reads.into())
        }),
        DataColumn::flag("opened_connection", "It had to open its own connection", |row| {
            Some(row.record.opened_connection)
        }),
        DataColumn::text(
            "outcome",
            "completed, failed or censored: still running when the run stopped waiting",
            |row| Some(outcome(&row.record.outcome).into()),
        ),
        DataColumn::text(
            "failure",
            "Why it failed: connect, http_status, truncated, timeout_total, …",
            |row| Some(failure(row.record)?.0.into()),
        ),
        DataColumn::whole("http_status", "The status that it failed with", |row| {
            match failure_kind(row.record)? {
                FailureKind::HttpStatus(status) => Some(status.into()),
                _ => None,
            }
        }),
        DataColumn::text("failure_message", "What the server or the system said of it, shortened", |row| {
            Some(failure(row.record)?.1.into())
        }),
        DataColumn::text("finish_reason", "Why the model stopped, in the server's words", |row| {
            row.record.finish_reason.as_ref().map(finish)
        }),
        DataColumn::flag("slo_met", "It kept its promise; empty where it was promised nothing", |row| {
            row.slo_met
        }),
        DataColumn::text(
            "answer_form",
            "valid, invalid, cut_at_limit or not_completed, where a form was asked for",
            |row| Some(form(row.record.validity?).into()),
        ),
        Self::QUEUE_WAIT_AT_LEAST,
        Self::TTFT_AT_LEAST,
        Self::TTFT_FROM_SEND_AT_LEAST,
        Self::TTFA_AT_LEAST,
        Self::TPOT_AT_LEAST,
        Self::TPOT_ADJUSTED_AT_LEAST,
        Self::E2E_AT_LEAST,
        Self::E2E_FROM_SEND_AT_LEAST,
    ];
}

const fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Warmup => "warmup",
        Phase::Measured => "measured",
        Phase::Cooldown => "cooldown",
    }
}

const fn source(source: TokenSource) -> &'static str {
    match source {
        TokenSource::Usage => "usage",
        TokenSource::ChunkCounts => "chunk_counts",
        TokenSource::Tokenizer => "tokenizer",
        TokenSource::Chunks => "chunks",
    }
}

const fn outcome(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Completed => "completed",
        Outcome::Failed(_) => "failed",
        Outcome::Censored => "censored",
    }
}

fn failure_kind(record: &RequestRecord) -> Option<FailureKind> {
    match &record.outcome {
        Outcome::Failed(failure) => Some(failure.reason),
        Outcome::Completed | Outcome::Censored => None,
    }
}

/// The kind of a failure and what was said of it.
fn failure(record: &RequestRecord) -> Option<(&'static str, &str)> {
    let Outcome::Failed(failure) = &record.outcome else { return None };
    Some((failure.reason.into(), &failure.message))
}

fn finish(reason: &FinishReason) -> Cow<'_, str> {
    match reason {
        FinishReason::Stop => "stop".into(),
        FinishReason::Length => "length".into(),
        FinishReason::ToolCalls => "tool_calls".into(),
        FinishReason::ContentFilter => "content_filter".into(),
        FinishReason::Other(word) => word.into(),
    }
}

const fn form(validity: Validity) -> &'static str {
    match validity {
        Validity::Valid => "valid",
        Validity::Invalid { .. } => "invalid",
        Validity::CutAtLimit => "cut_at_limit",
        Validity::NotCompleted => "not_completed",
    }
}
