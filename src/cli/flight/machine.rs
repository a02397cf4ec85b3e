//! Asks what this machine can do, and refuses a plan that asks for more before anything is sent.

use std::time::Duration;

use super::Setup;
use crate::calibration::{ClientCapacity, ClientDemand, Overload, QUICK, calibrate};
use crate::cli::args::MachineArgs;
use crate::engine::AnswerForm;
use crate::record::{Calibration, Shard};
use crate::session::{Printer, Stop, command_line};
use crate::units::{count, three_digits};
use crate::workload::{ArrivalPattern, WorkloadSpec};

/// Most command lines of shards that are written out.
const WRITTEN_OUT: u64 = 4;
/// Time for a person to start generators by hand.
const TO_START: Duration = Duration::from_mins(2);

/// How a person lowers the load of what is flown, where it is more than this machine bears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Lowered {
    /// By the rate of the run, or by sharing it out over generators.
    OfOneRun,
    /// By the rate of all runs.
    OfAllRuns,
    /// By the loads of a sweep.
    OfLoads,
    /// In the file of a table.
    InFile,
}

impl Lowered {
    /// By which option.
    fn option(self, arrival: &ArrivalPattern) -> &'static str {
        match self {
            Self::OfLoads => "--rates or --start-rate",
            Self::InFile => "`rate_per_s` of the row",
            Self::OfOneRun | Self::OfAllRuns if arrival.trace().is_some() => "--rate-scale",
            Self::OfOneRun | Self::OfAllRuns => "--rate",
        }
    }
}

/// What this machine can do, where it is asked and can be.
pub(super) fn calibrated(args: MachineArgs, printer: Printer) -> Option<Calibration> {
    if args.no_calibration {
        return None;
    }
    let found = calibrate(QUICK, |_| {});
    found.inspect_err(|error| printer.words(&format!("this machine is not calibrated: {error}"))).ok()
}

/// Refuses a plan that asks for more than this machine, where it was calibrated, can be trusted with.
pub(super) fn bears(
    setup: Setup<'_>,
    calibration: Option<&Calibration>,
    spec: &WorkloadSpec,
) -> Result<(), Stop> {
    let Some(found) = calibration.filter(|_| !setup.machine.force) else { return Ok(()) };
    let whole = match setup.server.form() {
        AnswerForm::Streamed => ClientDemand::of(spec),
        AnswerForm::Whole => ClientDemand::of_whole_answers(spec),
    };
    let shard = setup.share.shard;
    let demand = shard.map_or(whole, |shard| whole.shared(shard));
    ClientCapacity(found).judge(demand).map_err(|overload| refusal(&overload, setup.lowered, shard, spec))
}

fn refusal(overload: &Overload, lowered: Lowered, shard: Option<Shard>, spec: &WorkloadSpec) -> Stop {
    let ClientDemand { requests_per_s, events_per_request } = overload.demand;
    let mean = spec.arrival.mean_rate_per_s();
    let trusted = overload.trusted_rate_per_s(mean);
    // The loads of a sweep and the rows of a table are rates of requests, of a trace too.
    let most = match (spec.arrival.trace(), lowered) {
        (Some(trace), Lowered::OfOneRun | Lowered::OfAllRuns) => trace.rate_scale * trusted / mean,
        _ => trusted,
    };
    let option = lowered.option(&spec.arrival);
    let most = format!("{most:.3}");
    let together = if lowered == Lowered::OfOneRun {
        let generators = overload.clients() * shard.map_or(1, |shard| shard.of);
        format!(
            "hint: or let {} generators fly the plan together, each with a core of its own, on this machine or others:\n\
             {}\n  skyline merge FOLDER_OF_EACH\n",
            count(generators),
            commands(generators).join("\n")
        )
    } else {
        String::new()
    };
    Stop::impossible(format!(
        "this machine cannot be trusted with this plan: {} requests/s at its peak, with answers of {} events on \
         average, take {} cores of the one that a client has; it is trusted up to half of it\n\
         hint: lower the rate: {option} {} at most\n\
         {together}hint: or fly it as it is, with --force; the report may say INVALID",
        three_digits(requests_per_s),
        three_digits(events_per_request),
        three_digits(overload.share),
        most.trim_end_matches('0').trim_end_matches('.'),
    ))
}

/// The command lines of the generators: all of them, or the first two and the last.
fn commands(of: u64) -> Vec<String> {
    let start = jiff::Timestamp::now() + TO_START;
    let start = start.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let command = |number| {
        let shard = Shard { number, of }.to_string();
        // Several runs and several generators are not to be had at once.
        let options = [("--shard", &*shard), ("--start-at", &start)];
        let again = command_line::again(std::env::args_os(), &["--repeats"], &options);
        format!("  {again}")
    };
    if of <= WRITTEN_OUT {
        return (1..=of).map(command).collect();
    }
    vec![command(1), command(2), "  …".to_owned(), command(of)]
}
