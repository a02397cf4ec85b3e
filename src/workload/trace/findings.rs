//! What was found in a trace, read as a run replays it.

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantNames};

use crate::workload::reading::value::{Allowed, SECONDS, SpecValue, WAIT};

/// Requests, lines and mean tokens of a trace.
const COUNT: Allowed = Allowed::from(0.0, 1e15);

/// A slice of a trace as a run replays it: scaled, thinned or multiplied. Times are seconds of the run.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TraceFindings {
    /// Format of the file.
    pub format: TraceFormat,
    /// Requests in the slice.
    pub requests: u64,
    /// End of the slice. It is `for_s`, or the end of the run that the trace was made from, or the millisecond after
    /// the last request.
    pub ends_s: f64,
    /// Warm-up of the run that the trace was made from. It is there where the slice is all of that run.
    pub warmup_s: Option<f64>,
    /// Width of each bin of `arrivals`, seconds.
    pub bin_s: f64,
    /// Requests per bin, from the start of the run.
    pub arrivals: Vec<u64>,
    /// Most requests in one second of the run, from whole second to whole second.
    pub peak_per_s: u64,
    /// Requests at exactly the moment of the one before: public traces are often rounded.
    pub same_moment: u64,
    /// Mean prompt, tokens.
    pub input_tokens: f64,
    /// Mean answer, tokens.
    pub output_tokens: f64,
    /// Share of prompt tokens in leading blocks that an earlier request had too. That request is of the slice: the
    /// share is the hit rate of a prefix cache without limits. Absent where the trace has no blocks, or too many.
    pub reusable_share: Option<f64>,
    /// Whether the trace has more blocks than are remembered, so that the share is unknown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub too_many_blocks: bool,
    /// The kinds of request in the trace with their counts; empty where it has none.
    pub kinds: Vec<TraceKind>,
    /// Unreadable lines that were left out.
    pub skipped_lines: u64,
    /// Lines and tables of a client pool replaced by the nearest that can be drawn. They had gap shapes out of range,
    /// or lengths of 0 tokens, where nothing is sent.
    #[serde(default, skip_serializing_if = "crate::workload::reading::is_usual")]
    pub nearest_drawn: u64,
    /// Requests that the file lists after a later one, and that were put in order.
    pub reordered: u64,
}

/// A kind of request in a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TraceKind {
    /// Its name as a class, unique among the kinds.
    pub name: String,
    /// Number of requests.
    pub requests: u64,
    /// Its name in the trace; absent where that is `name`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub called: Option<String>,
    /// Number of kinds combined here. Each is too rare for a class of its own; kinds after the first 4,096 count as
    /// one. 0 for a single kind.
    #[serde(default, skip_serializing_if = "crate::workload::reading::is_usual")]
    pub rarer_kinds: u64,
}

impl TraceFindings {
    pub(crate) fn read(value: SpecValue<'_>) -> Option<Self> {
        let found: Self = value.stored(Self::is_plausible)?;
        if [found.ends_s, found.bin_s].into_iter().all(|seconds| SECONDS.has(seconds)) {
            return Some(found);
        }
        value.reject(&format!("has a length that is no number {SECONDS}"))
    }

    /// Whether every count and share is one that a trace can have.
    fn is_plausible(&self) -> bool {
        let counts = [self.requests, self.peak_per_s, self.same_moment, self.skipped_lines, self.reordered];
        let tokens = [self.input_tokens, self.output_tokens];
        let counts = counts.iter().chain(&self.arrivals).map(|count| *count as f64);
        counts.chain(tokens).all(|number| COUNT.has(number))
            && self.warmup_s.is_none_or(|seconds| WAIT.has(seconds))
            && self.reusable_share.is_none_or(|share| (0.0..=1.0).contains(&share))
            && !self.arrivals.is_empty()
    }

    /// Whether the trace says which prompts share blocks.
    pub fn names_blocks(&self) -> bool {
        self.reusable_share.is_some() || self.too_many_blocks
    }

    /// The kind of this name in the trace, or the one that combines rare kinds.
    pub fn kind(&self, name: &str) -> Option<&TraceKind> {
        let name = name.trim();
        let own = self.kinds.iter().find(|kind| kind.is(name));
        own.or_else(|| self.kinds.iter().find(|kind| kind.rarer_kinds > 0))
    }

    /// Requests per second over the whole slice.
    pub fn mean_rate_per_s(&self) -> f64 {
        self.requests as f64 / self.ends_s
    }

