//! Limits on requests, and what their prompts are made of: options of every command that sends some.

use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use crate::engine::{AnswerLimits, PriorityField};
use crate::generator::ConcurrencyCaps;
use crate::record::ClientLimits;
use crate::runner::{Breaker, RunOptions, Timeouts};
use crate::workload::reading::{size, some_time, whole};
use crate::workload::{ClientBehaviour, RetryPolicy, WorkloadSpec};

/// How long a request may take where nothing else says it.
const LONGEST_ANSWER: Duration = Duration::from_secs(600);

/// Limits on requests, and what their prompts are made of.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Run")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct RequestSettings {
    /// Keep at most N requests in flight; the others wait, and their waiting counts in latency; with `--rate inf` so
    /// many leave at once. Classes may have caps of their own: `chat=16,batch=4`, beside one of all: `64,batch=4`
    /// [default: no cap]
    #[arg(long, value_name = "N|CLASS=N,…", allow_hyphen_values = true)]
    pub(crate) max_concurrency: Option<ClientLimits>,

    /// Keep N connections open to each address of the server. No request waits for one of them: where all are busy it
    /// opens another, which is closed after its answer; --max-concurrency limits requests [default: as many as have
    /// been needed at a time]
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1..=65_535), allow_negative_numbers = true)]
    pub(crate) connections_per_host: Option<u64>,

    /// Fail a request that takes longer than this in total [default: the workload's, else 10m]
    #[arg(long, value_name = "TIME", value_parser = some_time, allow_hyphen_values = true)]
    pub(crate) timeout: Option<Duration>,

    /// Fail a request without a first token after this long [default: the workload's, else no limit]
    #[arg(long, value_name = "TIME", value_parser = some_time, allow_hyphen_values = true,
          conflicts_with = "no_stream")]
    pub(crate) first_token_timeout: Option<Duration>,

    /// Fail a request that is silent between two tokens for longer than this [default: no limit]
    #[arg(long, value_name = "TIME", value_parser = some_time, allow_hyphen_values = true,
          conflicts_with = "no_stream")]
    pub(crate) between_tokens_timeout: Option<Duration>,

    /// Fail an answer as malformed that has this many times the tokens requested, and more than 4,096: it does not end.
    /// Nor may it have more than 1,000,000 events, or one event more than 16 MiB. The test request before the load has
    /// limits of its own: 4,096 tokens, 4 MiB, and 30 s after its first token
    #[arg(long, value_name = "TIMES", default_value_t = 16, value_parser = whole::<u32>(1..=1_000_000),
          allow_negative_numbers = true)]
    pub(crate) answer_tokens_limit: u32,

    /// Fail an answer as malformed that is larger than this
    #[arg(long, value_name = "SIZE", default_value = "64MiB", value_parser = size, allow_hyphen_values = true)]
    pub(crate) answer_size_limit: u64,

    /// Memory of the answers in flight together, for texts that are kept until they are counted or judged,
    /// and for events that are not whole; an answer that needs more fails
    #[arg(long, value_name = "SIZE", default_value = "80MiB", value_parser = size, allow_hyphen_values = true)]
    pub(crate) answer_memory: u64,

    /// Send more than 10 requests/s, 1,000 requests or a million tokens to a server that is neither on this
    /// machine nor in a private network without asking; without a terminal such a load is refused
    #[arg(long)]
    pub(crate) yes: bool,

    /// End a run early while this holds: `error_rate`, `in_flight`, `queued` (under --max-concurrency) or
    /// `waiting` (in the server) above a bound for a time, such as `in_flight > 500 for 10s`; exits with 1,
    /// and what was measured is kept; may be repeated, and `none` leaves the default out [default:
    /// `error_rate > 50% for 10s`]
    #[arg(long, value_name = "CONDITION", value_parser = breaker)]
    pub(crate) abort_on: Vec<Option<Breaker>>,

    /// Make prompts of exactly the requested length with this tokenizer, and count answers with it after the run if
    /// the server does not: a tokenizer.json, tekken.json or .tiktoken file, a folder that holds one, or a Hugging Face
    /// id [default: the server's /tokenize, else common words; for answers the number of chunks]
    #[arg(long, value_name = "PATH|ID")]
    pub(crate) tokenizer: Option<String>,

    /// Send each request's urgency in the field `priority` (vLLM: high -1, medium 0, low 1; SGLang: reversed);
    /// without --scheduling-policy priority vLLM ignores it silently
    #[arg(long)]
    pub(crate) send_priority: bool,

    /// Empty the server's prefix cache before the run (vLLM in development mode, SGLang)
    #[arg(long)]
    pub(crate) reset_cache: bool,

    /// Salt of the prompts: the same salt sends the same texts again, which may find a warm prefix cache
    /// [default: a new one each run]
    #[arg(long, value_name = "N", value_parser = whole::<u64>(0..=u64::MAX), allow_negative_numbers = true)]
    pub(crate) salt: Option<u64>,

    /// Store the workload's texts with the run (templates, golden prompts, tools and what answers must be),
    /// and how golden answers begin [default: the texts' SHA-256, and of answers nothing]
    #[arg(long)]
    pub(crate) save_text: bool,
}

