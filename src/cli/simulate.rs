//! `skyline simulate`: what to expect of a deployment, before it is there.

mod fit;
mod sweep;

use super::show::ShowArgs;
use crate::session::save;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use self::fit::FitArgs;
pub(super) use self::fit::fitted_to;
use self::sweep::SweepLoads;
use super::args::{Described, ModelArgs, ValidityArgs, WorkloadArgs};
use super::outcome::{self, Format};
use super::series;
use crate::analysis::{Objective, Summary, summarise};
use crate::experiment::{
    CompletedRun, Diagnosis, EngineFit, Experiment, Grade, Load, LoadAxis, PredictedRates, RepeatRun,
    RepeatsExperiment, RunRequest, VirtualExecutor, drive, predict, run_virtually, seed_of_run,
};
use crate::generator::Datasets;
use crate::live::{Screen, StepLine};
use crate::record::{ClientLimits, EngineFacts, PromptFacts, PromptMethod, RunHeader, RunLog, StampSource};
use crate::session::{Exit, PlannedRun, Printer, Stop, command_line, datasets, folder, host, pair};
use crate::simulator::{BLOCK_SIZE, RoutingRule};
use crate::units::three_digits;
use crate::workload::{Overrides, TraceFindings, WorkloadSpec};

/// What stands in a run where the name of a server would.
const ENGINE: &str = "simulator";

/// Predict how a deployment would do under a workload, in virtual time
#[derive(Debug, Args)]
pub(super) struct SimulateArgs {
    #[command(flatten)]
    workload: WorkloadArgs,
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten, next_help_heading = "Loads")]
    loads: SweepLoads,
    #[command(flatten)]
    fit: FitArgs,

    /// Count the prompts and answers of a dataset with this tokenizer (a tokenizer.json, a folder that holds one, or a
    /// Hugging Face id), as a run does that is given it; other prompts have lengths and no text here [default: an
    /// estimate]
    #[arg(long, value_name = "PATH|ID", help_heading = "Dataset")]
    tokenizer: Option<String>,

    /// Hold the prediction against an objective, such as `p95 ttft < 500ms`, `error_rate < 1%`, `goodput > 5/s`,
    /// `slo_attainment > 95%` or, of one class, priority, tenant or model, `p95 ttft of NAME < 500ms`, or
    /// a preset of two, such as `mlperf:llama-3.1-8b:interactive`; a miss exits with 1; may be repeated
    #[arg(long = "objective", value_name = "OBJECTIVE", help_heading = "Output")]
    objectives: Vec<Objective>,

    #[command(flatten, next_help_heading = "Output")]
    validity: ValidityArgs,

    /// Folder in which the run gets a folder of its own [default: not kept, as it can be computed again at any time]
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    out: Option<PathBuf>,

    #[command(flatten)]
    show: ShowArgs,
}

pub(super) fn run(args: &SimulateArgs, printer: Printer) -> Result<Exit, Stop> {
    args.show.check()?;
    let spec = args.workload.spec(printer)?;
    let tokenizer = args.tokenizer.as_deref();
    if tokenizer.is_some() && !spec.classes.iter().any(|class| class.prompt.is_verbatim()) {
        return Err(Stop::usage(format!(
            "--tokenizer counts the rows of a dataset, and `{}` has none\nhint: leave it out",
            spec.name
        )));
    }
    let (spec, datasets) = datasets::open(spec, tokenizer, printer)?;
    save::check_objectives(&args.objectives, &spec)?;
    if args.loads.rates.is_some() && !args.loads.sweep && args.fit.fit.is_empty() {
        return Err(Stop::usage(
            "--rates needs --sweep, or --fit with runs that were measured\nhint: for one rate there is --rate",
        ));
    }
    let (described, engine_fit) = args.fit.describe(&args.model, printer)?;
    let mut shared = spec.classes.iter().filter_map(|class| class.shared_prefix.as_ref()).peekable();
    let told_alike = spec.classes.iter().any(|class| class.conversation.is_some())
        || spec.arrival.found().is_some_and(TraceFindings::names_blocks);
    if described.fleet.layout.rule() == RoutingRule::PrefixAware && shared.peek().is_none() && !told_alike {
        printer
            .words("note: no two prompts of a workload are alike, so that prefix-aware routes by load here");
    }
    if shared.any(|prefixes| prefixes.warmed() > 0) {
        printer.words("note: a simulated server begins with an empty cache; no prefix is warm here");
    }
    if !spec.checks.is_empty() || spec.classes.iter().any(|class| class.answer.is_some()) {
        printer.words(
            "note: the simulator says nothing: checks are not asked, and answers of a form are taken to be as long as \
             their limit",
        );
    }
    if let Some(fit) = engine_fit.as_ref().filter(|fit| fit.grade == Grade::Poor) {
        printer.words(&outcome::render_fit(fit)?);
        return Err(Stop::impossible(
            "the engine does not tell the runs again that it was fitted to, so that nothing is predicted from it\n\
             hint: was it one server that answered, alone, and with what limits (--max-num-seqs, \
             --max-num-batched-tokens)? a queue in front of it is not seen by its steps",
        ));
    }
    args.out.as_deref().map_or(Ok(()), folder::base)?;
    // Where the fit has no place in what is shown.
    let apart = (args.loads.sweep || args.workload.repeats > 1) && args.show.shown() != Format::Json;
    if let Some(fit) = engine_fit.as_ref().filter(|_| apart) {
        printer.words(&outcome::render_fit(fit)?);
    }
    if args.loads.sweep {
        let fitted = Fitted { described: &described, engine_fit: engine_fit.as_ref() };
        return sweep::run(args, &spec, &datasets, fitted, printer);
    }
    if let (Some(fit), Some(axis)) = (engine_fit.clone(), &args.loads.rates) {
        return rates(args, &spec, &datasets, &described, (fit, axis), printer);
    }
    let runs = PlannedRun::all(&spec, &datasets, args.workload.repeats)?;
    series::advise(args.workload.repeats, printer);
    match <[PlannedRun; 1]>::try_from(runs) {
        Ok([run]) => once(args, run, &described, engine_fit, printer),
        Err(runs) => {
            let fitted = Fitted { described: &described, engine_fit: engine_fit.as_ref() };
            repeatedly(args, runs, fitted, printer)
        }
    }
}

