//! How a run is flown and what prompts are made of.

use std::num::NonZeroUsize;
use std::time::Duration;

use clap::Args;

use super::telemetry::TelemetryArgs;
use super::{at_least_one, some_time};
use crate::engine::PriorityField;
use crate::runner::Timeouts;
use crate::session::Stop;
use crate::session::settings::RequestSettings;

/// Limits and prompts.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Run")]
pub(in crate::cli) struct RunArgs {
    /// Keep at most N requests in flight; the others wait, and their waiting counts in latency [default: no cap]
    #[arg(long, value_name = "N", value_parser = at_least_one, allow_negative_numbers = true)]
    max_concurrency: Option<NonZeroUsize>,

    /// Fail a request that takes longer than this in all
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = some_time, allow_hyphen_values = true)]
    timeout: Duration,

    /// Fail a request without a first token after this long [default: no limit]
    #[arg(long, value_name = "TIME", value_parser = some_time, allow_hyphen_values = true, conflicts_with = "no_stream")]
    first_token_timeout: Option<Duration>,

    /// Fail a request that is silent between two tokens for longer than this [default: no limit]
    #[arg(long, value_name = "TIME", value_parser = some_time, allow_hyphen_values = true, conflicts_with = "no_stream")]
    between_tokens_timeout: Option<Duration>,

    /// Make prompts of exactly the asked length with this tokenizer, and count answers with it after the run where the
    /// server does not: a tokenizer.json, a folder that holds one, or a Hugging Face id [default: the server's /tokenize,
    /// else common words; for answers the number of chunks]
    #[arg(long, value_name = "PATH|ID")]
    pub(in crate::cli) tokenizer: Option<String>,

    /// Say in each request how urgent it is, in the field `priority` (vLLM: high -1, medium 0, low 1; SGLang: the other way
    /// round); without --scheduling-policy priority vLLM passes over it, and no answer tells
    #[arg(long)]
    send_priority: bool,

    /// Empty the server's prefix cache before the run (vLLM in development mode, SGLang)
    #[arg(long)]
    pub(in crate::cli) reset_cache: bool,

    /// Salt of the prompts: the same salt sends the same texts again, which may find a warm prefix cache
    /// [default: a new one each run]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(in crate::cli) salt: Option<u64>,

    #[command(flatten)]
    telemetry: TelemetryArgs,
}

impl RunArgs {
    /// What it means.
    pub(in crate::cli) fn settings(&self) -> Result<RequestSettings, Stop> {
        Ok(RequestSettings {
            max_concurrency: self.max_concurrency,
            timeouts: Timeouts {
                first_token: self.first_token_timeout,
                between_tokens: self.between_tokens_timeout,
                total: Some(self.timeout),
            },
            tokenizer: self.tokenizer.clone(),
            priority: if self.send_priority { PriorityField::Sent } else { PriorityField::Unsent },
            reset_cache: self.reset_cache,
            salt: self.salt,
            telemetry: self.telemetry.settings()?,
        })
    }
}
