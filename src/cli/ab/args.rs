//! What is typed of an A/B experiment.

use clap::Args;

use crate::analysis::FigureKey;
use crate::cli::args::{CampaignArgs, LoadArgs, TargetArgs, WorkArgs, dialect, label, share_up_to_half};
use crate::engine::Dialect;
use crate::experiment::DEFAULT_ROUNDS;
use crate::session::campaign::ab::Require;

/// Compare two servers, or two configurations of one, in interleaved rounds
#[derive(Debug, Args)]
pub(in crate::cli) struct AbArgs {
    #[command(flatten)]
    pub(super) load: LoadArgs,
    #[command(flatten)]
    pub(super) work: WorkArgs,
    #[command(flatten, next_help_heading = "Sides")]
    pub(super) sides: SideArgs,
    #[command(flatten, next_help_heading = "Experiment")]
    pub(super) design: DesignArgs,
    #[command(flatten)]
    pub(super) target: TargetArgs,

    /// What exits with 0; what does not meet it exits with 1
    #[arg(long, value_name = "WHAT", help_heading = "Output", value_enum, default_value_t = Require::NotWorse)]
    pub(super) require: Require,

    #[command(flatten)]
    pub(super) campaign: CampaignArgs,
}

/// Who is compared. Addresses are taken as text, because clap repeats a value that it cannot parse, and they may hold a
/// secret.
#[derive(Debug, Args)]
pub(super) struct SideArgs {
    /// Address of A, the baseline [default: with --switch-cmd the one of --url]
    #[arg(
        long,
        value_name = "URL",
        required_unless_present = "switch_cmd",
        conflicts_with = "url",
        requires = "b"
    )]
    pub(super) a: Option<String>,

    /// Address of B, which is held against it [default: with --switch-cmd the one of --url]
    #[arg(long, value_name = "URL", conflicts_with = "url", requires = "a")]
    pub(super) b: Option<String>,

    /// B's way of speaking the OpenAI protocol [default: --engine, as A's]
    #[arg(long, value_name = "ENGINE", hide_possible_values = true,
          value_parser = dialect())]
    pub(super) b_engine: Option<Dialect>,

    /// Model to ask B for [default: --model, else the first that B lists]
    #[arg(long, value_name = "NAME")]
    pub(super) b_model: Option<String>,

    /// What to keep with the runs of A, as `name=value`, such as its flags; may be repeated [default: nothing]
    #[arg(long = "a-label", value_name = "NAME=VALUE", value_parser = label)]
    pub(super) a_labels: Vec<(String, String)>,

    /// The same of B; may be repeated [default: nothing]
    #[arg(long = "b-label", value_name = "NAME=VALUE", value_parser = label)]
    pub(super) b_labels: Vec<(String, String)>,

    /// Where both are served by one machine, in turn: shell command that makes the machine serve the side named by
    /// `SKYLINE_SIDE` (a or b) and returns; run whenever the side changes, which alternating rounds keep to once a round
    /// [default: none, both serve all the time]
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["a", "b"])]
    pub(super) switch_cmd: Option<String>,

    /// Shell command that is run before each run, with the same variable, such as one that empties a cache
    /// [default: none]
    #[arg(long, value_name = "COMMAND")]
    pub(super) reset_cmd: Option<String>,
}

/// How the comparison is made; all of it is fixed before the first round.
#[derive(Debug, Args)]
pub(super) struct DesignArgs {
    /// Rounds: runs of each side, A B, B A, A B and so on, each round with a seed of its own; all are run, whatever
    /// comes of them
    #[arg(long, value_name = "N", default_value_t = DEFAULT_ROUNDS,
          value_parser = clap::value_parser!(u64).range(1..=1000), allow_negative_numbers = true)]
    pub(super) rounds: u64,

    /// Figure that decides, such as `p95 ttft`, `mean e2e`, `goodput` or `p95 ttft of NAME`; may be repeated: few are best,
    /// for the more decide together the larger a difference must be; `error_rate` always does [default: p50 ttft, p95
    /// ttft, p50 tpot and p95 e2e; not streamed p50 e2e and p95 e2e; of a closed loop `output_tokens_per_s` too]
    #[arg(long = "metric", value_name = "FIGURE")]
    pub(super) metrics: Vec<FigureKey>,

    /// A difference within this share of A's figure does not matter, of a figure that is itself a share within as many
    /// points, of failures always within half a point; who is surely within it is equivalent
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = share_up_to_half, allow_hyphen_values = true)]
    pub(super) margin: f64,

    /// By how much the ratio of B to A is known to spread from round to round, to be told which difference will be found
    /// [default: a guess after the first run]
    #[arg(long, value_name = "SHARE", value_parser = share_up_to_half, allow_hyphen_values = true)]
    pub(super) expected_spread: Option<f64>,

    /// Requests sent to each side before its first run and after each switch, a few at a time and not counted, so that it
    /// is warm; the workload's own warm-up comes on top in each run
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(..=10_000),
          allow_negative_numbers = true)]
    pub(super) warmup_requests: u64,
}
