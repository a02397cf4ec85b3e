//! The catalogue of figures: everything that a run can be asked about, each with its name, unit, formula and source.
//!
//! Objectives, tables, files and the glossary read it. To add a figure: its name here and its row in
//! `rows.rs`, in the same order, the code that computes it (`requests/latency.rs` for a latency of a request,
//! `summary/read.rs` for one of the run), and a test.

use std::fmt;

use strum::VariantArray as _;

use super::info::{Direction, FigureInfo, FigureKind, Samples};
use super::rows::CATALOGUE;
use super::unit::Unit;

/// A figure of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, strum::VariantArray)]
pub enum Metric {
    /// Time to first token, from the scheduled moment.
    Ttft,
    /// Time to first token, from sending.
    TtftFromSend,
    /// Time to the first token that is not reasoning, from the scheduled moment. In a closed loop it is from sending.
    Ttfa,
    /// Time per output token after the first.
    Tpot,
    /// Time per output token after those of the first chunk.
    TpotAdjusted,
    /// Inter-token latency, token-weighted.
    Itl,
    /// Time between chunks as they arrived.
    ChunkGap,
    /// End-to-end latency, from the scheduled moment; in a closed loop from sending.
    E2e,
    /// End-to-end latency, from sending.
    E2eFromSend,
    /// How late requests were dispatched.
    ScheduleLag,
    /// Wait for a slot under a concurrency cap.
    QueueWait,
    /// Requests completed per second that met their SLO. Where none has an SLO, all that completed count.
    Goodput,
    /// Requests completed per second.
    RequestRate,
    /// Inputs answered per second, of requests that have several at once.
    Inputs,
    /// Seconds of audio answered per second.
    AudioSeconds,
    /// Prompt tokens per second.
    InputTokens,
    /// Answer tokens per second, of answers that did not fail.
    OutputTokens,
    /// Answer tokens per second, of all answers.
    ArrivedOutputTokens,
    /// Answer tokens per second and GPU.
    OutputTokensPerGpu,
    /// Answer tokens per second that one user sees.
    TokensPerUser,
    /// Answer tokens per second of a request, its wait included: the median.
    TokensPerRequest,
    /// Answer tokens per second of the slowest requests, their wait included. 19 in 20 requests are at least this fast.
    SlowTokensPerRequest,
    /// Time of a request over that of its audio: the median.
    RealTimeFactor,
    /// Time of the slowest requests over that of their audio. 19 in 20 requests are at most this slow.
    SlowRealTimeFactor,
    /// Answer tokens of a complete answer: the mean.
    AnswerTokens,
    /// Requests in flight.
    InFlight,
    /// Requests that the server runs: the mean.
    Running,
    /// Requests that wait in the server: the mean.
    Waiting,
    /// Share of the key-value cache in use: the largest.
    KvUsage,
    /// Share of the prompt tokens that the server's prefix cache found.
    PrefixHits,
    /// Share of the requests that failed.
    ErrorRate,
    /// Share of the requests that the server refused.
    RejectRate,
    /// Share of the requests that the client's time limits ended.
    TimeoutRate,
    /// Share of the requests with an SLO that met it.
    SloAttainment,
    /// Share of the answer tokens that came later than their SLO allows.
    DeadlineMiss,
    /// Share of the requests with at least one such token.
    DeadlineMissRequests,
    /// Share of the prompt tokens that a cache should have found and did not.
    CacheLoss,
    /// Share of the golden prompts that passed, of those that ended.
    CheckPassRate,
    /// Share of the complete answers that have the form asked for.
    ValidAnswers,
    /// Share of the scored answers that are right.
    Accuracy,
    /// Attempts per request, of clients that retry or hedge.
    Amplification,
    /// Price of a million answer tokens.
    CostPerMillionOutputTokens,
    /// Price of a complete answer.
    CostPerAnswer,
    /// Price of an acceptable answer.
    CostPerAcceptableAnswer,
    /// Energy of a million answer tokens.
    EnergyPerMillionOutputTokens,
    /// Energy of a complete answer.
    EnergyPerAnswer,
    /// Energy of an acceptable answer.
    EnergyPerAcceptableAnswer,
}

impl Metric {
    /// All figures, in the order of the catalogue.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// The latencies among them.
    pub const LATENCIES: [Self; 11] = {
        let mut all = [Self::Ttft; 11];
        let mut at = 0;
        while at < all.len() {
            all[at] = Self::ALL[at];
            at += 1;
        }
        all
    };

    /// The latencies of a request that a user feels: every table leads with them.
    pub const MAIN: [Self; 3] = [Self::Ttft, Self::Tpot, Self::E2e];

    /// Latencies that a user feels, with the gaps between tokens.
    pub const MAIN_AND_ITL: [Self; 4] = [Self::Ttft, Self::Tpot, Self::Itl, Self::E2e];

