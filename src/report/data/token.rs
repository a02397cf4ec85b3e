//! The table of tokens: every chunk of every answer, with the silence before it.

use super::column::{DataColumn, at, ms, tokens, whole};
use crate::clock::Timestamp;
use crate::record::RequestRecord;
use crate::units::millis;

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
    pub(super) fn of(record: &RequestRecord) -> impl Iterator<Item = Self> + '_ {
        let mut last_chunk = None;
        let mut last_token = None;
        record.chunks.iter().zip(0..).map(move |(chunk, number)| {
            let gap_ms = last_chunk.replace(chunk.at).map(|before| millis(chunk.at.since(before)));
            // A chunk without a whole token ends no gap: its time belongs to the next token. The first chunk begins one,
            // whatever it carries.
            let ends_gap = chunk.tokens > 0 || number == 0;
            let since = if ends_gap { last_token.replace(chunk.at) } else { None };
            let itl_ms =
                since.map(|before: Timestamp| millis(chunk.at.since(before)) / f64::from(chunk.tokens));
            Self { request: record.index, chunk: number, at: chunk.at, tokens: chunk.tokens, gap_ms, itl_ms }
        })
    }

    /// The table's columns, in their order.
    pub(super) fn columns() -> Vec<DataColumn<Self>> {
        let of_gap = "Since the token before it, divided by its tokens: itl, once for each of them";
        vec![
            whole("request_index", "index of its request", |row| Some(row.request)),
            whole("chunk", "Place in its answer, from 0", |row| Some(row.chunk)),
            at("at_s", "When it arrived", |row: &Self| Some(row.at)),
            tokens("tokens", "Tokens that it carried", |row| Some(row.tokens.into())),
            ms("gap_ms", "Since the chunk before it: chunk_gap", |row: &Self| row.gap_ms),
            ms("itl_ms", of_gap, |row: &Self| row.itl_ms),
        ]
    }
}
