//! `skyline simulate --ab`: an A/B test of two models, in virtual time.

use std::ffi::OsString;

use clap::{Args, Command, error::ErrorKind};

use super::simulation::Simulation;
use crate::cli::args::{Described, DesignArgs, ModelArgs};
use crate::engine::AnswerForm;
use crate::experiment::{AbDesign, AbExperiment, AbOrder, AbRun, AbSide, RunRequest, seed_of_run};
use crate::live::StepLine;
use crate::session::campaign::ab::AbQuestion;
use crate::session::campaign::dir::MANIFEST;
use crate::session::{Exit, PlannedRun, Printer, Stop, both, command_line, save};

/// Options that `--fit` takes from the runs.
const MEASURED: [&str; 4] = ["--hardware", "--serving-model", "--precision", "--tensor-parallel"];

/// The two models of an A/B test.
#[derive(Debug, Args)]
#[command(mut_args(|arg| match arg.get_id().as_str() {
    "rounds" | "metrics" | "margin" | "require" => arg.requires("ab"),
    _ => arg,
}))]
pub(super) struct SimulatedSideArgs {
    /// Compare two models in rounds, as `ab` compares two servers: the options of A and those of B, each in
    /// quotes, on top of those outside, such as --ab '' '--max-num-seqs 64' [default: one model]
    #[arg(long, num_args = 2, value_names = ["A", "B"], allow_hyphen_values = true, help_heading = "A/B",
          conflicts_with_all = ["sweep", "rates", "repeats", "objectives", "undecided"])]
    ab: Option<Vec<String>>,

    #[command(flatten, next_help_heading = "A/B")]
    pub(super) design: DesignArgs,
}

impl SimulatedSideArgs {
    /// Returns the models of A and of B. They are `model` with the options of each. Of one model there is no B.
    /// `parsed` takes the words of a whole command line.
    pub(super) fn models(
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
pub(super) fn by_clap(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let first = text.lines().next().unwrap_or_default();
    first.strip_prefix("error: ").unwrap_or(first).to_owned()
}

/// The plan of the rounds.
pub(super) struct RoundsPlan {
    other: Described,
    design: AbDesign,
    rounds: Vec<PlannedRun>,
}

impl RoundsPlan {
    /// The rounds of `simulation`'s model against `other`.
    pub(super) fn new(args: &DesignArgs, simulation: &Simulation, other: Described) -> Result<Self, Stop> {
        let spec = &simulation.spec;
        let design = args.design(spec, AnswerForm::Streamed)?.ordered(AbOrder::Drawn, spec.seed);
        let rounds = PlannedRun::all(spec, &simulation.datasets, design.rounds)?;
        Ok(Self { other, design, rounds })
    }
}

/// Executes the rounds of an A/B test of `simulation`'s model, A, and `other`, B.
pub(super) fn run(
    simulation: &Simulation,
    RoundsPlan { other, design, rounds }: RoundsPlan,
    printer: Printer,
) -> Result<Exit, Stop> {
    let Simulation { spec, model, rules, .. } = simulation;
    let question = AbQuestion::new(spec.without_texts(), &design, rules.require, 0);
    let folder = simulation.create_folder(&format!("{}-ab", spec.name), jiff::Timestamp::now())?;
    if let Some(folder) = &folder {
        let manifest = serde_json::to_string_pretty(&question).map_err(Stop::impossible)?;
        save::text(&folder.join(MANIFEST), &manifest)?;
    }
    let line = StepLine::counting(simulation.screen, "simulating", 2 * design.rounds);
    let case = |request: &RunRequest<AbRun>| {
        let AbRun { side, round, .. } = request.part;
        let mut model = if side == AbSide::A { model } else { &other }.clone();
        model.fleet.seed = seed_of_run(model.fleet.seed, round);
        let words = format!("simulating round {round}, {side}");
        Ok((PlannedRun::numbered(&rounds, round)?, model, words))
    };
    let mut experiment = AbExperiment::new(design, rules.invalid);
    let test = simulation.conduct(&mut experiment, folder.as_deref(), line, case, |_, _| ())?;
    simulation.finish(&test, folder.as_deref(), printer)
}
