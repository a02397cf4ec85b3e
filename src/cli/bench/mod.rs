//! `skyline bench`: one workload, one server, one run or several.

mod answers;
mod connections;
mod machine;
mod marks;
mod plan;
mod prompts;
mod repeats;
mod start;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use super::args::{GeneratorArgs, RunArgs, Server, ServerArgs, ValidityArgs, WorkloadArgs};
use super::exit::{Exit, Stop};
use super::golden::Golden;
use super::interrupts::Interrupts;
use super::outcome::{self, Format};
use super::planned::PlannedRun;
use super::printer::Printer;
use super::series;
use super::session::Session;
use super::{command_line, datasets, folder, golden, host};
use crate::analysis::{self, Objective, Summary};
use crate::clock::RunClock;
use crate::engine::{ConnectionLimits, Engine};
use crate::generator::PromptBuilder;
use crate::live::{LiveLine, Screen};
use crate::record::{Calibration, EngineFacts, PromptFacts, RunEnding, RunHeader, RunLog, RunLogWriter};
use crate::runner::{Feed, Judge, Keeper, KeptRun, Progress, Run};

/// Time between the reading of the clock and the run's zero, in which the log is opened: on a slow disk too.
const LEAD: Duration = Duration::from_millis(50);

/// Connections opened ahead of a run for each request per second that is planned.
const CONNECTIONS_PER_RATE: f64 = 0.5;

/// Fly a workload against a server and report how it did.
#[derive(Debug, Args)]
pub(super) struct BenchArgs {
    #[command(flatten)]
    workload: WorkloadArgs,
    #[command(flatten)]
    server: ServerArgs,
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    generator: GeneratorArgs,

    /// Hold the run against an objective, such as `p95 ttft < 500ms`, `error_rate < 1%`, `goodput > 5/s`,
    /// `slo_attainment > 95%` or, of one class, priority, tenant or model, `p95 ttft of NAME < 500ms`; a miss exits with 1; may be repeated
    #[arg(long = "objective", value_name = "OBJECTIVE", help_heading = "Output")]
    objectives: Vec<Objective>,

    #[command(flatten, next_help_heading = "Output")]
    validity: ValidityArgs,

    /// Folder in which the run gets a folder of its own
    #[arg(long, value_name = "DIR", help_heading = "Output", default_value = "results")]
    out: PathBuf,

    /// Print the summary as JSON on standard output, and nothing else
    #[arg(long, help_heading = "Output")]
    json: bool,

    /// Do not show progress
    #[arg(long, short, help_heading = "Output")]
    quiet: bool,
}

pub(super) fn run(args: &BenchArgs, printer: Printer) -> Result<Exit, Stop> {
    let interrupts = Interrupts::listen(printer);
    // Everything that can be wrong with what was typed is found before anything is sent.
    let tokenizer = args.run.tokenizer.as_deref();
    let (spec, datasets) = datasets::open(args.workload.spec(printer)?, tokenizer, printer)?;
    datasets::fit(&spec, &datasets, args.server.endpoint())?;
    golden::fit(&spec, args.server.endpoint())?;
    outcome::fit(&args.objectives, &spec)?;
    let mut runs = PlannedRun::all(&spec, &datasets, args.workload.repeats)?;
    series::advise(args.workload.repeats, printer);
    for run in &runs {
        plan::check(&run.workload, &run.schedule, &run.plan)?;
    }
    if let Some(shard) = args.generator.shard {
        runs = runs.into_iter().map(|run| run.share(shard)).collect::<Result<_, _>>()?;
    }
    let salt = args.run.salt.unwrap_or_else(rand::random);
    let exact = prompts::exact(&spec, salt, tokenizer)?;
    folder::base(&args.out)?;
    common_server(args)?;
    let asked = marks::asked(args, &spec)?;
    marks::advise(args, printer);
    start::in_time(args.generator.start_at)?;
    let calibration = machine::calibrated(&args.generator, &spec, args.server.form(), printer)?;
    let session = Session::open(&args.server, asked, printer)?;
    let prompts = match exact {
        Some(exact) => exact,
        None if datasets.writes_words() => prompts::counted(&spec, salt, &session, printer)?,
        None => PromptBuilder::with_word_list(&spec.classes, salt),
    };
    let prompts = prompts.with_datasets(datasets);
    let template_tokens = prompts::template_tokens(&session, &prompts, printer);
    let field =
        Field { args, session: &session, interrupts: &interrupts, calibration, template_tokens, printer };
    match <[PlannedRun; 1]>::try_from(runs) {
        Ok([run]) => once(field, run, prompts),
        Err(runs) => {
            let engine = &session.engine.facts().engine;
            let parent = folder::create(&args.out, &spec.name, engine, jiff::Timestamp::now())?;
            repeats::fly_all(field, runs, &prompts, salt, &parent)
        }
    }
}

