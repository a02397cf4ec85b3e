//! `skyline capacity`: how many instances a rate needs, and what they cost.

use std::path::{Path, PathBuf};

use clap::Args;

use super::args::{self, PriceArgs, above_zero, whole};
use super::output::ShowArgs;
use crate::experiment::Sweep;
use crate::experiment::capacity::{Candidate, CapacityPlan, CapacityTarget, Offer};
use crate::report::{documents, render};
use crate::session::stored::{self, Stored, experiments};
use crate::session::{Exit, Printer, Stop, folder, save};
use crate::units::count;

/// Compute how many instances and GPUs a rate needs within the objectives of a sweep, and their cost
#[derive(Debug, Args)]
pub(super) struct CapacityArgs {
    /// Folders of sweeps, or their sweep.json; of several the cheapest that meets the contract is named
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

    #[command(flatten)]
    prices: PriceArgs,

    /// Most GPUs allowed: an offer that needs more does not meet the contract [default: any number]
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1..=u64::MAX), allow_negative_numbers = true)]
    max_gpus: Option<u64>,

    /// Write the capacity as a page with charts to this file [default: none]
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,

    #[command(flatten)]
    show: ShowArgs,
}

/// The highest target, requests per second: more than all of mankind asks.
const MOST_PER_S: f64 = 1e9;

pub(super) fn run(args: &CapacityArgs, printer: Printer) -> Result<Exit, Stop> {
    args.show.check()?;
    let contract = CapacityTarget {
        target_per_s: args.target_rate,
        headroom: args.headroom,
        gpus_per_instance: args.gpus_per_instance,
        max_gpus: args.max_gpus,
    };
    let paths = args.sweeps.iter().map(|path| stored::one_result(path)).collect::<Result<Vec<_>, _>>()?;
    let sweeps: Vec<Sweep> = paths.iter().map(|path| stored_sweep(path)).collect::<Result<_, _>>()?;
    let hardware = |sweep: &Sweep| sweep.deployment.hardware.clone();
    let names: Vec<_> = paths.iter().zip(&sweeps).map(|(path, sweep)| (name(path), hardware(sweep))).collect();
    let prices = args.prices.of(&names, "sweep")?;
    let mut offers = Vec::new();
    for (((name, _), sweep), gpu_hour) in names.iter().zip(&sweeps).zip(prices) {
        let offer = Offer::new(&Candidate { name, sweep, gpu_hour }, &contract).map_err(Stop::usage)?;
        offers.push(Offer { currency: args.prices.currency.clone(), ..offer });
    }
    let capacity = CapacityPlan::new(contract, offers);
    let document = || documents::capacity(&capacity, &sweeps);
    args.show.result(printer, &capacity, document)?;
    if let Some(path) = &args.page {
        save::text(path, &render::html(&document()))?;
        printer.words(&format!("page written to {}", path.display()));
    }
    Ok(if capacity.is_kept() { Exit::Fine } else { Exit::Missed })
}

/// The sweep that is stored at `path`.
fn stored_sweep(path: &Path) -> Result<Sweep, Stop> {
    match stored::open(path, None)? {
        Stored::Sweep(sweep) => Ok(*sweep),
        // A sweep under another name, or what is missing for it to be one.
        _ => experiments::sweep(path),
    }
}

/// The last part of a sweep's folder.
fn name(path: &Path) -> String {
    let name = folder::of(path).file_name().or(path.file_name());
    name.map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
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
