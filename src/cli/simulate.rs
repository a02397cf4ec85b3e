//! `skyline simulate`: what to expect of a deployment, before it is there.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Command, FromArgMatches as _};

use super::args::{
    ClientLimitArgs, FitArgs, ModelArgs, ObjectiveArgs, SimulatedLoads, SimulatedSideArgs, ValidityArgs, WorkloadArgs,
    fit_in_words, note_idle, predictor, refuse_poor_fit, simulated_tuning,
};
use super::output::{ShowArgs, advise_repeats};
use crate::analysis::Objective;
use crate::engine::AnswerForm;
use crate::experiment::AbOrder;
use crate::report::{self, Format, documents};
use crate::session::campaign::reported::Reported;
use crate::session::exits::{self, ExitRules};
use crate::session::simulated::{SimulatedWork as Work, Simulation};
use crate::session::{Exit, PlannedRun, Printer, Stop, both, datasets, folder, save};

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

    /// Count the prompts and answers of a dataset with this tokenizer (a tokenizer.json, tekken.json or .tiktoken
    /// file, a folder that holds one, or a Hugging Face id), as `bench` does with it; other prompts have only lengths
    /// here [default: an estimate]
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

pub(super) fn run(args: &SimulateArgs, printer: Printer) -> Result<Exit, Stop> {
    let (simulation, work) = if args.loads.tune { args.tuning(printer)? } else { args.plan(printer)? };
    simulation.notes().iter().for_each(|note| printer.words(note));
    refuse_poor_fit(simulation.engine_fit.as_ref(), printer)?;
    simulation.out.as_deref().map_or(Ok(()), folder::base)?;
    let is_one = matches!(&work, Work::Rates(..)) || matches!(&work, Work::Runs(runs) if runs.len() == 1);
    if let Some(fit) = simulation.engine_fit.as_ref().filter(|_| !is_one && args.show.shown() != Format::Json) {
        printer.words(&fit_in_words(fit)?);
    }
    match work {
        Work::Sweep(plan) => args.finish(&simulation, simulation.sweep(plan)?, printer),
        Work::Ab { other, design, rounds } => {
            args.finish(&simulation, simulation.ab(&other, design, &rounds)?, printer)
        }
        Work::Tune { spec, runs, models } => {
            let (tuned, logs) = ((*spec).clone(), RefCell::new(HashMap::new()));
            let log = |name: &str| logs.borrow().get(name).cloned();
            let forecaster = Box::new(predictor(&tuned, &simulation.spec, log, printer));
            args.finish(&simulation, simulation.tune((*spec, runs, &models), forecaster, &logs)?, printer)
        }
        Work::Rates(fit, axis) => {
            let predicted = simulation.rates(*fit, &axis)?;
            args.show.result(printer, &predicted, || documents::predicted_rates(&predicted))?;
            Ok(Exit::Fine)
        }
        Work::Runs(runs) => {
            advise_repeats(args.workload.repeats, printer);
            match <[PlannedRun; 1]>::try_from(runs) {
                Ok([run]) => args.once(&simulation, run, printer),
                Err(runs) => args.finish(&simulation, simulation.repeats(&runs)?, printer),
            }
        }
    }
}

impl SimulateArgs {
    /// Returns what is simulated, or the mistakes in it.
    fn plan(&self, printer: Printer) -> Result<(Simulation, Work), Stop> {
        let Self { workload, clients, loads, sides, fit, show, .. } = self;
        let is_kept = workload.repeats > 1 || self.out.is_some() || self.objectives.are_given();
        let outputs = both(show.check(), loads.check(!fit.fit.is_empty(), is_kept));
        let spec = workload.spec(clients.cap(), loads.swept().as_ref(), printer);
        let spec = clients.applied(both(outputs, spec)?.1)?;
        let (first, other) = sides.models(&self.model, !fit.fit.is_empty(), model_of)?;
        let describe = |model: &ModelArgs| fit.describe(model, &spec, printer);
        let ((), (model, engine_fit)) =
            both(datasets::check_tokenizer(&spec, self.tokenizer.as_deref()), describe(&first))?;
        let other = other.as_ref().map(describe).transpose()?.map(|(other, _)| other);
        let (spec, datasets) = datasets::open(spec, self.tokenizer.as_deref(), loads.screen(), printer)?;
        let objectives = loads.tiers.objectives(&self.objectives.objectives());
        Objective::check_all(&objectives, &spec).map_err(Stop::usage)?;
        // Where users stand for a rate, there are never more requests than users.
        let cap = clients.cap().filter(|_| !workload.load.is_rate_inf());
        let limits = clients.limits(&spec, cap)?;
        note_idle(spec.clients.as_ref(), &limits, printer);
        let rules = ExitRules { require: sides.design.require, ..self.objectives.undecided.rules(self.validity) };
        let (out, screen) = (self.out.clone(), loads.screen());
        let simulation = Simulation { spec, datasets, model, limits, engine_fit, objectives, rules, out, screen };
        let Simulation { spec, datasets, .. } = &simulation;
        let work = match (&simulation.engine_fit, &loads.rates, other) {
            (.., Some(other)) => {
                let design = sides.design.design(spec, AnswerForm::Streamed)?.ordered(AbOrder::Drawn, spec.seed);
                let rounds = PlannedRun::all(spec, datasets, design.rounds)?;
                Work::Ab { other: Box::new(other), design, rounds }
            }
            _ if loads.sweep => Work::Sweep(loads.plan(&simulation, &self.objectives, workload)?),
            (Some(fit), Some(axis), None) => Work::Rates(Box::new(fit.clone()), axis.clone()),
            _ => Work::Runs(PlannedRun::all(spec, datasets, workload.repeats)?),
        };
        Ok((simulation, work))
    }

