//! `skyline merge`: joins the shards of several generators into one run.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::cli::args::{UndecidedArgs, ValidityArgs, some_time};
use crate::cli::output::{ShowArgs, render_run};
use crate::record::{NamedLog, RunLog, merge};
use crate::session::stored::{self, Stored};
use crate::session::stored_run::JudgedRun;
use crate::session::{Exit, Printer, Stop, command_line, exits, folder, save};
use crate::units::spoken;

/// Join the shards of several generators into one run.
#[derive(Debug, Args)]
pub(in crate::cli) struct MergeArgs {
    /// The shards' folders, or their run.jsonl files
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,

    /// Folder in which the merged run's folder is created
    #[arg(long, value_name = "DIR", default_value = "results")]
    out: PathBuf,

    /// Wait this long for runs in folders that hold none yet [default: no wait]
    #[arg(long, value_name = "TIME", value_parser = some_time)]
    wait: Option<Duration>,

    #[command(flatten)]
    undecided: UndecidedArgs,

    #[command(flatten)]
    validity: ValidityArgs,

    #[command(flatten)]
    show: ShowArgs,
}

pub(in crate::cli) fn run(args: &MergeArgs, printer: Printer) -> Result<Exit, Stop> {
    args.show.check()?;
    args.wait.map_or(Ok(()), |limit| stored::await_runs(&args.runs, limit))?;
    let read = |path: &PathBuf| {
        let path = &stored::one_result(path)?;
        let name = path.display().to_string();
        match stored::open(path, None)? {
            Stored::Run => Ok(NamedLog { name, log: RunLog::read_shard(path).map_err(Stop::usage)? }),
            other => Err(Stop::usage(format!("{name} is {other}, and shards are runs\nhint: name each run"))),
        }
    };
    let shards = args.runs.iter().map(read).collect::<Result<Vec<_>, Stop>>()?;
    let number = shards.len();
    let mut merged = merge(shards).map_err(Stop::usage)?;
    merged.log.header.command = command_line::masked(command_line::arguments());
    let objectives = save::objectives_of(&merged.log.header)?;
    let run = JudgedRun::new(merged.log, &objectives);
    folder::base(&args.out)?;
    let header = &run.log.header;
    let engine = format!("{}-merged", header.engine().engine);
    let folder = folder::create(&args.out, &header.workload.name, &engine, header.started_at)?;
    save::run_with_log(run.report(), &folder)?;
    args.show.show(printer, |format| render_run(run.report(), format))?;
    let clocks = match run.log.header.shard_skew_ns {
        Some(skew) => format!("which were at most {} apart", spoken(Duration::from_nanos(skew))),
        None => "which were not compared".to_owned(),
    };
    printer.words(&format!(
        "{number} shards began {} apart by their wall clocks, {clocks}; concurrency across shards is as accurate as \
         these clocks; each latency uses the clock of one machine\nsaved to {}",
        spoken(merged.apart),
        folder.display()
    ));
    Ok(exits::of_run(&run.summary, args.undecided.rules(args.validity), printer))
}
