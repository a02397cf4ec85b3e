//! Executes the open run that goes with a closed one.

use super::BenchArgs;
use crate::experiment::PairedOpen;
use crate::generator::Schedule;
use crate::record::RunEnding;
use crate::session::run::{RunContext, StoredRun};
use crate::session::{PlannedRun, Stop, pair};
use crate::units::three_digits;
use crate::workload::WorkloadSpec;

/// Refuses `--paired-open` where there is no closed loop, or not one run.
pub(super) fn asked(args: &BenchArgs, spec: &WorkloadSpec) -> Result<(), Stop> {
    if !args.paired_open {
        return Ok(());
    }
    let refusal = if spec.arrival.users().is_none() {
        "--paired-open needs a closed loop to hold the open run against\n\
         hint: give --users, or leave --paired-open out: this load is not closed"
    } else if args.workload.repeats > 1 {
        "--paired-open goes with one run\nhint: leave --repeats out, or run the pairs one by one with --seed"
    } else if args.share.shard.is_some() || args.share.start_at.is_some() {
        "--paired-open needs one generator, which alone knows what the users reached and when they were done\n\
         hint: leave --shard and --start-at out, or run the open run by itself at the rate that the report tells"
    } else {
        return Ok(());
    };
    Err(Stop::usage(refusal))
}

/// Executes it, with prompts of its own, and holds it against `closed`; `None` where nothing came of the closed run, or one of
/// the two was interrupted.
pub(super) fn execute_open(
    args: &BenchArgs,
    context: &RunContext,
    (workload, schedule): (&WorkloadSpec, &Schedule),
    closed: &StoredRun,
) -> Result<Option<PairedOpen>, Stop> {
    let open = PairedOpen::workload(workload, &closed.summary);
    let Some(workload) = open.filter(|_| !context.interrupts.stop_is_wished()) else { return Ok(None) };
    let rate = three_digits(workload.arrival.mean_rate_per_s());
    if !args.live.quiet {
        context.printer.words(&format!(
            "the closed run is over; now the open one, at the {rate}/s that its users reached"
        ));
    }
    let part = format!("the open run beside the closed one, at {rate}/s");
    let run = PlannedRun::like(schedule, workload)?.shown_as(part);
    // Other texts, so that the closed run has not warmed the prefix cache.
    let open = context.execute(run, 2, |_| pair::folder_in(&closed.folder))?;
    let whole = open.ending() != RunEnding::Interrupted;
    open.stored?;
    Ok(PairedOpen::of(&closed.summary, &open.summary).filter(|_| whole))
}
