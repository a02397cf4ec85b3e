//! What decides an A/B test, of servers or in virtual time.

use clap::Args;

use super::values::{share_up_to_half, whole};
use crate::analysis::FigureKey;
use crate::engine::AnswerForm;
use crate::experiment::{AbDesign, DEFAULT_ROUNDS};
use crate::session::Stop;
use crate::session::campaign::ab::Require;
use crate::workload::WorkloadSpec;

/// Figures that decide where none was chosen.
const USUAL: [&str; 4] = ["p50 ttft", "p95 ttft", "p50 tpot", "p95 e2e"];
/// The same where answers come in one piece.
const WHOLE: [&str; 2] = ["p50 e2e", "p95 e2e"];
/// What a closed loop tells beside them: its users ask a fast server for more.
const CLOSED: &str = "output_tokens_per_s";

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
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = share_up_to_half, allow_hyphen_values = true)]
    margin: f64,

    /// Outcome that exits with 0; any other outcome exits with 1
    #[arg(long, value_name = "WHAT", help_heading = "Output", value_enum, default_value_t = Require::NotWorse)]
    pub(in crate::cli) require: Require,
}

impl DesignArgs {
    /// What decides, before the first round: what was chosen, else the usual.
    pub(in crate::cli) fn design(&self, workload: &WorkloadSpec, form: AnswerForm) -> Result<AbDesign, Stop> {
        let mut metrics = self.metrics.clone();
        if metrics.is_empty() {
            let usual = match form {
                AnswerForm::Streamed => &USUAL[..],
                AnswerForm::Whole => &WHOLE[..],
            };
            let closed = workload.arrival.users().map(|_| &CLOSED);
            let usual = usual.iter().chain(closed).map(|metric| metric.parse());
            metrics = usual.collect::<Result<_, _>>().map_err(Stop::usage)?;
        }
        metrics.iter().try_for_each(|metric| metric.check(workload)).map_err(Stop::usage)?;
        AbDesign::new(self.rounds, metrics, self.margin).map_err(Stop::usage)
    }
}
