//! `skyline simulate`: what to expect of a deployment, before it is there.

mod ab;
mod clients;
mod fit;
mod runs;
mod simulation;
mod sweep;
pub(super) mod variants;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, Command, FromArgMatches as _};

use self::ab::{RoundsPlan, SimulatedSideArgs};
use self::clients::ClientLimitArgs;
use self::fit::FitArgs;
use self::sweep::SimulatedLoads;
use self::variants::tune_runs;
use super::args::{Described, ModelArgs, ObjectiveArgs, ValidityArgs, WorkloadArgs, note_idle};
use super::output::{ShowArgs, advise_repeats, render};
use crate::analysis::Objective;
use crate::experiment::{EngineFit, Grade, LoadAxis, SweepPlan};
use crate::generator::Datasets;
use crate::record::ClientLimits;
use crate::report::{Extent, Format, documents};
use crate::session::exits::ExitRules;
use crate::session::{Exit, PlannedRun, Printer, Stop, both, datasets, folder};
use crate::simulator::RoutingRule;
use crate::workload::{TraceFindings, WorkloadSpec};

pub(super) use self::simulation::Simulation;

/// Predict how a deployment would do under a workload, in virtual time
#[derive(Debug, Args)]
pub(super) struct SimulateArgs {
    #[command(flatten)]
    workload: WorkloadArgs,
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    clients: ClientLimitArgs,
    #[command(flatten, next_help_heading = "Loads")]
    loads: SimulatedLoads,
    #[command(flatten)]
    sides: SimulatedSideArgs,
    #[command(flatten)]
    fit: FitArgs,

    /// Count the prompts and answers of a dataset with this tokenizer (a tokenizer.json, a folder that holds one, or
    /// a Hugging Face id), as `bench` does with it; other prompts have only lengths here [default: an estimate]
    #[arg(long, value_name = "PATH|ID", help_heading = "Dataset")]
    tokenizer: Option<String>,

    #[command(flatten)]
    objectives: ObjectiveArgs,

    #[command(flatten, next_help_heading = "Output")]
    validity: ValidityArgs,

    /// Folder in which the run's folder is created [default: not saved, as it can be computed again at any time]
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    out: Option<PathBuf>,

    #[command(flatten)]
    show: ShowArgs,
}

/// The plan of what is simulated.
struct SimulatePlan {
    simulation: Simulation,
    work: Work,
    /// Notes that the user should know beforehand.
    notes: Vec<String>,
}

/// The runs that are simulated.
enum Work {
    /// A number of repeats, or one run.
    Runs(Vec<PlannedRun>),
    /// A run at each of these rates, predicted from a fit.
    Rates(Box<EngineFit>, LoadAxis),
    /// A search over loads.
    Sweep(SweepPlan),
    /// The model against another one, in rounds.
    Ab(Box<RoundsPlan>),
}

pub(super) fn run(args: &SimulateArgs, printer: Printer) -> Result<Exit, Stop> {
    if args.loads.tune {
        return args.tune(printer);
    }
    let SimulatePlan { simulation, work, notes } = args.plan(printer)?;
    for note in &notes {
        printer.words(note);
    }
    refuse_poor_fit(simulation.engine_fit.as_ref(), printer)?;
    simulation.out.as_deref().map_or(Ok(()), folder::base)?;
    // Where the fit has no place in what is shown.
    let apart = matches!(work, Work::Sweep(_) | Work::Ab(_)) || simulation.repeats > 1;
    if let Some(fit) = simulation.engine_fit.as_ref().filter(|_| apart && args.show.shown() != Format::Json) {
        printer.words(&fit_in_words(fit)?);
    }
    match work {
        Work::Sweep(plan) => sweep::run(&simulation, plan, printer),
        Work::Ab(rounds) => ab::run(&simulation, *rounds, printer),
        Work::Rates(fit, axis) => runs::rates(&simulation, *fit, &axis, printer),
        Work::Runs(runs) => {
            advise_repeats(simulation.repeats, printer);
            match <[PlannedRun; 1]>::try_from(runs) {
                Ok([run]) => runs::once(&simulation, run, printer),
                Err(runs) => runs::repeatedly(&simulation, &runs, printer),
            }
        }
    }
}

