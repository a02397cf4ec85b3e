//! `skyline capacity`: how many instances a rate needs, and what they cost.

use std::path::{Path, PathBuf};

use clap::Args;

use super::args::{self, PriceArgs, above_zero, whole};
use super::output::ShowArgs;
use super::simulate;
use crate::experiment::Sweep;
use crate::experiment::capacity::{Candidate, CapacityPlan, CapacityTarget, Offer};
use crate::report::{documents, render};
use crate::session::stored::{self, Stored};
use crate::session::{Exit, Printer, Stop, folder, save};
use crate::simulator::Hardware;
use crate::units::count;

/// Compute how many instances and GPUs a rate needs within the objectives of a sweep, and their cost
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct CapacityArgs {
    /// Folders of sweeps, or their sweep.json; of several the cheapest that meets the contract is named; with --hardware a
    /// workload, by name or file
    #[arg(value_name = "SWEEP|WORKLOAD", required = true)]
    sweeps: Vec<PathBuf>,

    #[command(flatten)]
    simulated: SimulatedArgs,

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

/// What is simulated in place of sweeps that are stored.
#[derive(Debug, Args)]
#[command(next_help_heading = "Without a sweep")]
struct SimulatedArgs {
    /// Simulate a sweep of the workload on each of these accelerators, such as h100,l40s, as `simulate --sweep` does; the
    /// cheapest comes first [default: stored sweeps]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    hardware: Vec<Hardware>,

    /// Objective that an instance meets, as in `simulate`; may be repeated [default: the workload's SLO, met by more than
    /// 95 % of the requests]
    #[arg(long = "objective", value_name = "OBJECTIVE", requires = "hardware")]
    objectives: Vec<String>,

    /// Other options of `simulate`, in quotes, such as '--serving-model llama-3.1-70b --tensor-parallel 4 --precision fp8'
    /// [default: none]
    #[arg(long, value_name = "OPTIONS", requires = "hardware", allow_hyphen_values = true)]
    simulate: Option<String>,
}

/// A sweep to make an offer from.
struct Found {
    name: String,
    sweep: Sweep,
}

/// The objective where none is given.
const USUAL_OBJECTIVE: &str = "slo_attainment > 95%";

impl SimulatedArgs {
    /// A simulated sweep of `workload` on each accelerator.
    fn sweeps(&self, workload: &Path, printer: Printer) -> Result<Vec<Found>, Stop> {
        let usual = [USUAL_OBJECTIVE.to_owned()];
        let objectives = if self.objectives.is_empty() { &usual[..] } else { &self.objectives };
        let more = shlex::split(self.simulate.as_deref().unwrap_or_default())
            .ok_or_else(|| Stop::usage("--simulate: a quote is not closed"))?;
        let own = |word: &&String| OWN.contains(&word.split('=').next().unwrap_or_default());
        if let Some(word) = more.iter().find(own) {
            return Err(Stop::usage(format!(
                "--simulate: {word} has no place there\nhint: give it to `capacity` itself, as far as it has it; the options of \
                 a model and of a workload have theirs there"
            )));
        }
        let workload = workload.display().to_string();
        let sweep = |hardware: &Hardware| {
            let mut words = vec!["simulate", &workload, "--sweep", "--hardware", hardware.name];
            words.extend(more.iter().map(String::as_str));
            words.extend(objectives.iter().flat_map(|objective| ["--objective", objective]));
            let found = simulate::sweep_of(&words, printer);
            let sweep = found.map_err(|stop| stop.about(&format!("on {}", hardware.name)))?;
            Ok(Found { name: hardware.name.to_owned(), sweep })
        };
        self.hardware.iter().map(sweep).collect()
    }
}

/// Options of `simulate` that this command decides or does not use.
const OWN: [&str; 11] = [
    "--hardware",
    "--objective",
    "--sweep",
    "--ab",
    "--tune",
    "--out",
    "--format",
    "--json",
    "--quiet",
    "--help",
    "-h",
];
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
    let simulated = !args.simulated.hardware.is_empty();
    let names: Vec<_> =
        args.simulated.hardware.iter().map(|hardware| (hardware.name.to_owned(), None)).collect();
    // Before anything is simulated.
    let early = simulated.then(|| args.prices.of(&names, "sweep")).transpose()?;
    let found = match args.sweeps.as_slice() {
        [workload] if simulated => args.simulated.sweeps(workload, printer)?,
        _ if simulated => {
            return Err(Stop::usage("--hardware takes one workload\nhint: run the others each by itself"));
        }
        paths => paths.iter().map(|path| stored_sweep(path)).collect::<Result<_, _>>()?,
    };
    let names = found.iter().map(|found| (found.name.clone(), found.sweep.deployment.hardware.clone()));
    let prices = early.map_or_else(|| args.prices.of(&names.collect::<Vec<_>>(), "sweep"), Ok)?;
    let mut made = Vec::new();
    for (Found { name, sweep }, gpu_hour) in found.into_iter().zip(prices) {
        let candidate = Candidate { name: &name, sweep: &sweep, gpu_hour };
        let offer = Offer::of(&candidate, &contract).map_err(Stop::usage)?;
        made.push((Offer { currency: args.prices.currency.clone(), ..offer }, sweep));
    }
    if simulated {
        let least = |offer: &Offer| {
            offer.cost_per_hour.or(offer.gpus.map(|gpus| gpus as f64)).unwrap_or(f64::INFINITY)
        };
        made.sort_by(|(a, _), (b, _)| b.keeps().cmp(&a.keeps()).then(least(a).total_cmp(&least(b))));
    }
    let (offers, sweeps): (Vec<_>, Vec<_>) = made.into_iter().unzip();
    let capacity = CapacityPlan::of(contract, offers);
    let document = || documents::capacity(&capacity, &sweeps);
    args.show.result(printer, &capacity, document)?;
    if let Some(path) = &args.page {
        save::text(path, &render::html(&document()))?;
        printer.words(&format!("page written to {}", path.display()));
    }
    Ok(if capacity.is_kept() { Exit::Fine } else { Exit::Missed })
}

/// The sweep that is stored at `path`.
fn stored_sweep(path: &Path) -> Result<Found, Stop> {
    let sweep = match stored::open(path, None)? {
        Stored::Sweep(sweep) => *sweep,
        // A sweep under another name, or what is missing for it to be one.
        _ => Sweep::read(path).map_err(Stop::usage)?,
    };
    Ok(Found { name: name(path), sweep })
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