    /// Returns whether the figure is a pace at which tokens come. A pace depends on how many requests are in flight.
    pub(crate) const fn is_pace(self) -> bool {
        matches!(self, Self::Tpot | Self::TpotAdjusted | Self::Itl | Self::ChunkGap)
    }

    /// Returns whether the figure is of tokens of answers. Answers such as vectors have none.
    pub(crate) const fn is_of_answer_tokens(self) -> bool {
        matches!(
            self,
            Self::Ttft
                | Self::TtftFromSend
                | Self::Ttfa
                | Self::OutputTokens
                | Self::ArrivedOutputTokens
                | Self::OutputTokensPerGpu
                | Self::TokensPerUser
                | Self::TokensPerRequest
                | Self::SlowTokensPerRequest
                | Self::AnswerTokens
                | Self::DeadlineMiss
                | Self::DeadlineMissRequests
                | Self::CostPerMillionOutputTokens
                | Self::EnergyPerMillionOutputTokens
        ) || self.is_pace()
    }

    /// Whether the figure is of audio. Requests without any have none.
    pub(crate) const fn is_of_audio(self) -> bool {
        matches!(self, Self::AudioSeconds | Self::RealTimeFactor | Self::SlowRealTimeFactor)
    }

    /// Costs of the answers of a run, in money and in energy.
    pub const COSTS: [Self; 6] = [
        Self::CostPerMillionOutputTokens,
        Self::CostPerAnswer,
        Self::CostPerAcceptableAnswer,
        Self::EnergyPerMillionOutputTokens,
        Self::EnergyPerAnswer,
        Self::EnergyPerAcceptableAnswer,
    ];

    /// Figures that the server reports of itself.
    pub const OF_SERVER: [Self; 4] = [Self::Running, Self::Waiting, Self::KvUsage, Self::PrefixHits];

    /// Returns the figure's row of the catalogue.
    pub const fn info(self) -> &'static FigureInfo {
        &CATALOGUE[self as usize]
    }

    /// Returns the figure's name in objectives.
    pub const fn name(self) -> &'static str {
        self.info().key
    }

    /// Returns the figure's name in files.
    pub const fn field(self) -> &'static str {
        self.info().field
    }

    /// Returns the figure's name in headings.
    pub const fn title(self) -> &'static str {
        self.info().title
    }

    /// Returns the figure's kind.
    pub fn kind(self) -> FigureKind {
        match self.info().unit {
            Unit::MILLISECONDS => FigureKind::Latency,
            Unit::REQUESTS_PER_SECOND | Unit::INPUTS_PER_SECOND | Unit::AUDIO_PER_SECOND | Unit::TOKENS_PER_SECOND => {
                FigureKind::Rate
            }
            Unit::SHARE => FigureKind::Share,
            Unit::MONEY | Unit::JOULES => FigureKind::Cost,
            _ => FigureKind::Count,
        }
    }

    /// Whether each request has one at most: gaps inside an answer are many.
    pub const fn is_one_per_request(self) -> bool {
        matches!(self.info().samples, Samples::PerRequest)
    }

    /// Whether it counts requests that failed.
    pub fn counts_failures(self) -> bool {
        let is_other =
            matches!(self, Self::DeadlineMiss | Self::DeadlineMissRequests | Self::CacheLoss | Self::KvUsage);
        !is_other && matches!((self.kind(), self.info().better), (FigureKind::Share, Direction::Less))
    }

    /// The figure with this name, in objectives or in files.
    pub(super) fn named(name: &str) -> Option<Self> {
        let name = if name == "e2el" { "e2e" } else { name };
        Self::ALL.iter().copied().find(|metric| metric.name() == name || metric.field() == name)
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    //! Every figure has its row.

    use super::*;

    #[test]
    fn every_figure_has_its_own_row() {
        for (place, metric) in Metric::ALL.iter().copied().enumerate() {
            assert_eq!(metric as usize, place);
            let FigureInfo { key, field, title, meaning, formula, source, .. } = *metric.info();
            assert!([key, field, title, meaning, formula, source].iter().all(|text| !text.is_empty()), "{key}");
            assert_eq!((Metric::named(key), Metric::named(field)), (Some(metric), Some(metric)));
        }
        assert!(Metric::LATENCIES.iter().all(|metric| metric.kind() == FigureKind::Latency));
        assert_eq!(Metric::named("e2el"), Some(Metric::E2e));
        let latencies = Metric::ALL.iter().filter(|metric| metric.kind() == FigureKind::Latency);
        assert_eq!(latencies.count(), Metric::LATENCIES.len());
        let costs = Metric::ALL.iter().copied().filter(|metric| metric.kind() == FigureKind::Cost);
        assert_eq!(costs.collect::<Vec<_>>(), Metric::COSTS);
    }
}