/// What is simulated, and the fit that it comes from where it comes from one.
#[derive(Clone, Copy)]
struct Fitted<'a> {
    described: &'a Described,
    engine_fit: Option<&'a EngineFit>,
}

/// One run, one prediction.
fn once(
    args: &SimulateArgs,
    run: PlannedRun,
    described: &Described,
    engine_fit: Option<EngineFit>,
    printer: Printer,
) -> Result<Exit, Stop> {
    let schedule = run.schedule.clone();
    let header = header(run, described, &args.objectives);
    let (log, mut prediction) =
        predict(header, schedule.clone(), &described.fleet, &args.objectives).map_err(Stop::usage)?;
    prediction.engine_fit = engine_fit;
    let open = prediction.pair(&log, &schedule, &described.fleet).map_err(Stop::usage)?;
    let kept = folder_for(args, &log.header.workload.name, log.header.started_at).and_then(|folder| {
        keep(&log, &prediction.summary, &prediction.diagnosis, folder.as_deref())?;
        if let (Some(open), Some(folder)) = (&open, &folder) {
            let summary = summarise(open, &[]);
            let diagnosis = Diagnosis::of_run(open, &summary);
            keep(open, &summary, &diagnosis, Some(&pair::folder_in(folder)?))?;
        }
        Ok(folder)
    });
    args.show.show(printer, |format| outcome::render_prediction(&prediction, format))?;
    if let Some(folder) = kept? {
        printer.words(&format!("saved to {} (show it again: skyline report {0})", folder.display()));
    }
    Ok(outcome::exit(&prediction.summary, args.validity.policy()))
}

/// What a fitted engine predicts of each of the rates asked for.
fn rates(
    args: &SimulateArgs,
    spec: &WorkloadSpec,
    datasets: &Arc<Datasets>,
    described: &Described,
    (fit, axis): (EngineFit, &LoadAxis),
    printer: Printer,
) -> Result<Exit, Stop> {
    if args.workload.repeats > 1 || args.out.is_some() || !args.objectives.is_empty() {
        return Err(Stop::usage(
            "--rates with --fit shows one prediction of each rate, which is neither kept, repeated nor judged\n\
             hint: leave --repeats, --out and --objective out, or give --sweep too",
        ));
    }
    let mut predicted = Vec::new();
    let mut line = StepLine::start(Screen::detect());
    for rate in axis.loads().into_iter().map(Load::amount) {
        line.at(&format!("{}/s in virtual time", three_digits(rate)));
        let overrides = Overrides { rate_per_s: Some(rate), ..Overrides::default() };
        let spec = spec.clone().with(&overrides).map_err(Stop::usage)?;
        for run in PlannedRun::all(&spec, datasets, 1)? {
            predicted.push(simulated(run, described, &[])?);
        }
    }
    drop(line);
    let predicted = PredictedRates::of(fit, &predicted);
    args.show.show(printer, |format| outcome::render_rates(&predicted, format))?;
    Ok(Exit::Fine)
}

