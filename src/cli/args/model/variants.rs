//! Variants of a tuning as the simulator has them, and models that are fitted to runs.

use std::path::PathBuf;

use clap::Args;

use super::ModelArgs;
use crate::analysis::Objective;
use crate::cli::args::work::WorkArgs;
use crate::cli::output::render;
use crate::experiment::tune::{Forecaster, Predictor, TuneCandidate, TuneRuns, TuneSpec};
use crate::experiment::{EngineFit, Grade, MeasuredRun};
use crate::live::Screen;
use crate::record::{ClientLimits, DeploymentFacts, RunLog};
use crate::report::{Extent, Format, documents};
use crate::session::exits::ExitRules;
use crate::session::simulated::{Described, SimulatedWork, Simulation, fitted_to, runs_to_fit};
use crate::session::{Printer, Stop, datasets};
use crate::workload::{RequestClass, WorkloadSpec};

/// Fitting to runs.
#[derive(Debug, Args)]
#[command(next_help_heading = "Fit")]
pub(in crate::cli) struct FitArgs {
    /// Fit the engine to measured runs: their folders, or a sweep's, separated by commas. If hardware and model are
    /// known (here, or in the runs), fit the efficiencies of their roofline and the overhead of a step; else the cost
    /// of a step, a sequence and a prompt token. All runs must be of one server [default: no fit]
    #[arg(long, value_name = "RUN", value_delimiter = ',',
          conflicts_with_all = ["ttft", "itl", "step_times", "speculative"])]
    pub(in crate::cli) fit: Vec<PathBuf>,
}

impl FitArgs {
    /// Returns the model that was described for this workload. Its engine is fitted where that is asked for. A poor fit
    /// is returned too.
    pub(in crate::cli) fn describe(
        &self,
        model: &ModelArgs,
        spec: &WorkloadSpec,
        printer: Printer,
    ) -> Result<(Described, Option<EngineFit>), Stop> {
        if self.fit.is_empty() {
            return Ok((model.describe_for(Some(spec))?, None));
        }
        let fitted = fitted(model, &runs_to_fit(&self.fit)?, &spec.classes, printer)?;
        Ok((fitted.0, Some(fitted.1)))
    }
}

/// The model for requests of these classes, its engine fitted to `runs`.
fn fitted(
    model: &ModelArgs,
    runs: &[MeasuredRun],
    classes: &[RequestClass],
    printer: Printer,
) -> Result<(Described, EngineFit), Stop> {
    let known = |model: ModelArgs, facts: &DeploymentFacts| model.with_facts(facts);
    fitted_to(runs, |facts| facts.iter().fold(model.clone(), known).describe(classes), printer)
}

/// Returns the model of a variant, or why there is none. It is that of its flags as `skyline mock` has them, under the
/// names of vLLM too. What the simulator does not know of the flags common to all variants is left out.
fn model(spec: &TuneSpec, of: &TuneCandidate) -> Result<ModelArgs, String> {
    let common = spec.server.flags.as_deref().unwrap_or_default();
    let own = ModelArgs::of_flags(&of.flags)?;
    let model = ModelArgs::of_flags(&format!("{common} {}", of.flags)).unwrap_or(own);
    let server = &spec.server;
    Ok(model.with_facts(&DeploymentFacts {
        hardware: server.hardware.clone(),
        serving_model: server.serving_model.clone(),
        precision: server.precision.clone(),
        ..DeploymentFacts::default()
    }))
}

fn described(spec: &TuneSpec, of: &TuneCandidate, workload: &WorkloadSpec) -> Result<Described, String> {
    model(spec, of)?.describe_for(Some(workload)).map_err(|stop| stop.first_line())
}

/// Returns the forecaster: the simulator, fitted to the runs whose logs `log` reads.
pub(in crate::cli) fn predictor<'a>(
    spec: &'a TuneSpec,
    workload: &WorkloadSpec,
    log: impl FnMut(&str) -> Option<RunLog> + 'a,
    printer: Printer,
) -> impl Forecaster + 'a {
    let candidates = spec.candidates();
    let fleets = candidates.iter().map(|of| (described(spec, of, workload).map(|model| model.fleet), of.gpus));
    let fleets = fleets.collect();
    let classes = workload.classes.clone();
    let fit = move |measured: usize, runs: &[MeasuredRun]| -> Result<EngineFit, String> {
        let model = model(spec, &candidates[measured])?;
        fitted(&model, runs, &classes, printer).map(|(_, fit)| fit).map_err(|stop| stop.first_line())
    };
    Predictor { fleets, workload: workload.clone(), objectives: spec.objectives.clone(), log, fit }
}

/// A tuning of the simulated servers of a file, or what is wrong with them. It is stored, shown and judged so.
pub(in crate::cli) fn simulated_tuning(
    what: &WorkArgs,
    (out, screen, rules): (Option<PathBuf>, Screen, ExitRules),
    printer: Printer,
) -> Result<(Simulation, SimulatedWork), Stop> {
    let (file, seconds) = what.named();
    let file = file.ok_or_else(|| {
        Stop::usage("--tune needs a file of axes\nhint: skyline tune --example prints one; tune_seqs is built in")
    })?;
    let tuning = TuneSpec::load(file).map_err(Stop::usage)?;
    let workload = tuning.workload().map_err(Stop::usage)?;
    let models = tuning.candidates().into_iter().map(|of| {
        described(&tuning, &of, &workload).map_err(|why| {
            Stop::usage(format!(
                "variant {} cannot be simulated: {why}\nhint: the simulator takes the flags of skyline mock; \
                 skyline tune tries the others on a server",
                of.name
            ))
        })
    });
    let models = models.collect::<Result<Vec<_>, _>>()?;
    let model = models.first().cloned().ok_or_else(|| Stop::impossible("a tuning without variants"))?;
    let (spec, datasets) = datasets::open(workload, None, screen, printer)?;
    Objective::check_all(&tuning.objectives, &spec).map_err(Stop::usage)?;
    let runs = TuneRuns::new(&spec, seconds, what.seed, None);
    let (limits, engine_fit, objectives) = (ClientLimits::default(), None, tuning.objectives.clone());
    let simulation = Simulation { spec, datasets, model, limits, engine_fit, objectives, rules, out, screen };
    Ok((simulation, SimulatedWork::Tune { spec: Box::new(tuning), runs, models }))
}

/// Refuses to predict from an engine that does not reproduce the runs of its fit.
pub(in crate::cli) fn refuse_poor_fit(fit: Option<&EngineFit>, printer: Printer) -> Result<(), Stop> {
    let Some(fit) = fit.filter(|fit| fit.grade == Grade::Poor) else { return Ok(()) };
    printer.words(&fit_in_words(fit)?);
    Err(Stop::impossible(
        "the fitted engine does not reproduce its runs, so nothing is predicted from it\nhint: did one server answer \
         alone, and with what limits (--max-num-seqs, --max-num-batched-tokens)? the fit does not see a queue in front \
         of it",
    ))
}

pub(in crate::cli) fn fit_in_words(fit: &EngineFit) -> Result<String, Stop> {
    render(Format::Text(Extent::Full), fit, || documents::engine_fit(fit))
}