    /// Returns the requests in the first `until_s` seconds, to a bin's resolution. Inside a bin they count as evenly
    /// spread.
    pub fn arrivals_by(&self, until_s: f64) -> f64 {
        let bins = (until_s.max(0.0) / self.bin_s).min(self.arrivals.len() as f64);
        let whole = bins.floor() as usize;
        let before: u64 = self.arrivals.iter().take(whole).sum();
        let inside = self.arrivals.get(whole).copied().unwrap_or(0) as f64;
        before as f64 + inside * (bins - bins.floor())
    }
}

impl TraceKind {
    /// Whether this is the trace's name for this kind alone.
    fn is(&self, kind: &str) -> bool {
        self.rarer_kinds == 0 && self.called.as_ref().unwrap_or(&self.name) == kind
    }
}

/// How a trace file is written. Every format is read line by line; CSV columns are found by name.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, EnumString, IntoStaticStr, VariantNames,
)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum TraceFormat {
    /// JSON lines of Mooncake (github.com/kvcache-ai/Mooncake, FAST25-release/traces). They have `timestamp` in
    /// milliseconds, `input_length`, `output_length`, `hash_ids` of 512 tokens each.
    Mooncake,
    /// CSV of Azure's language-model traces. The source is github.com/Azure/AzurePublicDataset: 2023, 2024, and the
    /// multimodal one of 2025. It has `TIMESTAMP` as a date, `ContextTokens`, `GeneratedTokens`; `NumImages` is
    /// ignored.
    Azure,
    /// CSV of `BurstGPT` (github.com/HPMLL/BurstGPT). It has `Timestamp` in seconds, `Request tokens`,
    /// `Response tokens`, and optionally `Model` and `Log Type`.
    BurstGpt,
    /// JSON lines of Qwen on Bailian (github.com/alibaba-edu/qwen-bailian-usagetraces-anon). They are like Mooncake's,
    /// with `timestamp` in seconds, `hash_ids` of 16 tokens, and a `type`.
    Bailian,
    /// Skyline's own JSON lines, as `skyline trace` writes them.
    #[default]
    Skyline,
    /// A client pool of `ServeGen` (github.com/alibaba/ServeGen, `data/`). It is a folder whose files give the rates of
    /// clients and the lengths of their requests. The requests are drawn from the seed.
    #[serde(rename = "servegen")]
    #[strum(serialize = "servegen")]
    ServeGen,
    /// A file of sessions, whatever its layout. Its requests are those that begin a session; the file says what follows
    /// from each.
    Sessions,
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
            Self::Azure | Self::BurstGpt | Self::Sessions => TraceZero::FirstRequest,
        }
    }

    /// Prompt tokens per hash id; `None` where the format has none. Skyline's own traces give it in their first line.
    pub fn block_tokens(self) -> Option<u32> {
        match self {
            Self::Mooncake => Some(512),
            Self::Bailian => Some(16),
            Self::Azure | Self::BurstGpt | Self::Skyline | Self::ServeGen | Self::Sessions => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_add_up_bin_by_bin() {
        let found = TraceFindings {
            format: TraceFormat::Azure,
            requests: 12,
            ends_s: 5.5,
            warmup_s: None,
            bin_s: 2.0,
            arrivals: vec![4, 0, 8],
            peak_per_s: 5,
            same_moment: 0,
            input_tokens: 1.0,
            output_tokens: 1.0,
            reusable_share: None,
            too_many_blocks: false,
            kinds: Vec::new(),
            skipped_lines: 0,
            nearest_drawn: 0,
            reordered: 0,
        };
        assert!(found.is_plausible());
        let impossible = [
            TraceFindings { input_tokens: -5.0, ..found.clone() },
            TraceFindings { arrivals: vec![u64::MAX, u64::MAX], ..found.clone() },
            TraceFindings { arrivals: Vec::new(), ..found.clone() },
            TraceFindings { reusable_share: Some(1.5), ..found.clone() },
        ];
        assert!(!impossible.iter().any(TraceFindings::is_plausible));
        // By hand: 4 in the first two seconds, none in the next two, 8 in the last two.
        for (until_s, arrivals) in
            [(-1.0, 0.0), (0.0, 0.0), (1.0, 2.0), (2.0, 4.0), (4.0, 4.0), (5.0, 8.0), (6.0, 12.0), (1e9, 12.0)]
        {
            assert_eq!(found.arrivals_by(until_s), arrivals, "{until_s}");
        }
        assert!((found.mean_rate_per_s() - 12.0 / 5.5).abs() < 1e-12);
    }
}
