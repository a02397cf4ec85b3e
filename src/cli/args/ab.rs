//! The sides of an A/B test, and what decides it, of servers or in virtual time.

use clap::Args;

use super::values::{dialect, label, share_up_to_half, whole};
use crate::analysis::{FigureKey, Metric, selections};
use crate::engine::{AnswerForm, BaseUrl};
use crate::experiment::{AbDesign, DEFAULT_ROUNDS};
use crate::record::EngineKind;
use crate::session::Stop;
use crate::session::exits::Require;
use crate::workload::WorkloadSpec;

/// How the comparison is made; all of it is fixed before the first round.
#[derive(Clone, Debug, Args)]
pub(in crate::cli) struct DesignArgs {
    /// Rounds: one run of each side, each round with its own seed; which side runs first is drawn from the seed (of
    /// one machine for both: A B, B A, A B and so on); all rounds run, whatever their results
    #[arg(long, value_name = "N", default_value_t = DEFAULT_ROUNDS,
          value_parser = whole::<u64>(1..=1000), allow_negative_numbers = true)]
    rounds: u64,

    /// Figure that decides, such as `p95 ttft`, `mean e2e`, `goodput` or `p95 ttft of NAME`; may be repeated; use
    /// few, because each one raises the detectable difference; `error_rate` always decides [default: p50 ttft, p95
    /// ttft, p50 tpot and p95 e2e; unstreamed: p50 e2e and p95 e2e; closed loop: `output_tokens_per_s` too]
    #[arg(long = "metric", value_name = "FIGURE")]
    metrics: Vec<FigureKey>,

    /// Margin: a difference within this share of A's figure does not matter (of a share: within as many points; of
    /// failures: within half a point); a metric that is surely within it is equivalent
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = share_up_to_half,
          allow_hyphen_values = true)]
    margin: f64,

    /// Outcome that exits with 0; any other outcome exits with 1
    #[arg(long, value_name = "WHAT", help_heading = "Output", value_enum, default_value_t = Require::NotWorse)]
    pub(in crate::cli) require: Require,
}

impl DesignArgs {
    /// Returns the design, fixed before the first round: what was chosen, else the usual.
    pub(in crate::cli) fn design(&self, workload: &WorkloadSpec, form: AnswerForm) -> Result<AbDesign, Stop> {
        let mut metrics = self.metrics.clone();
        if metrics.is_empty() {
            match form {
                AnswerForm::Streamed => metrics.extend(selections::deciding_of_streams()),
                AnswerForm::Whole => metrics.extend(selections::deciding_of_whole_answers()),
            }
            // Users of a closed loop ask a fast server for more.
            metrics.extend(workload.arrival.users().map(|_| FigureKey::from_metric(Metric::OutputTokens)));
        }
        metrics.iter().try_for_each(|metric| metric.check(workload)).map_err(Stop::usage)?;
        AbDesign::new(self.rounds, metrics, self.margin).map_err(Stop::usage)
    }
}

/// The two sides. Addresses are taken as text: clap repeats a value that it cannot parse, which may hold a secret.
#[derive(Debug, Args)]
pub(in crate::cli) struct SideArgs {
    /// Address of A, the baseline [default: with --switch-cmd the one of --url]
    #[arg(long, value_name = "URL", required_unless_present = "switch_cmd", conflicts_with = "url", requires = "b")]
    pub(in crate::cli) a: Option<String>,

    /// Address of B, which is compared with A [default: with --switch-cmd the one of --url]
    #[arg(long, value_name = "URL", conflicts_with = "url", requires = "a")]
    pub(in crate::cli) b: Option<String>,

    /// B's dialect of the OpenAI protocol [default: --engine, as A's]
    #[arg(long, value_name = "ENGINE", hide_possible_values = true, value_parser = dialect())]
    pub(in crate::cli) b_engine: Option<EngineKind>,

    /// Model to request from B [default: --model, else the first that B lists]
    #[arg(long, value_name = "NAME")]
    pub(in crate::cli) b_model: Option<String>,

    /// Label to store with the runs of A, as `name=value`, such as its flags; may be repeated [default: nothing]
    #[arg(long = "a-label", value_name = "NAME=VALUE", value_parser = label)]
    pub(in crate::cli) a_labels: Vec<(String, String)>,

    /// The same for B; may be repeated [default: nothing]
    #[arg(long = "b-label", value_name = "NAME=VALUE", value_parser = label)]
    pub(in crate::cli) b_labels: Vec<(String, String)>,

    /// Accelerators that serve A together [default: --gpus]
    #[arg(long, value_name = "N", value_parser = whole::<u32>(1..=u64::MAX), allow_negative_numbers = true)]
    pub(in crate::cli) a_gpus: Option<u32>,

    /// The same for B [default: --gpus]
    #[arg(long, value_name = "N", value_parser = whole::<u32>(1..=u64::MAX), allow_negative_numbers = true)]
    pub(in crate::cli) b_gpus: Option<u32>,

    /// For two sides on one machine: shell command that makes the machine serve the side named by `SKYLINE_SIDE` (a
    /// or b) and returns; it runs whenever the side changes, once a round [default: none, both serve all the time]
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["a", "b"])]
    pub(in crate::cli) switch_cmd: Option<String>,

    /// Shell command to run before each run, with the same variable, for example to empty a cache [default: none]
    #[arg(long, value_name = "COMMAND")]
    pub(in crate::cli) reset_cmd: Option<String>,
}

impl SideArgs {
    /// Whether A and B are one address, however each is written.
    pub(in crate::cli) fn are_one_address(&self) -> bool {
        let address = |url: &Option<String>| {
            let url: BaseUrl = url.as_ref()?.parse().ok()?;
            Some(url.join(&url.models_path()))
        };
        address(&self.a).is_some_and(|a| address(&self.b) == Some(a))
    }
}
