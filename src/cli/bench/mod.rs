//! `skyline bench`: one workload, one server, one report.

mod prompts;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use super::args::{RunArgs, ServerArgs, WorkloadArgs};
use super::exit::{Exit, Stop};
use super::interrupts::Interrupts;
use super::outcome::{self, Format};
use super::printer::Printer;
use super::session::Session;
use super::{command_line, folder, host};
use crate::analysis::{self, Objective};
use crate::clock::RunClock;
use crate::engine::Engine;
use crate::generator::Schedule;
use crate::live::{LiveLine, Screen};
use crate::record::{RunEnding, RunHeader, RunLog, RunLogWriter, StampSource};
use crate::runner::{Feed, Keeper, Progress, Run};

/// Time between the last preparation and the run's zero, so that nothing that had to be made ready still is.
const LEAD: Duration = Duration::from_millis(20);

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

    /// Hold the run against an objective, such as `p95 ttft < 500ms`, `error_rate < 1%`, `goodput > 5/s` or
    /// `slo_attainment > 95%`; a miss exits with 1; may be repeated
    #[arg(long = "objective", value_name = "OBJECTIVE", help_heading = "Output")]
    objectives: Vec<Objective>,

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
    let spec = args.workload.spec()?;
    let schedule = Schedule::draw(&spec);
    let plan = schedule.facts();
    if plan.measured_requests == 0 {
        return Err(Stop::usage(format!(
            "the plan of `{}` has no request to measure\nhint: give it more seconds or a higher --rate",
            spec.name
        )));
    }
    let salt = args.run.salt.unwrap_or_else(rand::random);
    let exact = prompts::exact(&spec, salt, args.run.tokenizer.as_deref())?;
    folder::base(&args.out)?;
    let session = Session::open(&args.server, printer)?;
    let prompts = exact.map_or_else(|| prompts::counted(&spec, salt, &session, printer), Ok)?;

    // Refused only where the system's own limit is as low; requests that meet it fail with that reason.
    let _ = rlimit::increase_nofile_limit(u64::MAX);
    let options = args.run.options(&spec);
    let engine = Arc::clone(&session.engine);
    let connections = spec.arrival.mean_rate_per_s() * CONNECTIONS_PER_RATE;
    session.runtime.block_on(engine.warm_up((connections.ceil() as usize).clamp(4, 256)));
    let prompt_facts = prompts.facts();
    let feed = Feed::start(Arc::clone(&engine), schedule.generate_stream(Arc::new(prompts)));

    let counted_before = session.runtime.block_on(engine.counters());
    let clock = RunClock::starting_in(LEAD);
    let header = RunHeader {
        schema: RunHeader::SCHEMA,
        skyline_version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at: clock.started_at(),
        command: command_line::masked(std::env::args_os()),
        plan: plan.clone(),
        prompts: prompt_facts,
        engine: engine.facts().clone(),
        limits: args.run.limits(),
        objectives: args.objectives.iter().map(ToString::to_string).collect(),
        host: host::facts(),
        stamps: StampSource::default(),
        workload: spec,
    };
    let folder = folder::create(&args.out, &header.workload.name, &header.engine.engine, clock.started_at())?;
    let keeper = Keeper::start(RunLogWriter::create(&folder, &header).map_err(Stop::impossible)?);

    let progress = Arc::new(Progress::default());
    let screen = if args.quiet { Screen::Quiet } else { Screen::detect() };
    let live = LiveLine::start(screen, Arc::clone(&progress), clock, plan.window_end);
    let footer = session.runtime.block_on(async {
        let interrupt = interrupts.run_begins();
        let server = Arc::clone(&engine);
        let run = Run { engine, clock, plan, options, progress, interrupt };
        let mut footer = run.fly(feed, |record| keeper.keep(record)).await;
        if let Some(before) = counted_before {
            footer.server = server.counters().await.and_then(|after| after.since(&before));
        }
        footer
    });
    interrupts.run_ends();
    drop(live);

    let (records, kept) = keeper.finish(&footer);
    if let Err(error) = &kept {
        printer.words(&format!(
            "error: {error}; what follows is computed from memory, and the log is not whole"
        ));
    }
    let interrupted = footer.ending == RunEnding::Interrupted;
    let log = RunLog { header, records, footer: Some(footer) };
    let summary = analysis::summarise(&log, &args.objectives);
    let stored = outcome::store(&summary, &folder);
    printer.data(&outcome::render(&summary, if args.json { Format::Json } else { Format::Text })?)?;
    kept.map_err(Stop::impossible)?;
    stored?;
    printer.words(&format!("kept in {} (show it again: skyline report {0})", folder.display()));
    Ok(if interrupted { Exit::Interrupted } else { outcome::exit(&summary) })
}