impl SimulateArgs {
    /// Returns the plan of what is simulated, or the mistakes in it.
    fn plan(&self, printer: Printer) -> Result<SimulatePlan, Stop> {
        let swept = self.loads.sweep_users.as_ref();
        let ((), spec) = both(self.check_outputs(), self.workload.spec(self.clients.cap(), swept, printer))?;
        let spec = self.clients.applied(spec)?;
        let tokenizer = self.tokenizer.as_deref();
        let (first, other) = self.sides.models(&self.model, !self.fit.fit.is_empty(), model_of)?;
        let describe = |model: &ModelArgs| self.fit.describe(model, &spec, printer);
        let ((), described) = both(self.check_tokenizer(&spec), describe(&first))?;
        let other = other.as_ref().map(describe).transpose()?.map(|(other, _)| other);
        let (model, engine_fit) = described;
        let screen = self.loads.screen();
        let (spec, datasets) = datasets::open(spec, tokenizer, screen, printer)?;
        let objectives = self.objectives.objectives();
        Objective::check_all(&objectives, &spec).map_err(Stop::usage)?;
        let notes = notes(&spec, model.fleet.layout.rule());
        // Where users stand for a rate, there are never more requests than users.
        let cap = self.clients.cap().filter(|_| !self.workload.load.is_rate_inf());
        let limits = self.clients.limits(&spec, cap)?;
        note_idle(spec.clients.as_ref(), &limits, printer);
        let simulation = Simulation { limits, engine_fit, ..self.simulation(spec, datasets, model, objectives) };
        let work = match (&simulation.engine_fit, &self.loads.rates, other) {
            (.., Some(other)) => Work::Ab(Box::new(RoundsPlan::new(&self.sides.design, &simulation, other)?)),
            _ if self.loads.sweep => Work::Sweep(self.loads.plan(&simulation, self.workload.what.named().1)?),
            (Some(fit), Some(axis), None) => Work::Rates(Box::new(fit.clone()), axis.clone()),
            _ => Work::Runs(PlannedRun::all(&simulation.spec, &simulation.datasets, simulation.repeats)?),
        };
        Ok(SimulatePlan { simulation, work, notes })
    }

    /// Tunes the simulated servers of a file.
    fn tune(&self, printer: Printer) -> Result<Exit, Stop> {
        self.show.check()?;
        let (file, seconds) = self.workload.what.named();
        let file = file.ok_or_else(|| {
            Stop::usage("--tune needs a file of axes\nhint: skyline tune --example prints one; tune_seqs is built in")
        })?;
        let screen = self.loads.screen();
        let (spec, workload, models) = variants::load(file)?;
        let Some(model) = models.first().cloned() else {
            return Err(Stop::impossible("a tuning without variants"));
        };
        let (workload, datasets) = datasets::open(workload, None, screen, printer)?;
        Objective::check_all(&spec.objectives, &workload).map_err(Stop::usage)?;
        for note in notes(&workload, model.fleet.layout.rule()) {
            printer.words(&note);
        }
        self.out.as_deref().map_or(Ok(()), folder::base)?;
        let runs = tune_runs(&workload, seconds, self.workload.what.seed, None);
        let simulation = self.simulation(workload, datasets, model, spec.objectives.clone());
        variants::simulate(&spec, runs, &models, &simulation, printer)
    }

    /// Simulation of this workload, shown and stored as was typed.
    fn simulation(
        &self,
        spec: WorkloadSpec,
        datasets: Arc<Datasets>,
        model: Described,
        objectives: Vec<Objective>,
    ) -> Simulation {
        let rules = self.objectives.undecided.rules(self.validity);
        Simulation {
            spec,
            datasets,
            model,
            limits: ClientLimits::default(),
            engine_fit: None,
            objectives,
            repeats: self.workload.repeats,
            rules: ExitRules { require: self.sides.design.require, ..rules },
            out: self.out.clone(),
            show: self.show.clone(),
            screen: self.loads.screen(),
        }
    }

    /// Refuses options that do not go together.
    fn check_outputs(&self) -> Result<(), Stop> {
        let rates_alone = self.loads.rates.is_some() && !self.loads.sweep;
        let kept = self.workload.repeats > 1 || self.out.is_some() || self.objectives.are_given();
        let options = if rates_alone && self.fit.fit.is_empty() {
            Err(Stop::usage(
                "--rates needs --sweep, or --fit with runs that were measured\nhint: for one rate there is --rate",
            ))
        } else if rates_alone && kept {
            Err(Stop::usage(
                "--rates with --fit shows one prediction of each rate, which is neither stored, repeated nor judged\n\
                 hint: leave --repeats, --out, --objective and --undecided out, or give --sweep too",
            ))
        } else {
            Ok(())
        };
        both(self.show.check(), options).map(drop)
    }

    fn check_tokenizer(&self, spec: &WorkloadSpec) -> Result<(), Stop> {
        if self.tokenizer.is_some() && !spec.classes.iter().any(|class| class.prompt.is_verbatim()) {
            return Err(Stop::usage(format!(
                "--tokenizer counts the rows of a dataset, and `{}` has none\nhint: leave it out",
                spec.name
            )));
        }
        Ok(())
    }
}

