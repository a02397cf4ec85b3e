//! `skyline matrix`: runs a table of experiments row by row, and judges it by its hypotheses and its contract.

mod again;
mod planned;
mod show;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

pub(super) use self::again::read;
pub(super) use self::show::shown;
use super::args::{
    DeploymentArgs, LiveArgs, MachineArgs, RunArgs, ServerArgs, ValidityArgs, duration, seconds,
};
use crate::cli::show::ShowArgs;
use crate::experiment::drive;
use crate::experiment::matrix::{Experiments, MatrixExperiment, Trust};
use crate::session::campaign::executor::CampaignExecutor;
use crate::session::campaign::matrix::{MatrixCampaign, MatrixManifest};
use crate::session::{Exit, ExperimentDir, Interrupts, Printer, Stop, folder};

/// Run a table of experiments: rows with a hypothesis each, under one server or several variants of it.
#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools)] // Switches of a command line.
#[command(after_help = "\
What is kept, in results/NAME-matrix-TIME:
  row-A/run-1/   every run, as `skyline bench` keeps it (with several variants: VARIANT/row-A/run-1/)
  matrix.json    the table with its figures; matrix.txt the same as text
  decision.md    what was accepted, what was rejected and why, and why it stopped
  page.html      the table with its pictures
  *.log          what the commands wrote that start and reset servers

Exit codes:
  0    every hypothesis confirmed, and some variant accepted where there is a contract
  1    a hypothesis refuted or left open, or nothing accepted
  2    the command line or the file has a mistake
  3    a row is INVALID for other reasons than the server's own, or could not be flown, or a server not stopped
  130  interrupted; --resume goes on")]
pub(super) struct MatrixArgs {
    /// The table: a TOML or JSON file, or `rows_a_to_f`, the one inside the program
    #[arg(required_unless_present = "example", value_name = "FILE")]
    file: Option<String>,

    /// Print the table inside the program, to start your own from
    #[arg(long, exclusive = true)]
    example: bool,

    /// Show what would be flown, in which order and for how long, and send nothing
    #[arg(long)]
    plan: bool,

    /// Run this row only; may be repeated [default: all rows]
    #[arg(long, value_name = "ROW")]
    only: Vec<String>,

    /// Length of every run, in place of the file's: to rehearse a table in short [default: as the file says]
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    seconds: Option<f64>,

    /// Runs of every row, in place of the file's [default: as the file says]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    repeats: Option<u64>,

    /// Go on with the table that was interrupted and is kept in this folder; what had been flown is read [default: begin
    /// anew]
    #[arg(long, value_name = "FOLDER")]
    resume: Option<PathBuf>,

    /// Wait this long between two runs, and on until the server has nothing left to do, where it tells
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = duration, allow_hyphen_values = true)]
    pause: Duration,

    #[command(flatten)]
    server: ServerArgs,
    #[command(flatten)]
    deployment: DeploymentArgs,
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    machine: MachineArgs,
    #[command(flatten, next_help_heading = "Output")]
    validity: ValidityArgs,

    /// Folder in which the table gets a folder of its own
    #[arg(long, value_name = "DIR", help_heading = "Output", default_value = "results")]
    out: PathBuf,

    #[command(flatten)]
    show: ShowArgs,

    #[command(flatten)]
    live: LiveArgs,
}

impl MatrixArgs {
    /// The table that was meant.
    fn experiments(&self) -> Result<Experiments, Stop> {
        let file = self.file.as_deref().unwrap_or_default();
        let mut experiments = Experiments::load(file).map_err(Stop::usage)?;
        for row in &mut experiments.rows {
            row.settings.horizon_s = self.seconds.or(row.settings.horizon_s);
            row.settings.repeats = self.repeats.or(row.settings.repeats);
            if self.seconds.is_some() {
                // As long as a run of that length has by itself.
                row.settings.warmup_s = None;
            }
        }
        let typed = self.deployment.facts();
        for variant in &mut experiments.variants {
            variant.server.fill_deployment(&typed);
        }
        for name in &self.only {
            experiments.row(name).map_err(|unknown| Stop::usage(format!("--only asks for {unknown}")))?;
        }
        Ok(experiments)
    }

    /// Whether the row of this name is asked for.
    fn wants(&self, row: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == row)
    }

    fn trust(&self) -> Trust {
        show::trust(self.validity.policy())
    }
}

pub(super) fn run(args: &MatrixArgs, printer: Printer) -> Result<Exit, Stop> {
    if args.example {
        printer.data(Experiments::example())?;
        return Ok(Exit::Fine);
    }
    args.show.check()?;
    let interrupts = Interrupts::listen(printer);
    // Everything that can be wrong with the file is found before anything is sent or started.
    let experiments = args.experiments()?;
    let planned = planned::all(args, &experiments, printer)?;
    let addresses = planned::addresses(args, &planned)?;
    if args.plan {
        printer.data(&show::plan(&experiments, &planned)?)?;
        return Ok(Exit::Fine);
    }
    let manifest = MatrixManifest::of(&experiments, &planned);
    let dir = if let Some(folder) = &args.resume {
        ExperimentDir::resume(folder, &manifest)?
    } else {
        folder::base(&args.out)?;
        ExperimentDir::create(&args.out, &experiments.name, "matrix", &manifest)?
    };
    interrupts.series_begins();
    let mut experiment = MatrixExperiment::new(experiments.clone(), args.trust()).only(args.only.clone());
    let campaign =
        MatrixCampaign::new(&experiments, planned, addresses, &dir, &interrupts, printer, args.pause);
    let announce = (!args.live.quiet).then_some(printer);
    let mut executor = CampaignExecutor::new(campaign, &dir, &interrupts, announce);
    let driven = drive(&mut experiment, &mut executor);
    executor.campaign.stop_serving();
    driven?;
    show::finish(args, &executor.campaign.result(&experiment), &dir, printer)
}