/// Several runs, each with seeds of its own, and what they say together.
fn repeatedly(
    args: &SimulateArgs,
    runs: Vec<PlannedRun>,
    Fitted { described, engine_fit }: Fitted<'_>,
    printer: Printer,
) -> Result<Exit, Stop> {
    let name = runs.first().map_or("", |run| &run.workload.name);
    let parent = folder_for(args, name, jiff::Timestamp::now())?;
    let mut experiment = RepeatsExperiment::new(runs.len() as u64, args.objectives.clone());
    let mut line = StepLine::start(Screen::detect());
    let mut runs = runs.into_iter();
    let run = |request: &RunRequest<RepeatRun>| {
        let RepeatRun { number, of } = request.part;
        let run = runs.next().ok_or_else(|| Stop::impossible(format!("{} is not planned", request.name)))?;
        line.at(&format!("run {number} of {of}, seed {}", run.workload.seed));
        let described = described.with_seed(seed_of_run(described.fleet.seed, number));
        let (log, summary) = simulated(run, &described, &args.objectives)?;
        let diagnosis = Diagnosis::of_run(&log, &summary);
        if let Some(parent) = &parent {
            keep(&log, &summary, &diagnosis, Some(&folder::inside(parent, &request.name)?))?;
        }
        Ok(CompletedRun { summary: Box::new(summary), diagnosis: Some(Box::new(diagnosis)) })
    };
    let recorded = |experiment: &RepeatsExperiment| match (&parent, experiment.result()) {
        (Some(parent), Ok(repeats)) => save::repeats(&repeats, parent),
        _ => Ok(()),
    };
    drive(&mut experiment, &mut VirtualExecutor { run, recorded })?;
    drop(line);
    let repeats = experiment.result().map_err(Stop::impossible)?;
    args.show.show(printer, |format| series::render(&repeats, engine_fit, format))?;
    if let Some(parent) = &parent {
        series::say_where(parent, printer);
    }
    Ok(outcome::exit_of_repeats(&repeats, args.validity.policy()))
}

/// The run in virtual time, and what it found.
fn simulated(
    run: PlannedRun,
    described: &Described,
    objectives: &[Objective],
) -> Result<(RunLog, Summary), Stop> {
    let schedule = run.schedule.clone();
    let header = header(run, described, objectives);
    let log = run_virtually(header, schedule, &described.fleet).map_err(Stop::usage)?;
    let summary = summarise(&log, objectives);
    Ok((log, summary))
}

/// The header of a run that no server answers.
fn header(run: PlannedRun, described: &Described, objectives: &[Objective]) -> RunHeader {
    RunHeader {
        schema: RunHeader::SCHEMA,
        skyline_version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at: jiff::Timestamp::now(),
        command: command_line::masked(std::env::args_os()),
        repeat: run.repeat,
        plan: run.plan,
        prompts: PromptFacts { method: PromptMethod::LengthsOnly, salt: 0, template_tokens: None },
        cache: None,
        engine: engine(described),
        limits: ClientLimits::default(),
        objectives: objectives.iter().map(ToString::to_string).collect(),
        host: host::facts(),
        stamps: StampSource::default(),
        shard: None,
        calibration: None,
        telemetry: Vec::new(),
        deployment: described.deployment(),
        workload: run.workload,
    }
}

/// The simulated server, in place of one that answers.
fn engine(described: &Described) -> EngineFacts {
    EngineFacts {
        engine: ENGINE.to_owned(),
        url: "virtual time".to_owned(),
        endpoint: "no wire".to_owned(),
        streamed: true,
        model: described.model.clone(),
        parameters: None,
        server_version: None,
        max_model_len: described.max_model_len,
        cache_block_tokens: Some(BLOCK_SIZE),
        request_id_prefix: String::new(),
        serving_flags: serde_json::Map::new(),
        modelled: described.facts.clone(),
    }
}

/// Creates the folder of a run, or of several, where they are to be kept.
fn folder_for(args: &SimulateArgs, workload: &str, at: jiff::Timestamp) -> Result<Option<PathBuf>, Stop> {
    args.out.as_deref().map(|base| folder::create(base, workload, ENGINE, at)).transpose()
}

/// Stores the run as `bench` does, where it is to be kept.
fn keep(log: &RunLog, summary: &Summary, diagnosis: &Diagnosis, folder: Option<&Path>) -> Result<(), Stop> {
    let Some(folder) = folder else { return Ok(()) };
    log.store(folder).map_err(Stop::impossible)?;
    save::run(log, summary, diagnosis, folder)
}
