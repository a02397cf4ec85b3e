//! `skyline capacity`: how many instances a rate needs, and what they cost.

use std::path::{Path, PathBuf};

use clap::Args;

use super::args::{self, ModelArgs, above_zero, whole};
use super::output::ShowArgs;
use super::simulate;
use crate::experiment::capacity::{
    Candidate, CapacityPlan, CapacityTarget, NoQueue, Offer, Queueing, Replicas,
};
use crate::experiment::{EngineFit, MeasuredRun, Sweep, SweepPoint};
use crate::report::{documents, render};
use crate::session::stored::run::read_log;
use crate::session::stored::{self, Stored};
use crate::session::{Exit, Printer, Stop, folder, save};
use crate::units::count;

/// Compute how many instances and GPUs a rate needs within the objectives of a sweep, and their cost
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct CapacityArgs {
    /// Folders of sweeps, or their sweep.json; with several, the cheapest that meets the contract is named
    #[arg(value_name = "SWEEP", required = true)]
    sweeps: Vec<PathBuf>,

    /// Requests per second of all instances together; in conversations each turn is a request
    #[arg(long, value_name = "PER_S", value_parser = target_rate, allow_negative_numbers = true)]
    target_rate: f64,

    /// Share of each instance's highest rate that stays free
    #[arg(long, value_name = "SHARE", default_value = "20%", value_parser = headroom, allow_hyphen_values = true)]
    headroom: f64,

    /// GPUs of an instance [default: --gpus of the sweep]
    #[arg(long, value_name = "N", value_parser = whole::<u32>(1..=u64::MAX), allow_negative_numbers = true)]
    gpus_per_instance: Option<u32>,

    /// Price of a GPU hour, in any currency; repeat it, in the order of the sweeps, to price each separately
    /// [default: no price]
    #[arg(long, value_name = "PRICE", value_parser = above_zero, allow_negative_numbers = true)]
    gpu_hour: Vec<f64>,

    /// Most GPUs allowed: an offer that needs more does not meet the contract [default: any number]
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1..=u64::MAX), allow_negative_numbers = true)]
    max_gpus: Option<u64>,

    /// Also model the queues of the instances behind one router, and count and price that number: the fewest that
    /// meet the objectives, or N, and whether they do; if an objective on the pace of tokens decides, by an engine
    /// fitted to the runs of the sweep [default: by rate alone]
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "fewest",
          value_parser = replicas)]
    replicas: Option<Replicas>,

    /// Write the capacity as a page with charts to this file [default: none]
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,

    #[command(flatten)]
    show: ShowArgs,
}

/// The highest target, requests per second: more than all of mankind asks.
const MOST_PER_S: f64 = 1e9;

const AFTER_HELP: &str = "\
Exit codes:
  0  an offer meets the contract
  1  none does
  2  the command line or a sweep has a mistake";

pub(super) fn run(args: &CapacityArgs, printer: Printer) -> Result<Exit, Stop> {
    args.show.check()?;
    let contract = CapacityTarget {
        target_per_s: args.target_rate,
        headroom: args.headroom,
        gpus_per_instance: args.gpus_per_instance,
        max_gpus: args.max_gpus,
    };
    let prices = prices(&args.gpu_hour, args.sweeps.len())?;
    let (mut offers, mut sweeps) = (Vec::new(), Vec::new());
    for (path, price) in args.sweeps.iter().zip(prices) {
        let sweep = match stored::open(path, None)? {
            Stored::Sweep(sweep) => *sweep,
            // A sweep under another name, or what is missing for it to be one.
            _ => Sweep::read(path).map_err(Stop::usage)?,
        };
        offers.push(offer(path, &sweep, price, &contract, args.replicas, printer)?);
        sweeps.push(sweep);
    }
    let capacity = CapacityPlan::of(contract, offers);
    let document = || documents::capacity(&capacity, &sweeps);
    args.show.result(printer, &capacity, document)?;
    if let Some(path) = &args.page {
        save::text(path, &render::html(&document()))?;
        printer.words(&format!("page written to {}", path.display()));
    }
    Ok(if capacity.is_kept() { Exit::Fine } else { Exit::Missed })
}

