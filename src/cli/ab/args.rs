//! What is typed of an A/B experiment.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use crate::analysis::FigureKey;
use crate::cli::args::{
    self, DeploymentArgs, LiveArgs, LoadArgs, MachineArgs, RunArgs, ServerArgs, ValidityArgs, WorkArgs,
    duration, label,
};
use crate::cli::show::ShowArgs;
use crate::engine::Dialect;
use crate::experiment::DEFAULT_ROUNDS;

/// Hold two servers, or two configurations of one, against each other in interleaved rounds
#[derive(Debug, Args)]
pub(in crate::cli) struct AbArgs {
    #[command(flatten)]
    pub(super) load: LoadArgs,
    #[command(flatten)]
    pub(super) work: WorkArgs,
    #[command(flatten, next_help_heading = "Sides")]
    pub(super) sides: SideArgs,
    #[command(flatten, next_help_heading = "Experiment")]
    pub(super) experiment: ExperimentArgs,
    #[command(flatten)]
    pub(super) server: ServerArgs,
    #[command(flatten)]
    pub(super) deployment: DeploymentArgs,
    #[command(flatten)]
    pub(super) run: RunArgs,
    #[command(flatten)]
    pub(super) machine: MachineArgs,

    /// What exits with 0; what does not meet it exits with 1
    #[arg(long, value_name = "WHAT", help_heading = "Output", value_enum, default_value_t = Require::NotWorse)]
    pub(super) require: Require,

    #[command(flatten, next_help_heading = "Output")]
    pub(super) validity: ValidityArgs,

    /// Folder in which the experiment gets a folder of its own
    #[arg(long, value_name = "DIR", help_heading = "Output", default_value = "results")]
    pub(super) out: PathBuf,

    /// Go on with the experiment in this folder, which was interrupted: type the same command again, with this behind it;
    /// the runs that were flown are not flown again [default: a new experiment]
    #[arg(long, value_name = "FOLDER", help_heading = "Output")]
    pub(super) resume: Option<PathBuf>,

    #[command(flatten)]
    pub(super) show: ShowArgs,

    #[command(flatten)]
    pub(super) live: LiveArgs,
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
          value_parser = PossibleValuesParser::new(Dialect::ALL.iter().map(|dialect| dialect.name())).try_map(|name| name.parse::<Dialect>()))]
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
pub(super) struct ExperimentArgs {
    /// Rounds: runs of each side, A B, B A, A B and so on, each round with a seed of its own; all are flown, whatever
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
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = share, allow_hyphen_values = true)]
    pub(super) margin: f64,

    /// By how much the ratio of B to A is known to spread from round to round, to be told which difference will be found
    /// [default: a guess after the first run]
    #[arg(long, value_name = "SHARE", value_parser = share, allow_hyphen_values = true)]
    pub(super) expected_spread: Option<f64>,

    /// Wait this long between two runs, and on until the server has nothing left to do, where it tells
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = duration, allow_hyphen_values = true)]
    pub(super) pause: Duration,

    /// Requests sent to each side before its first run and after each switch, a few at a time and not counted, so that it
    /// is warm; the workload's own warm-up comes on top in each run
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(..=10_000),
          allow_negative_numbers = true)]
    pub(super) warmup_requests: u64,
}

/// What a script asks of B.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Require {
    /// Not shown to be worse: better, equivalent or inconclusive
    #[default]
    NotWorse,
    /// Shown not to be worse: better or equivalent
    Equivalent,
    /// Shown to be better
    Better,
}

impl Require {
    /// Whether it is what is asked without being told.
    #[allow(clippy::trivially_copy_pass_by_ref)] // serde asks by reference
    pub(super) fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

/// A share of at most a half, such as `5%` or `0.05`.
fn share(text: &str) -> Result<f64, String> {
    args::share(text)
        .filter(|share| (0.001..=0.5).contains(share))
        .ok_or_else(|| format!("`{text}` is not a share from 0.1% to 50%; write it like 5%"))
}