/// Where runs are flown from: what was typed, and what is ready.
#[derive(Clone, Copy)]
struct Field<'a> {
    args: &'a BenchArgs,
    session: &'a Session,
    interrupts: &'a Interrupts,
    /// What this machine was found to do.
    calibration: Option<Calibration>,
    /// What the server was found to add to a prompt.
    template_tokens: Option<u64>,
    printer: Printer,
}

/// What a run leaves behind.
struct Flown {
    summary: Summary,
    folder: PathBuf,
    /// Whether all of it could be written.
    stored: Result<(), Stop>,
    ending: RunEnding,
}

/// One run, one report.
fn once(field: Field<'_>, run: PlannedRun, prompts: PromptBuilder) -> Result<Exit, Stop> {
    let Field { args, printer, .. } = field;
    let flown = fly(field, run, prompts, |header| {
        folder::create(&args.out, &header.workload.name, &header.engine.engine, header.started_at)
    })?;
    let format = if args.json { Format::Json } else { Format::Text };
    printer.data(&outcome::render(&flown.summary, format)?)?;
    flown.stored?;
    printer.words(&format!("kept in {} (show it again: skyline report {0})", flown.folder.display()));
    Ok(match flown.ending {
        RunEnding::Interrupted => Exit::Interrupted,
        RunEnding::Finished | RunEnding::DrainLimit => outcome::exit(&flown.summary, args.validity.policy()),
    })
}