/// A breaker, or none.
fn breaker(text: &str) -> Result<Option<Breaker>, String> {
    if text.trim() == "none" { Ok(None) } else { text.parse().map(Some) }
}

impl RequestSettings {
    pub(crate) fn options(&self, workload: &WorkloadSpec) -> RunOptions {
        let sends_again = workload.clients.clone().filter(ClientBehaviour::sends_again);
        RunOptions {
            caps: ConcurrencyCaps::new(&self.caps(), workload.classes.iter().map(|class| class.name.as_str())),
            timeouts: self.timeouts_of(workload.clients.as_ref()),
            retries: sends_again.map(|clients| Arc::new(RetryPolicy::new(clients, workload.seed))),
            leaving: workload.leaving_policy().map(Arc::new),
            breakers: self.breakers(),
            drain: Duration::from_secs_f64(workload.drain_s),
            ..RunOptions::default()
        }
    }

    /// The caps on requests in flight, where they were typed.
    pub(crate) fn caps(&self) -> ClientLimits {
        self.max_concurrency.clone().unwrap_or_default()
    }

    /// Replaces the cap on all requests together.
    pub(crate) fn cap(&mut self, cap: Option<u64>) {
        self.max_concurrency = Some(ClientLimits { max_concurrency: cap, ..self.caps() });
    }

    /// The limits on each answer.
    pub(crate) const fn answers(&self) -> AnswerLimits {
        AnswerLimits {
            times_requested: self.answer_tokens_limit,
            bytes: self.answer_size_limit,
            memory: self.answer_memory,
        }
    }

    /// Whether requests carry their priority.
    pub(crate) const fn priority(&self) -> PriorityField {
        if self.send_priority { PriorityField::Sent } else { PriorityField::Unsent }
    }

    /// Returns the breakers that end a run early. They are what was typed, and the default unless something of its kind
    /// takes its place.
    pub(crate) fn breakers(&self) -> Vec<Breaker> {
        let typed: Vec<Breaker> = self.abort_on.iter().flatten().cloned().collect();
        let is_replaced = self.abort_on.contains(&None) || typed.iter().any(Breaker::is_about_error_rate);
        let usual = Breaker::DEFAULT.parse().ok().filter(|_| !is_replaced);
        typed.into_iter().chain(usual).collect()
    }

    /// Returns the limits on an attempt. They are as typed, else those of the workload's clients, else
    /// [`LONGEST_ANSWER`] in total.
    fn timeouts_of(&self, clients: Option<&ClientBehaviour>) -> Timeouts {
        let filed = |limit: fn(&ClientBehaviour) -> Option<f64>| clients.and_then(limit).map(Duration::from_secs_f64);
        Timeouts {
            first_token: self.first_token_timeout.or_else(|| filed(|all| all.first_token_timeout_s)),
            between_tokens: self.between_tokens_timeout,
            total: self.timeout.or_else(|| filed(|all| all.timeout_s)).or(Some(LONGEST_ANSWER)),
        }
    }

    /// The limits of clients that behave so, as a run's header has them.
    pub(crate) fn limits(&self, clients: Option<&ClientBehaviour>) -> ClientLimits {
        let timeouts = self.timeouts_of(clients);
        let seconds = |limit: Option<Duration>| limit.map(|limit| limit.as_secs_f64());
        ClientLimits {
            connections_per_host: self.connections_per_host,
            first_token_timeout_s: seconds(timeouts.first_token),
            between_tokens_timeout_s: seconds(timeouts.between_tokens),
            total_timeout_s: seconds(timeouts.total),
            ..self.caps()
        }
    }
}
