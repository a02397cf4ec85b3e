//! How trace files are written, and where their clocks begin.

use serde::{Deserialize, Serialize};

/// How a trace file is written. All lines are read one by one; columns of CSV files are found by their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TraceFormat {
    /// JSON lines of Mooncake (github.com/kvcache-ai/Mooncake, FAST25-release/traces): `timestamp` in milliseconds,
    /// `input_length`, `output_length`, `hash_ids` of 512 tokens each.
    Mooncake,
    /// CSV of Azure's language-model traces (github.com/Azure/AzurePublicDataset: 2023, 2024, and the multimodal one
    /// of 2025): `TIMESTAMP` as a date, `ContextTokens`, `GeneratedTokens`; `NumImages` is read over.
    Azure,
    /// CSV of `BurstGPT` (github.com/HPMLL/BurstGPT): `Timestamp` in seconds, `Request tokens`, `Response tokens`,
    /// and where they are there `Model` and `Log Type`.
    BurstGpt,
    /// JSON lines of Qwen on Bailian (github.com/alibaba-edu/qwen-bailian-usagetraces-anon): as Mooncake's, with
    /// `timestamp` in seconds, `hash_ids` of 16 tokens, and a `type`.
    Bailian,
    /// Skyline's own JSON lines, as `skyline trace` writes them.
    Skyline,
    /// A pool of clients of `ServeGen`'s (github.com/alibaba/ServeGen, `data/`): a folder whose files say at what rates
    /// clients send and how long their requests are. The requests are drawn from the seed.
    #[serde(rename = "servegen")]
    ServeGen,
}

/// Where a trace's own clock begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceZero {
    /// Its times count from a zero of their own.
    OwnClock,
    /// Its times are dates, or count from before the recording began: its first request is its zero.
    FirstRequest,
}

impl TraceFormat {
    /// Every format with its name.
    pub const NAMED: [(&'static str, Self); 6] = [
        ("mooncake", Self::Mooncake),
        ("azure", Self::Azure),
        ("burst_gpt", Self::BurstGpt),
        ("bailian", Self::Bailian),
        ("skyline", Self::Skyline),
        ("servegen", Self::ServeGen),
    ];

    /// Its name in specs and options.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Mooncake => "mooncake",
            Self::Azure => "azure",
            Self::BurstGpt => "burst_gpt",
            Self::Bailian => "bailian",
            Self::Skyline => "skyline",
            Self::ServeGen => "servegen",
        }
    }

    /// Where its clock begins. Azure's times are dates, and `BurstGPT`'s later files count from a moment months before
    /// their first request.
    #[must_use]
    pub fn zero(self) -> TraceZero {
        match self {
            Self::Mooncake | Self::Bailian | Self::Skyline | Self::ServeGen => TraceZero::OwnClock,
            Self::Azure | Self::BurstGpt => TraceZero::FirstRequest,
        }
    }

    /// Tokens of prompt that one of its hash ids stands for; none where it has no hash ids. Skyline's own traces say
    /// it in their first line.
    #[must_use]
    pub fn block_tokens(self) -> Option<u32> {
        match self {
            Self::Mooncake => Some(512),
            Self::Bailian => Some(16),
            Self::Azure | Self::BurstGpt | Self::Skyline | Self::ServeGen => None,
        }
    }
}
