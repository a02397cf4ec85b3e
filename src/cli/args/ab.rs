//! The sides of an A/B test, and what decides it, of servers or in virtual time.

use std::ffi::OsString;

use clap::{Args, Command, error::ErrorKind};

use super::model::ModelArgs;
use super::server::FiledServer;
use super::target::TargetArgs;
use super::values::{dialect, label, share_up_to_half, whole};
use crate::analysis::{FigureKey, Metric, selections};
use crate::engine::{AnswerForm, BaseUrl, DEFAULT_WAIT};
use crate::experiment::{AbDesign, AbSide, DEFAULT_ROUNDS};
use crate::live::Screen;
use crate::record::{DeploymentFacts, EngineKind};
use crate::session::exits::Require;
use crate::session::settings::{LoadOption, RunSettings};
use crate::session::{Stop, all, both, command_line};
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
    /// Returns how runs of A and of B are executed, whose prompts vary by `salt`. With `is_rate_inf` as many requests
    /// are sent at once as there may be.
    pub(in crate::cli) fn settings(
        &self,
        target: &TargetArgs,
        is_rate_inf: bool,
        salt: u64,
        screen: Screen,
    ) -> Result<[RunSettings; 2], Stop> {
        let Self { a, b, b_engine, b_model, a_labels, b_labels, a_gpus, b_gpus, .. } = self;
        all([("--a", a), ("--b", b)].map(|(name, url)| {
            let parsed = url.as_ref().map(|url| url.parse::<BaseUrl>()).transpose();
            parsed.map(drop).map_err(|error| Stop::usage(format!("{name}: {error}")))
        }))?;
        let at_b = FiledServer { url: b.as_deref(), engine: *b_engine, model: b_model.as_deref(), wait: None };
        let at_a = FiledServer { url: a.as_deref(), ..FiledServer::default() };
        let hardware = target.deployment().hardware;
        let names = ["a", "b"].map(|side| (side.to_owned(), hardware.clone()));
        let prices = target.prices.of(&names, "side")?;
        let facts = |place: usize, labels: &[(String, String)], gpus: Option<u32>| {
            let (labels, gpu_hour) = (labels.iter().cloned().collect(), prices.get(place).copied().flatten());
            DeploymentFacts { gpus, gpu_hour, labels, ..DeploymentFacts::default() }
        };
        let settings = |server, facts: DeploymentFacts| {
            let target = target.with(server, facts);
            let mut settings = target.settings(LoadOption::OfAllRuns, screen)?;
            settings.requests.salt = Some(salt);
            if self.switch_cmd.is_some() {
                // The command starts a server, which loads its model.
                settings.server.wait.get_or_insert(DEFAULT_WAIT);
            }
            if is_rate_inf {
                settings.requests.cap(None);
            }
            Ok::<_, Stop>(settings)
        };
        let server = &target.server;
        let [a, b] = [facts(0, a_labels, *a_gpus), facts(1, b_labels, *b_gpus)];
        Ok([settings(server.at(at_a), a)?, settings(server.at(at_b), b)?])
    }

    /// Whether A and B are one address, however each is written.
    pub(in crate::cli) fn are_one_address(&self) -> bool {
        let address = |url: &Option<String>| {
            let url: BaseUrl = url.as_ref()?.parse().ok()?;
            Some(url.join(&url.models_path()))
        };
        address(&self.a).is_some_and(|a| address(&self.b) == Some(a))
    }
}

/// Options that `--fit` takes from the runs.
const MEASURED: [&str; 4] = ["--hardware", "--serving-model", "--precision", "--tensor-parallel"];

/// The two models of an A/B test.
#[derive(Debug, Args)]
#[command(mut_args(|arg| match arg.get_id().as_str() {
    "rounds" | "metrics" | "margin" | "require" => arg.requires("ab"),
    _ => arg,
}))]
pub(in crate::cli) struct SimulatedSideArgs {
    /// Compare two models in rounds, as `ab` compares two servers: the options of A and those of B, each in
    /// quotes, on top of those outside, such as --ab '' '--max-num-seqs 64' [default: one model]
    #[arg(long, num_args = 2, value_names = ["A", "B"], allow_hyphen_values = true, help_heading = "A/B",
          conflicts_with_all = ["sweep", "rates", "repeats", "objectives", "undecided"])]
    ab: Option<Vec<String>>,

    #[command(flatten, next_help_heading = "A/B")]
    pub(in crate::cli) design: DesignArgs,
}

impl SimulatedSideArgs {
    /// Returns the models of A and of B. They are `model` with the options of each. Of one model there is no B.
    /// `parsed` takes the words of a whole command line.
    pub(in crate::cli) fn models(
        &self,
        model: &ModelArgs,
        fitted: bool,
        parsed: impl Fn(Vec<OsString>) -> Result<ModelArgs, clap::Error>,
    ) -> Result<(ModelArgs, Option<ModelArgs>), Stop> {
        let Some([a, b]) = self.ab.as_deref() else { return Ok((model.clone(), None)) };
        let of = |name, flags: &String| {
            let words = words_of(name, flags, fitted)?;
            // The verb and what follows.
            let arguments = command_line::arguments().into_iter().skip(1);
            let all = arguments.chain(words.into_iter().map(OsString::from)).collect();
            parsed(all).map_err(|error| refused(name, flags, &by_clap(&error)))
        };
        both(of(AbSide::A, a), of(AbSide::B, b).map(Some))
    }
}

/// The options of a model by themselves.
#[derive(Debug, Args)]
struct Flags {
    #[command(flatten)]
    model: ModelArgs,
}

/// The words of one side's options, which are options of the model and nothing else.
fn words_of(side: AbSide, flags: &str, fitted: bool) -> Result<Vec<String>, Stop> {
    let words = shlex::split(flags).ok_or_else(|| refused(side, flags, "a quote is not closed"))?;
    if let Some(word) = words.iter().find(|word| fitted && MEASURED.iter().any(|name| word.starts_with(name))) {
        let why = format!("{word} is of the server that --fit fits, which was measured as it was");
        return Err(refused(side, flags, &why));
    }
    let alone = Flags::augment_args(Command::new("model").no_binary_name(true).disable_help_flag(true));
    match alone.try_get_matches_from(&words) {
        // What one option needs may be outside.
        Err(error) if error.kind() != ErrorKind::MissingRequiredArgument => Err(refused(side, flags, &by_clap(&error))),
        _ => Ok(words),
    }
}

fn refused(side: AbSide, flags: &str, why: &str) -> Stop {
    Stop::usage(format!(
        "--ab, {side} '{flags}': {why}\nhint: give options of the model in quotes, such as '--max-num-seqs 64'; the \
         load is the same for both"
    ))
}

/// The first line of what clap says.
fn by_clap(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let first = text.lines().next().unwrap_or_default();
    first.strip_prefix("error: ").unwrap_or(first).to_owned()
}
