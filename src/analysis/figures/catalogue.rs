//! The catalogue of figures: everything that a run can be asked about, each with its name, unit, formula and source.
//!
//! Objectives, tables, files and the glossary read it. To add a figure: its row here, the code that computes it
//! (`latency/request.rs` for a latency of a request, `figures/read.rs` for one of the run), and a test.

use std::fmt;

use strum::VariantArray as _;

use super::info::{Direction, Elsewhere, FigureInfo, FigureKind, FigureUnit, Samples};

/// A figure of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, strum::VariantArray)]
pub enum Metric {
    /// Time to first token, from the scheduled moment.
    Ttft,
    /// Time to first token, from sending.
    TtftFromSend,
    /// Time to the first token that is not reasoning, from the scheduled moment; in a closed loop from sending.
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
    /// Requests completed per second that met their SLO; where none has an SLO, all that completed.
    Goodput,
    /// Requests completed per second.
    RequestRate,
    /// Prompt tokens per second.
    InputTokens,
    /// Answer tokens per second.
    OutputTokens,
    /// Answer tokens per second and GPU.
    OutputTokensPerGpu,
    /// Answer tokens per second that one user sees.
    TokensPerUser,
    /// Requests in flight.
    InFlight,
    /// Share of the requests that failed.
    ErrorRate,
    /// Share of the requests that the server refused.
    RejectRate,
    /// Share of the requests that the client's time limits ended.
    TimeoutRate,
    /// Share of the requests with an SLO that met it.
    SloAttainment,
    /// Share of the golden prompts that passed, of those that ended.
    CheckPassRate,
    /// Share of the complete answers that have the form asked for.
    ValidAnswers,
    /// Attempts per request, of clients that retry or hedge.
    Amplification,
}

const fn latency(key: &'static str, title: &'static str, formula: &'static str) -> FigureInfo {
    FigureInfo {
        key,
        field: key,
        title,
        unit: FigureUnit::Milliseconds,
        better: Direction::Less,
        samples: Samples::PerRequest,
        of_parts: false,
        meaning: "",
        formula,
        source: "Skyline",
        elsewhere: &[],
    }
}

const fn rate(key: &'static str, title: &'static str, unit: FigureUnit, formula: &'static str) -> FigureInfo {
    let better = Direction::More;
    FigureInfo { unit, better, samples: Samples::PerRun, ..latency(key, title, formula) }
}

const fn share(
    key: &'static str,
    title: &'static str,
    better: Direction,
    formula: &'static str,
) -> FigureInfo {
    FigureInfo { better, ..rate(key, title, FigureUnit::Share, formula) }
}

