//! An answer from another tool's file, and the latencies of many.

use super::figures::{ForeignFigures, ForeignLatency};
use crate::analysis::{LatencyRow, Metric};

/// The times of one completed request, milliseconds; absent where unknown.
#[allow(clippy::struct_field_names)] // the unit
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ForeignAnswer {
    /// From sending to the first token.
    pub(super) ttft_ms: Option<f64>,
    /// From sending to the last token.
    pub(super) e2e_ms: Option<f64>,
    /// Time per output token after the first, or after those of the first chunk.
    pub(super) tpot_ms: Option<f64>,
    /// The gaps between its chunks, or its tokens.
    pub(super) gaps_ms: Vec<f64>,
}

/// (last − first token) / (N − 1), for at least two tokens.
pub(super) fn tpot_ms(e2e_ms: Option<f64>, ttft_ms: Option<f64>, tokens: Option<u64>) -> Option<f64> {
    let left = tokens?.checked_sub(1).filter(|&left| left > 0)?;
    let decode = e2e_ms? - ttft_ms?;
    (decode >= 0.0).then(|| decode / left as f64)
}

/// The latencies of answers in order of sending, each under our name and the tool's. Those without samples are left
/// out.
pub(super) fn latencies(answers: &[ForeignAnswer], names: &[(Metric, &'static str)]) -> Vec<ForeignLatency> {
    let each = |read: fn(&ForeignAnswer) -> Option<f64>| -> Option<LatencyRow> {
        LatencyRow::in_order(&answers.iter().filter_map(read).collect::<Vec<_>>())
    };
    let row = |metric| match metric {
        Metric::TtftFromSend => each(|answer| answer.ttft_ms),
        Metric::E2eFromSend => each(|answer| answer.e2e_ms),
        Metric::Tpot | Metric::TpotAdjusted => each(|answer| answer.tpot_ms),
        Metric::Itl | Metric::ChunkGap => {
            LatencyRow::of_gaps(&answers.iter().map(|answer| answer.gaps_ms.as_slice()).collect::<Vec<_>>())
        }
        _ => None,
    };
    let latency = |&(metric, theirs)| {
        let figures = ForeignFigures::Computed(Box::new(row(metric)?));
        Some(ForeignLatency { metric, theirs, figures })
    };
    names.iter().filter_map(latency).collect()
}
