//! What serves, as the person says who knows it.

use clap::Args;

use crate::record::DeploymentFacts;

/// The deployment. It is kept with the run; nothing of it is sent.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Deployment")]
pub(in crate::cli) struct DeploymentArgs {
    /// Accelerator that serves: a10g, l4, l40s, a100-80g, h100, h200, b200 or mi300x, whose figures are known, or any other
    /// name [default: not said]
    #[arg(long, value_name = "NAME")]
    hardware: Option<String>,

    /// Accelerators that serve together, for figures per GPU [default: not said]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    gpus: Option<u32>,

    /// Model that is served: llama-3.1-8b, llama-3.1-70b, llama-3.1-405b, qwen2.5-7b, qwen3-32b, mixtral-8x7b or
    /// deepseek-v3, whose sizes are known, or any other name [default: not said]
    #[arg(long, value_name = "NAME")]
    serving_model: Option<String>,

    /// Format of the weights, such as bf16, fp8 or int4 [default: not said]
    #[arg(long, value_name = "FORMAT")]
    precision: Option<String>,

    /// Anything else to keep with the run, as `name=value`; may be repeated [default: nothing]
    #[arg(long = "label", value_name = "NAME=VALUE", value_parser = label)]
    labels: Vec<(String, String)>,
}

impl DeploymentArgs {
    /// The same with what a file says of the deployment in place of what was typed, and its labels beside those.
    pub(in crate::cli) fn with(&self, filed: DeploymentFacts) -> Self {
        let labels = self.labels.iter().cloned().chain(filed.labels).collect();
        Self {
            hardware: filed.hardware.or_else(|| self.hardware.clone()),
            gpus: filed.gpus.or(self.gpus),
            serving_model: filed.serving_model.or_else(|| self.serving_model.clone()),
            precision: filed.precision.or_else(|| self.precision.clone()),
            labels,
        }
    }

    /// The same with these labels too.
    pub(in crate::cli) fn with_labels(&self, labels: &[(String, String)]) -> Self {
        Self { labels: self.labels.iter().chain(labels).cloned().collect(), ..self.clone() }
    }

    pub(in crate::cli) fn facts(&self) -> DeploymentFacts {
        DeploymentFacts {
            hardware: self.hardware.clone(),
            gpus: self.gpus,
            serving_model: self.serving_model.clone(),
            precision: self.precision.clone(),
            labels: self.labels.iter().cloned().collect(),
        }
    }
}

/// A name and its value.
pub(in crate::cli) fn label(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => Ok((name.trim().to_owned(), value.to_owned())),
        _ => Err(format!("`{text}` is not a label; write it as name=value, such as commit=4f2a91c")),
    }
}
