//! How trace files are written, and where their clocks begin.

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantNames};

/// How a trace file is written. Every format is read line by line; CSV columns are found by name.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, EnumString, IntoStaticStr, VariantNames,
)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum TraceFormat {
    /// JSON lines of Mooncake (github.com/kvcache-ai/Mooncake, FAST25-release/traces): `timestamp` in milliseconds,
    /// `input_length`, `output_length`, `hash_ids` of 512 tokens each.
    Mooncake,
    /// CSV of Azure's language-model traces (github.com/Azure/AzurePublicDataset: 2023, 2024, and the multimodal one
    /// of 2025): `TIMESTAMP` as a date, `ContextTokens`, `GeneratedTokens`; `NumImages` is ignored.
    Azure,
    /// CSV of `BurstGPT` (github.com/HPMLL/BurstGPT): `Timestamp` in seconds, `Request tokens`, `Response tokens`,
    /// and optionally `Model` and `Log Type`.
    BurstGpt,
    /// JSON lines of Qwen on Bailian (github.com/alibaba-edu/qwen-bailian-usagetraces-anon): like Mooncake's, with
    /// `timestamp` in seconds, `hash_ids` of 16 tokens, and a `type`.
    Bailian,
    /// Skyline's own JSON lines, as `skyline trace` writes them.
    Skyline,
    /// A client pool of `ServeGen` (github.com/alibaba/ServeGen, `data/`): a folder whose files give the rates of
    /// clients and the lengths of their requests. The requests are drawn from the seed.
    #[serde(rename = "servegen")]
    #[strum(serialize = "servegen")]
    ServeGen,
}

/// Where a trace's clock begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceZero {
    /// Times count from the trace's own zero.
    OwnClock,
    /// Times are dates, or count from before the recording: the first request is the zero.
    FirstRequest,
}

impl TraceFormat {
    /// Its name in specs and options.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Where its clock begins. Azure's times are dates, and `BurstGPT`'s later files count from months before their
    /// first request.
    pub fn zero(self) -> TraceZero {
        match self {
            Self::Mooncake | Self::Bailian | Self::Skyline | Self::ServeGen => TraceZero::OwnClock,
            Self::Azure | Self::BurstGpt => TraceZero::FirstRequest,
        }
    }

    /// Prompt tokens per hash id; `None` where the format has none. Skyline's own traces give it in their first line.
    pub fn block_tokens(self) -> Option<u32> {
        match self {
            Self::Mooncake => Some(512),
            Self::Bailian => Some(16),
            Self::Azure | Self::BurstGpt | Self::Skyline | Self::ServeGen => None,
        }
    }
}
