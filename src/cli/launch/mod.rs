//! `skyline launch`: a bench on the cluster that the user has, as several workers and their merge.

use clap::{Args, Subcommand};

use super::bench::BenchArgs;
use crate::session::command_line::InEffect;
use crate::session::{Exit, Printer, Stop};

mod files;
mod k8s;
mod slurm;
mod template;
mod workers;

/// Print what runs a bench on a cluster as workers, and merges their runs.
#[derive(Debug, Args)]
pub(super) struct LaunchArgs {
    #[command(subcommand)]
    platform: Platform,
}

#[derive(Debug, Subcommand)]
enum Platform {
    /// Print manifests for Kubernetes: a Job of workers, and one that merges their runs
    K8s(k8s::K8sArgs),
    /// Print a script for Slurm: an array of workers, and the job that merges
    Slurm(slurm::SlurmArgs),
}

/// A reader of a bench's command line, with the options that were not typed.
pub(super) type BenchReader = fn(&[String], Printer) -> Result<(Box<BenchArgs>, InEffect), Stop>;

pub(super) fn run(args: &LaunchArgs, read: BenchReader, printer: Printer) -> Result<Exit, Stop> {
    let (text, words) = match &args.platform {
        Platform::K8s(args) => args.manifests(&args.workers.checked(read, printer)?)?,
        Platform::Slurm(args) => args.script(&args.workers.checked(read, printer)?)?,
    };
    printer.data(text.trim_end())?;
    printer.words(&words);
    Ok(Exit::Fine)
}
