//! The latencies by name.

use std::fmt;

/// A latency that a run is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Metric {
    /// Time to first token, from the scheduled moment.
    Ttft,
    /// Time to first token, from sending.
    TtftFromSend,
    /// Time to the first token that is not reasoning, from the scheduled moment.
    Ttfa,
    /// Time per output token after the first.
    Tpot,
    /// Time per output token after those of the first chunk.
    TpotAdjusted,
    /// Inter-token latency, token-weighted.
    Itl,
    /// Time between chunks as they arrived.
    ChunkGap,
    /// End-to-end latency, from the scheduled moment.
    E2e,
    /// End-to-end latency, from sending.
    E2eFromSend,
    /// How late requests were let go.
    ScheduleLag,
    /// Wait for a slot under a concurrency cap.
    QueueWait,
}

impl Metric {
    /// All of them, in the order of the report.
    pub const ALL: [Self; 11] = [
        Self::Ttft,
        Self::TtftFromSend,
        Self::Ttfa,
        Self::Tpot,
        Self::TpotAdjusted,
        Self::Itl,
        Self::ChunkGap,
        Self::E2e,
        Self::E2eFromSend,
        Self::ScheduleLag,
        Self::QueueWait,
    ];

    /// Whether each request has one at most: gaps inside an answer are many.
    #[must_use]
    pub const fn is_one_per_request(self) -> bool {
        !matches!(self, Self::Itl | Self::ChunkGap)
    }

    /// Its name in JSON and in objectives.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ttft => "ttft",
            Self::TtftFromSend => "ttft_from_send",
            Self::Ttfa => "ttfa",
            Self::Tpot => "tpot",
            Self::TpotAdjusted => "tpot_adjusted",
            Self::Itl => "itl",
            Self::ChunkGap => "chunk_gap",
            Self::E2e => "e2e",
            Self::E2eFromSend => "e2e_from_send",
            Self::ScheduleLag => "schedule_lag",
            Self::QueueWait => "queue_wait",
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