/// The catalogue, in the order of reports and of [`Metric`].
const CATALOGUE: [FigureInfo; 25] = [
    FigureInfo {
        of_parts: true,
        meaning: "time to first token, from the scheduled moment; in a closed loop from sending",
        source: "from the scheduled moment, as wrk2 and MLPerf LoadGen: no coordinated omission",
        ..latency("ttft", "TTFT", "first token − scheduled")
    },
    FigureInfo {
        meaning: "time to first token, from sending",
        source: "vLLM bench",
        elsewhere: &[Elsewhere { tool: VLLM, name: "ttft", formula: "first chunk − sent" }],
        ..latency("ttft_from_send", "TTFT from send", "first token − sent")
    },
    FigureInfo {
        meaning: "time to the first token that is not reasoning, from the scheduled moment; in a closed loop from sending",
        ..latency("ttfa", "TTFA", "first token that is not reasoning − scheduled")
    },
    FigureInfo {
        of_parts: true,
        meaning: "time per output token after the first",
        source: "vLLM bench",
        elsewhere: &[
            Elsewhere { tool: VLLM, name: "tpot", formula: TPOT },
            Elsewhere { tool: AIPERF, name: "inter_token_latency", formula: TPOT },
            Elsewhere { tool: NIM, name: "inter_token_latency", formula: TPOT },
        ],
        ..latency("tpot", "TPOT", "(last − first token) / (N − 1)")
    },
    FigureInfo {
        meaning: "time per output token after those of the first chunk",
        ..latency("tpot_adjusted", "TPOT adjusted", "(last − first token) / (N − tokens of the first chunk)")
    },
    FigureInfo {
        samples: Samples::PerGap,
        meaning: "time between tokens",
        ..latency("itl", "ITL", "gap / k, counted k times, of each gap that brings k tokens")
    },
    FigureInfo {
        samples: Samples::PerGap,
        meaning: "time between chunks as they arrived",
        source: "vLLM bench and SGLang, which call it ITL",
        elsewhere: &[
            Elsewhere { tool: VLLM, name: "itl", formula: CHUNK_GAP },
            Elsewhere { tool: SGLANG, name: "itl", formula: CHUNK_GAP },
            Elsewhere { tool: AIPERF, name: "inter_chunk_latency", formula: CHUNK_GAP },
        ],
        ..latency("chunk_gap", "chunk gap", "chunk − the chunk before")
    },
    FigureInfo {
        of_parts: true,
        meaning: "end-to-end latency, from the scheduled moment; in a closed loop from sending",
        source: "from the scheduled moment, as wrk2 and MLPerf LoadGen: no coordinated omission",
        ..latency("e2e", "e2e", "last token − scheduled")
    },
    FigureInfo {
        meaning: "end-to-end latency, from sending",
        source: "vLLM bench",
        elsewhere: &[Elsewhere { tool: VLLM, name: "e2el", formula: "last chunk − sent" }],
        ..latency("e2e_from_send", "e2e from send", "last token − sent")
    },
    FigureInfo {
        meaning: "how late the client dispatched requests",
        ..latency("schedule_lag", "schedule lag", "dispatched − scheduled")
    },
    FigureInfo {
        meaning: "wait for a slot under the concurrency cap",
        ..latency("queue_wait", "queue wait", "admitted − dispatched, under --max-concurrency")
    },
    FigureInfo {
        field: "goodput_per_s",
        of_parts: true,
        meaning: "requests whose answer was complete in the window and met their SLO; where none has an SLO, all of them",
        source: "DistServe (OSDI 2024)",
        ..rate(
            "goodput",
            "goodput",
            FigureUnit::RequestsPerSecond,
            "answers completed in the window that met their SLO / window",
        )
    },
    FigureInfo {
        field: "completed_requests_per_s",
        meaning: "requests whose answer was complete in the window",
        ..rate(
            "request_rate",
            "requests",
            FigureUnit::RequestsPerSecond,
            "answers completed in the window / window",
        )
    },
    FigureInfo {
        meaning: "prompt tokens of the requests whose first token arrived in the window",
        ..rate("input_tokens_per_s", "input tokens", FigureUnit::TokensPerSecond, "prompt tokens / window")
    },
    FigureInfo {
        meaning: "answer tokens that arrived in the window",
        ..rate("output_tokens_per_s", "output tokens", FigureUnit::TokensPerSecond, "answer tokens / window")
    },
    FigureInfo {
        meaning: "answer tokens that arrived in the window, per GPU; absent where their number is not declared",
        ..rate(
            "output_tokens_per_s_per_gpu",
            "output tokens/s per GPU",
            FigureUnit::TokensPerSecond,
            "answer tokens / window / GPUs",
        )
    },
    FigureInfo {
        meaning: "answer tokens per second that one user sees",
        ..rate("tokens_per_s_per_user", "tokens/s per user", FigureUnit::TokensPerSecond, "1 s / median TPOT")
    },
    FigureInfo {
        better: Direction::Less,
        meaning: "requests waiting or in flight, on average over the window",
        ..rate("in_flight", "in flight", FigureUnit::Requests, "time of all requests in flight / window")
    },
    FigureInfo {
        of_parts: true,
        meaning: "requests that failed, of those scheduled in the window",
        ..share("error_rate", "errors", Direction::Less, "failed / scheduled")
    },
    FigureInfo {
        of_parts: true,
        meaning: "requests that the server refused (429, 503), of those scheduled in the window",
        ..share("reject_rate", "rejects", Direction::Less, "refused / scheduled")
    },
    FigureInfo {
        of_parts: true,
        meaning: "requests that the client's time limits ended, of those scheduled in the window",
        ..share("timeout_rate", "timeouts", Direction::Less, "timed out / scheduled")
    },
    FigureInfo {
        of_parts: true,
        meaning: "requests that met all bounds of their SLO, of those that have one",
        source: "failed, censored and unsent requests count as misses",
        ..share("slo_attainment", "SLO attainment", Direction::More, "met / scheduled with an SLO")
    },
    FigureInfo {
        meaning: "golden prompts that passed, of those that ended",
        ..share("check_pass_rate", "checks passed", Direction::More, "passed / ended")
    },
    FigureInfo {
        meaning: "answers of the requested form, of those that were complete",
        ..share("valid_answers", "valid answers", Direction::More, "valid / complete answers with a form")
    },
    FigureInfo {
        better: Direction::Less,
        meaning: "attempts per request, of clients that retry or hedge; absent where each request is sent once",
        source: "Google, Site Reliability Engineering (2016), chapter 22: retries amplify an overload",
        ..rate("amplification", "attempts per request", FigureUnit::Requests, "attempts / requests")
    },
];

