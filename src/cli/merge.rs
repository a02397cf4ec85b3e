//! `skyline merge`: joins the shards of several generators into one run.

use super::show::ShowArgs;
use crate::session::save;
use std::path::PathBuf;

use clap::Args;

use super::args::ValidityArgs;
use super::outcome;
use crate::analysis;
use crate::experiment::Diagnosis;
use crate::record::{NamedLog, RunLog, merge};
use crate::report::{Extras, RunReport};
use crate::session::{Exit, Printer, Stop, command_line, folder};
use crate::units::spoken;

/// Join the shards of several generators into one run.
#[derive(Debug, Args)]
#[command(after_help = "\
Every shard of the plan must be there, once and flown to its end (`skyline bench --shard 1/2
--start-at TIME …`). The merged run is judged and shown as if one generator had flown it.")]
pub(super) struct MergeArgs {
    /// The shards' folders, or their run.jsonl files
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,

    /// Folder in which the merged run gets a folder of its own
    #[arg(long, value_name = "DIR", default_value = "results")]
    out: PathBuf,

    #[command(flatten)]
    validity: ValidityArgs,

    #[command(flatten)]
    show: ShowArgs,
}

pub(super) fn run(args: &MergeArgs, printer: Printer) -> Result<Exit, Stop> {
    args.show.check()?;
    let read = |path: &PathBuf| {
        let log = RunLog::read(path).map_err(Stop::usage)?;
        Ok(NamedLog { name: path.display().to_string(), log })
    };
    let shards = args.runs.iter().map(read).collect::<Result<Vec<_>, Stop>>()?;
    let number = shards.len();
    let mut merged = merge(shards).map_err(Stop::usage)?;
    let log = &mut merged.log;
    log.header.command = command_line::masked(std::env::args_os());
    let objectives = save::objectives_of(&log.header)?;
    let summary = analysis::summarise(log, &objectives);
    folder::base(&args.out)?;
    let engine = format!("{}-merged", log.header.engine.engine);
    let folder = folder::create(&args.out, &log.header.workload.name, &engine, log.header.started_at)?;
    log.store(&folder).map_err(Stop::impossible)?;
    let diagnosis = Diagnosis::of_run(log, &summary);
    save::run(log, &summary, &diagnosis, &folder)?;
    let extras = Extras { paired_open: None, diagnosis: Some(&diagnosis) };
    let report = RunReport { log, summary: &summary, extras };
    args.show.show(printer, |format| outcome::render(report, format))?;
    printer.words(&format!(
        "{number} shards that began {} apart by their wall clocks; who was in flight with whom is as true as those \
         clocks agree, every latency was taken on one machine's own\nsaved to {}",
        spoken(merged.apart),
        folder.display()
    ));
    Ok(outcome::exit(&summary, args.validity.policy()))
}