fn parsed(words: Vec<OsString>) -> Result<SimulateArgs, clap::Error> {
    let command = SimulateArgs::augment_args(Command::new("simulate")).args_override_self(true);
    SimulateArgs::from_arg_matches(&command.try_get_matches_from(words)?)
}

/// The model of a command line, of which a later option replaces an earlier one.
fn model_of(words: Vec<OsString>) -> Result<ModelArgs, clap::Error> {
    parsed(words).map(|args| args.model)
}

/// Returns notes on what a simulation cannot show of a workload.
fn notes(spec: &WorkloadSpec, rule: RoutingRule) -> Vec<String> {
    let mut shared = spec.classes.iter().filter_map(|class| class.shared_prefix.as_ref()).peekable();
    let alike = spec.classes.iter().any(|class| class.conversation.is_some())
        || spec.arrival.found().is_some_and(TraceFindings::names_blocks);
    let mut notes = Vec::new();
    if rule == RoutingRule::PrefixAware && shared.peek().is_none() && !alike {
        notes.push("note: all prompts of a workload differ, so prefix-aware routes by load here");
    }
    if shared.any(|prefixes| prefixes.warmed() > 0) {
        notes.push("note: a simulated server begins with an empty cache; no prefix is warm here");
    }
    if !spec.checks.is_empty() || spec.classes.iter().any(|class| class.answer.is_some()) {
        notes.push(
            "note: the simulator produces no text: checks are not sent, and answers of a form are as long as their \
             limit",
        );
    }
    notes.into_iter().map(str::to_owned).collect()
}

/// Refuses to predict from an engine that does not reproduce the runs of its fit.
fn refuse_poor_fit(fit: Option<&EngineFit>, printer: Printer) -> Result<(), Stop> {
    let Some(fit) = fit.filter(|fit| fit.grade == Grade::Poor) else { return Ok(()) };
    printer.words(&fit_in_words(fit)?);
    Err(Stop::impossible(
        "the fitted engine does not reproduce its runs, so nothing is predicted from it\nhint: did one server answer \
         alone, and with what limits (--max-num-seqs, --max-num-batched-tokens)? the fit does not see a queue in front \
         of it",
    ))
}

fn fit_in_words(fit: &EngineFit) -> Result<String, Stop> {
    render(Format::Text(Extent::Full), fit, || documents::engine_fit(fit))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::live::Screen;

    #[derive(Debug, Parser)]
    struct Typed {
        #[command(flatten)]
        simulate: SimulateArgs,
    }

    fn plan(typed: &[&str]) -> Result<SimulatePlan, Stop> {
        Typed::parse_from([&["simulate", "short_chat", "5"], typed].concat()).simulate.plan(Printer)
    }

    #[test]
    fn all_that_was_typed_wrong_is_said_at_once() {
        let wrong = ["--rates=1,2", "--trace-from=5s", "--format=json,html"];
        let stop = plan(&wrong).err().unwrap();
        for problem in ["--rates needs --sweep", "--trace-from needs a trace", "two formats"] {
            assert!(stop.message().contains(problem), "{problem} in {}", stop.message());
        }
        let stop = plan(&["--tokenizer=x", "--tensor-parallel=7"]).err().unwrap();
        for problem in ["--tokenizer counts", "--tensor-parallel 7"] {
            assert!(stop.message().contains(problem), "{problem} in {}", stop.message());
        }
    }

    #[test]
    fn what_a_sweep_would_ignore_is_refused() {
        for ignored in [&["--requests=9"][..], &["--sweep-users=1,2", "--users=3"], &["--sweep-users=1,2", "--rate=3"]]
        {
            let typed = [&["simulate", "short_chat", "--sweep"], ignored].concat();
            let refusal = Typed::try_parse_from(&typed).unwrap_err();
            assert_eq!(refusal.kind(), clap::error::ErrorKind::ArgumentConflict, "{typed:?}");
        }
    }

    #[test]
    fn a_pipe_or_quiet_leaves_no_progress() {
        for typed in [&["--quiet"][..], &["--quiet", "--sweep"], &["-q"], &["--quiet", "--repeats=3"]] {
            assert_eq!(plan(typed).unwrap().simulation.screen, Screen::Quiet, "{typed:?}");
        }
    }

    #[test]
    fn a_plan_says_which_runs_are_simulated() {
        let runs = |typed: &[&str]| match plan(typed).unwrap().work {
            Work::Runs(runs) => runs.len(),
            Work::Rates(..) | Work::Sweep(_) | Work::Ab(_) => 0,
        };
        assert_eq!((runs(&[]), runs(&["--repeats=3"]), runs(&["--sweep"])), (1, 3, 0));
        let notes = plan(&["--router=prefix-aware", "--replicas=2"]).unwrap().notes;
        assert!(notes.iter().any(|note| note.contains("routes by load here")), "{notes:?}");
    }
}
