//! The columns of a request's latencies: those that are known, and the least that the others can be.

use super::column::DataColumn;
use super::request::RequestRow;
use crate::analysis::Figure;
use crate::units::millis;

fn exact(figure: Option<Figure>) -> Option<f64> {
    figure?.exact()
}

/// The least that a latency can be which is not known, because the request was cut off.
fn bound(figure: Option<Figure>) -> Option<f64> {
    figure.filter(|figure| figure.exact().is_none()).map(Figure::at_least)
}

impl RequestRow<'_> {
    pub(super) const SCHEDULE_LAG: DataColumn<Self> =
        DataColumn::ms("schedule_lag_ms", "dispatched − scheduled", |row| exact(row.latency.schedule_lag));
    pub(super) const QUEUE_WAIT: DataColumn<Self> =
        DataColumn::ms("queue_wait_ms", "admitted − dispatched", |row| exact(row.latency.queue_wait));
    pub(super) const TTFT: DataColumn<Self> =
        DataColumn::ms("ttft_ms", "first token − scheduled", |row| exact(row.latency.ttft));
    pub(super) const TTFT_FROM_SEND: DataColumn<Self> =
        DataColumn::ms("ttft_from_send_ms", "first token − sent", |row| exact(row.latency.ttft_from_send));
    pub(super) const TTFA: DataColumn<Self> =
        DataColumn::ms("ttfa_ms", "first answer − scheduled", |row| exact(row.latency.ttfa));
    pub(super) const TPOT: DataColumn<Self> =
        DataColumn::ms("tpot_ms", "(last − first token) / (output tokens − 1)", |row| {
            exact(row.latency.tpot)
        });
    pub(super) const TPOT_ADJUSTED: DataColumn<Self> = DataColumn::ms(
        "tpot_adjusted_ms",
        "(last − first token) / (output tokens − tokens of the first chunk), where that has several",
        |row| exact(row.latency.tpot_adjusted),
    );
    pub(super) const LONGEST_GAP: DataColumn<Self> =
        DataColumn::ms("longest_gap_ms", "The longest silence between two of its chunks", longest_gap);
    pub(super) const E2E: DataColumn<Self> =
        DataColumn::ms("e2e_ms", "last token − scheduled", |row| exact(row.latency.e2e));
    pub(super) const E2E_FROM_SEND: DataColumn<Self> =
        DataColumn::ms("e2e_from_send_ms", "last token − sent", |row| exact(row.latency.e2e_from_send));

    pub(super) const QUEUE_WAIT_AT_LEAST: DataColumn<Self> = DataColumn::ms(
        "queue_wait_at_least_ms",
        "Of one that was cut off: the least that queue_wait can be",
        |row| bound(row.latency.queue_wait),
    );
    pub(super) const TTFT_AT_LEAST: DataColumn<Self> =
        DataColumn::ms("ttft_at_least_ms", "The same of ttft", |row| bound(row.latency.ttft));
    pub(super) const TTFT_FROM_SEND_AT_LEAST: DataColumn<Self> =
        DataColumn::ms("ttft_from_send_at_least_ms", "The same of ttft_from_send", |row| {
            bound(row.latency.ttft_from_send)
        });
    pub(super) const TTFA_AT_LEAST: DataColumn<Self> =
        DataColumn::ms("ttfa_at_least_ms", "The same of ttfa, where other answers reasoned", |row| {
            bound(row.latency.ttfa)
        });
    pub(super) const TPOT_AT_LEAST: DataColumn<Self> =
        DataColumn::ms("tpot_at_least_ms", "The same of tpot", |row| bound(row.latency.tpot));
    pub(super) const TPOT_ADJUSTED_AT_LEAST: DataColumn<Self> =
        DataColumn::ms("tpot_adjusted_at_least_ms", "The same of tpot_adjusted", |row| {
            bound(row.latency.tpot_adjusted)
        });
    pub(super) const E2E_AT_LEAST: DataColumn<Self> =
        DataColumn::ms("e2e_at_least_ms", "The same of e2e", |row| bound(row.latency.e2e));
    pub(super) const E2E_FROM_SEND_AT_LEAST: DataColumn<Self> =
        DataColumn::ms("e2e_from_send_at_least_ms", "The same of e2e_from_send", |row| {
            bound(row.latency.e2e_from_send)
        });
}

fn longest_gap(row: &RequestRow<'_>) -> Option<f64> {
    let chunks = &row.record.chunks;
    let later = chunks.iter().skip(1);
    let gaps = chunks.iter().zip(later).map(|(before, after)| after.at.since(before.at));
    gaps.max().map(millis)
}
