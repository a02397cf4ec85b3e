//! The tools whose results are read.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use strum::{EnumIter, EnumString, IntoStaticStr, VariantNames};

/// A benchmark tool whose results are read.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, EnumIter, EnumString, IntoStaticStr, VariantNames,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum ForeignTool {
    /// `vllm bench serve`.
    Vllm,
    /// `python -m sglang.bench_serving`.
    Sglang,
    /// `guidellm run`.
    GuideLlm,
    /// `aiperf profile`.
    AiPerf,
}

impl ForeignTool {
    /// Returns the tool's name on the command line and in JSON.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The tool that wrote a value, by its fields.
    pub(super) fn from_value(value: &Value) -> Option<Self> {
        let has = |key: &str| value.get(key).is_some();
        if has("aiperf_version") || (has("input_config") && has("request_latency")) {
            Some(Self::AiPerf)
        } else if value.get("benchmarks").is_some_and(Value::is_array) {
            Some(Self::GuideLlm)
        } else if has("completed") && (has("median_e2e_latency_ms") || has("total_output_tokens_retokenized")) {
            Some(Self::Sglang)
        } else if has("completed") && has("model_id") {
            Some(Self::Vllm)
        } else {
            None
        }
    }
}

/// Its name in its makers' spelling.
impl fmt::Display for ForeignTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Vllm => "vLLM",
            Self::Sglang => "SGLang",
            Self::GuideLlm => "GuideLLM",
            Self::AiPerf => "AIPerf",
        })
    }
}