/// Flies `run` and keeps it in the folder that `folder` creates for it.
fn fly(
    field: Field<'_>,
    run: PlannedRun,
    prompts: PromptBuilder,
    folder: impl FnOnce(&RunHeader) -> Result<PathBuf, Stop>,
) -> Result<Flown, Stop> {
    let Field { args, session, interrupts, calibration, template_tokens, printer } = field;
    let PlannedRun { repeat, workload: spec, schedule, plan } = run;
    let options = args.run.options(&spec);
    let shards = args.generator.shard.map_or(1, |shard| shard.of) as f64;
    let peak = spec.arrival.peak_rate_per_s() / shards;
    let limits = ConnectionLimits::raised();
    if let Some(warning) = connections::warning(limits, &options, &plan, peak, session.files_per_connection())
    {
        printer.words(&warning);
    }
    let counter = prompts.counter();
    let keep = answers::keep(&session.smoke, counter.as_ref());
    let engine = Arc::new(session.engine.for_another_run().keeping(keep));
    let connections = spec.arrival.mean_rate_per_s() / shards * CONNECTIONS_PER_RATE;
    let prompt_facts = PromptFacts { template_tokens, ..prompts.facts() };
    let prompts = Arc::new(prompts);
    let feed = Feed::start(Arc::clone(&engine), schedule.generate_stream(Arc::clone(&prompts)));

    // After the feed has begun, which needs no server, and before the server is asked what it has counted so far.
    let cache = marks::prepare_cache(args, &spec, session, &prompts, printer)?;
    let golden = Golden::of(session, &engine, &spec, args.generator.shard, options.timeouts.total);
    let asked = golden.as_ref().map(|golden| golden.before(printer)).unwrap_or_default();
    // Of several generators each would count what all of them send.
    let counted_before = match args.generator.shard {
        Some(_) => None,
        None => session.runtime.block_on(engine.counters()),
    };
    let told = counted_before.and_then(|reading| reading.block_tokens());
    let cache_block_tokens = told.or(engine.facts().cache_block_tokens);
    // All that may take long is done; connections are opened last, before servers close them again.
    start::wait(args.generator.start_at, printer);
    let cap = options.max_concurrency.map_or(usize::MAX, std::num::NonZeroUsize::get);
    session.runtime.block_on(engine.warm_up((connections.ceil() as usize).clamp(4, 256).min(cap)));
    let clock = match args.generator.start_at {
        Some(moment) => RunClock::starting_at(moment).ok_or_else(|| start::missed(moment))?,
        None => RunClock::starting_in(LEAD),
    };
    let header = RunHeader {
        schema: RunHeader::SCHEMA,
        skyline_version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at: clock.started_at(),
        command: command_line::masked(std::env::args_os()),
        repeat,
        plan: plan.clone(),
        prompts: prompt_facts,
        cache,
        engine: EngineFacts { cache_block_tokens, ..engine.facts().clone() },
        limits: args.run.limits(),
        objectives: args.objectives.iter().map(ToString::to_string).collect(),
        host: host::facts(),
        shard: args.generator.shard,
        calibration,
        stamps: engine.stamp_source(),
        workload: spec,
    };
    let folder = folder(&header)?;
    let judge = Judge::new(&header.workload, engine.secrets());
    let log = RunLogWriter::create(&folder, &header).map_err(Stop::impossible)?;
    let keeper = Keeper::start(log, keep, judge);
    for asked in asked {
        keeper.keep_check(asked);
    }

    let progress = Arc::new(Progress::default());
    let screen = if args.quiet { Screen::Quiet } else { Screen::detect() };
    let live = LiveLine::start(screen, Arc::clone(&progress), clock, plan.window_end);
    let footer = session.runtime.block_on(async {
        let interrupt = interrupts.run_begins();
        let server = Arc::clone(&engine);
        let times = Golden::times(&header.workload, &plan);
        let run = Run { engine, clock, plan, options, progress, interrupt: interrupt.clone() };
        let flown = run.fly(feed, |landed| keeper.keep(landed));
        let mut footer = match golden {
            None => flown.await,
            Some(golden) => golden.beside(flown, clock, times, interrupt, keeper.check_keeper()).await,
        };
        if let Some(before) = counted_before {
            footer.server = server.counters().await.and_then(|after| after.since(&before));
        }
        if let Some(client) = &mut footer.client {
            client.read_delay = server.read_delays();
        }
        footer
    });
    drop(live);
    let mut gathered = keeper.stop();
    answers::count(&mut gathered, counter.as_ref(), interrupts, screen);
    let KeptRun { records, checks, written } = gathered.finish(&footer);
    // Only now: until all is stored, no signal may end the program.
    interrupts.run_ends();
    if let Err(error) = &written {
        printer.words(&format!(
            "error: {error}; what follows is computed from memory, and the log is not whole"
        ));
    }
    let ending = footer.ending;
    let log = RunLog { header, records, checks, footer: Some(footer) };
    let summary = analysis::summarise(&log, &args.objectives);
    let stored = outcome::store(&summary, &folder);
    Ok(Flown { summary, folder, stored: written.map_err(Stop::impossible).and(stored), ending })
}

/// Several generators that each start a mock of their own would not fly one run.
fn common_server(args: &BenchArgs) -> Result<(), Stop> {
    match (args.generator.shard, args.server.server()?) {
        (Some(shard), Server::EmbeddedMock) => Err(Stop::usage(format!(
            "--shard {shard} needs a server that all generators share\n\
             hint: name it with --url; `skyline mock` starts one"
        ))),
        _ => Ok(()),
    }
}