    /// A tuning of the simulated servers of a file, or the mistakes in it.
    fn tuning(&self, printer: Printer) -> Result<(Simulation, Work), Stop> {
        self.show.check()?;
        let (out, screen, rules) = (self.out.clone(), self.loads.screen(), self.validity.rules());
        simulated_tuning(&self.workload.what, (out, screen, rules), printer)
    }

    /// Simulates one run, and shows the prediction.
    fn once(&self, simulation: &Simulation, run: PlannedRun, printer: Printer) -> Result<Exit, Stop> {
        let (prediction, stored) = simulation.once(run)?;
        self.show.result(printer, &prediction, || documents::prediction(&prediction))?;
        if let Some(folder) = stored? {
            save::say_saved(&folder, None, true, printer);
        }
        Ok(exits::of_run(&prediction.summary, simulation.rules, printer))
    }

    /// Shows what an experiment found, and says where it is stored. As JSON it has the fit of the engine.
    fn finish<R: Reported>(
        &self,
        simulation: &Simulation,
        (found, folder): (R, Option<PathBuf>),
        printer: Printer,
    ) -> Result<Exit, Stop> {
        let json = || match &simulation.engine_fit {
            Some(fit) => report::fitted_json(&found, fit),
            None => report::json(&found),
        };
        self.show.with_json(printer, || found.document(), json)?;
        if let Some(folder) = &folder {
            save::say_saved(folder, R::FORM.look, true, printer);
        }
        Ok(found.exit(simulation.rules, printer))
    }
}

/// The model of a command line, of which a later option replaces an earlier one.
fn model_of(words: Vec<OsString>) -> Result<ModelArgs, clap::Error> {
    let command = SimulateArgs::augment_args(Command::new("simulate")).args_override_self(true);
    SimulateArgs::from_arg_matches(&command.try_get_matches_from(words)?).map(|args| args.model)
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

    fn plan(typed: &[&str]) -> Result<(Simulation, Work), Stop> {
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
    fn tiers_are_part_of_a_sweep_alone() {
        let typed =
            ["--sweep", "--tier=fast=p95 ttft < 1s", "--tier=slow=p95 ttft < 9s", "--objective=error_rate < 1%"];
        let Ok((simulation, Work::Sweep(sweep))) = plan(&typed) else { panic!("no sweep") };
        assert_eq!((simulation.objectives.len(), sweep.objectives.len(), sweep.tiers.len()), (3, 3, 2));
        assert_eq!(
            sweep.objectives_in_words(),
            "fast: error_rate < 1%; p95 ttft < 1s · slow: error_rate < 1%; p95 ttft < 9s"
        );
        let stop = plan(&["--tier=fast=p95 ttft < 1s"]).err().unwrap();
        assert!(stop.message().contains("--tier needs --sweep"), "{}", stop.message());
    }

    #[test]
    fn a_pipe_or_quiet_leaves_no_progress() {
        for typed in [&["--quiet"][..], &["--quiet", "--sweep"], &["-q"], &["--quiet", "--repeats=3"]] {
            assert_eq!(plan(typed).unwrap().0.screen, Screen::Quiet, "{typed:?}");
        }
    }

    #[test]
    fn a_plan_says_which_runs_are_simulated() {
        let runs = |typed: &[&str]| match plan(typed).unwrap().1 {
            Work::Runs(runs) => runs.len(),
            _ => 0,
        };
        assert_eq!((runs(&[]), runs(&["--repeats=3"]), runs(&["--sweep"])), (1, 3, 0));
        let notes = plan(&["--router=prefix-aware", "--replicas=2"]).unwrap().0.notes();
        assert!(notes.iter().any(|note| note.contains("routes by load here")), "{notes:?}");
    }
}