const VLLM: &str = "vllm bench";
const SGLANG: &str = "sglang bench_serving";
const AIPERF: &str = "aiperf";
const NIM: &str = "nim";
/// The tools that have other names for figures.
pub(super) const TOOLS: [&str; 4] = [VLLM, SGLANG, AIPERF, NIM];
const TPOT: &str = "(last − first chunk) / (N − 1)";
const CHUNK_GAP: &str = "gap between chunks";

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

    /// The same with the gaps between tokens.
    pub const MAIN_AND_ITL: [Self; 4] = [Self::Ttft, Self::Tpot, Self::Itl, Self::E2e];

    /// Its row of the catalogue.
    pub const fn info(self) -> &'static FigureInfo {
        &CATALOGUE[self as usize]
    }

    /// Its name in objectives.
    pub const fn name(self) -> &'static str {
        self.info().key
    }

    /// Its name in files.
    pub const fn field(self) -> &'static str {
        self.info().field
    }

    /// Its name in headings.
    pub const fn title(self) -> &'static str {
        self.info().title
    }

    /// Its kind.
    pub const fn kind(self) -> FigureKind {
        match self.info().unit {
            FigureUnit::Milliseconds => FigureKind::Latency,
            FigureUnit::RequestsPerSecond | FigureUnit::TokensPerSecond => FigureKind::Rate,
            FigureUnit::Share => FigureKind::Share,
            FigureUnit::Requests => FigureKind::Count,
        }
    }

    /// Whether each request has one at most: gaps inside an answer are many.
    pub const fn is_one_per_request(self) -> bool {
        matches!(self.info().samples, Samples::PerRequest)
    }

    /// Whether it counts requests that failed.
    pub const fn counts_failures(self) -> bool {
        matches!((self.kind(), self.info().better), (FigureKind::Share, Direction::Less))
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
    use super::*;

    #[test]
    fn every_figure_has_its_own_row() {
        for (place, metric) in Metric::ALL.iter().copied().enumerate() {
            assert_eq!(metric as usize, place);
            let FigureInfo { key, field, title, meaning, formula, source, .. } = *metric.info();
            assert!(
                [key, field, title, meaning, formula, source].iter().all(|text| !text.is_empty()),
                "{key}"
            );
            assert_eq!((Metric::named(key), Metric::named(field)), (Some(metric), Some(metric)));
        }
        assert!(Metric::LATENCIES.iter().all(|metric| metric.kind() == FigureKind::Latency));
        assert_eq!(Metric::named("e2el"), Some(Metric::E2e));
        let latencies = Metric::ALL.iter().filter(|metric| metric.kind() == FigureKind::Latency);
        assert_eq!(latencies.count(), Metric::LATENCIES.len());
    }
}