/// The price of a GPU of each of so many sweeps.
fn prices(typed: &[f64], sweeps: usize) -> Result<Vec<Option<f64>>, Stop> {
    match typed {
        [] => Ok(vec![None; sweeps]),
        [price] => Ok(vec![Some(*price); sweeps]),
        _ if typed.len() == sweeps => Ok(typed.iter().copied().map(Some).collect()),
        _ => Err(Stop::usage(format!(
            "--gpu-hour is given {} times and there are {sweeps} sweeps\n\
             hint: give one price for all of them, or one for each in their order",
            typed.len()
        ))),
    }
}

/// What `sweep`, which is at `path`, offers.
fn offer(
    path: &Path,
    sweep: &Sweep,
    gpu_hour: Option<f64>,
    contract: &CapacityTarget,
    replicas: Option<Replicas>,
    printer: Printer,
) -> Result<Offer, Stop> {
    let name = name(path);
    let candidate = Candidate { name: &name, sweep, gpu_hour };
    let offer = Offer::of(&candidate, contract).map_err(Stop::usage)?;
    let (Some(asked), Some(basis)) = (replicas, offer.per_instance) else { return Ok(offer) };
    let fit = || fitted(path, sweep, printer).map_err(|stop| stop.first_line());
    match Queueing::of(sweep, basis, contract, asked, fit) {
        Ok(queueing) => Ok(Offer::by_queues(&candidate, contract, queueing)),
        Err(why @ NoQueue::Unfitted { .. }) => Ok(offer.without_queues(&why)),
        Err(refusal) => Err(Stop::usage(refusal)),
    }
}

/// An engine fitted to the sweep at `path`, as `simulate --fit` does: to the first run of each load that can be trusted.
fn fitted(path: &Path, sweep: &Sweep, printer: Printer) -> Result<EngineFit, Stop> {
    let folder = folder::of(path);
    let first = |point: &SweepPoint| point.trials.iter().find(|trial| trial.is_valid()).cloned();
    let runs = sweep.points.iter().filter_map(first).map(|trial| {
        let log = read_log(&folder.join(&trial.run))?;
        Ok(MeasuredRun { name: trial.run, log })
    });
    let runs = runs.collect::<Result<Vec<_>, Stop>>()?;
    simulate::fitted_to(&runs, &ModelArgs::untyped()?, printer).map(|(_, fit)| fit)
}

/// The last part of a sweep's folder.
fn name(path: &Path) -> String {
    let name = folder::of(path).file_name().or(path.file_name());
    name.map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

/// A number of replicas, or as few as will do.
fn replicas(text: &str) -> Result<Replicas, String> {
    match text.parse() {
        _ if text == "fewest" => Ok(Replicas::Fewest),
        Ok(number @ 1..=10_000) => Ok(Replicas::Exactly(number)),
        _ => {
            Err(format!("`{text}` is not a number of replicas from 1 to 10,000; write it like --replicas=12"))
        }
    }
}

/// A rate above 0 and up to the highest target.
fn target_rate(text: &str) -> Result<f64, String> {
    match above_zero(text)? {
        rate if rate <= MOST_PER_S => Ok(rate),
        _ => Err(format!(
            "`{text}` is over {} requests per second, the largest possible target",
            count(MOST_PER_S as u64)
        )),
    }
}

/// A share below 1, such as `20%` or `0.2`.
fn headroom(text: &str) -> Result<f64, String> {
    args::share(text)
        .filter(|share| (0.0..0.95).contains(share))
        .ok_or_else(|| format!("`{text}` is not a share from 0% to 95%; write it like 20%"))
}
