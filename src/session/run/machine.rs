//! What machine this is and what it can do: refuses a plan that asks for more before anything is sent.

use std::time::Duration;

use crate::calibration::{ClientCapacity, ClientDemand, Overload, QUICK, calibrate};
use crate::engine::AnswerForm;
use crate::record::{Calibration, HostFacts, Shard};
use crate::session::command_line;
use crate::session::console::{Printer, Stop};
use crate::session::settings::{LoadOption, MachineCheck, RunSettings};
use crate::units::{count, three_digits};
use crate::workload::WorkloadSpec;

/// Most command lines of shards that are written out.
const WRITTEN_OUT: u64 = 4;
/// Time to start generators by hand.
const TO_START: Duration = Duration::from_secs(2 * 60);

/// What this machine can measure, unless that is skipped or fails.
pub(super) fn calibrated(check: MachineCheck, printer: Printer) -> Option<Calibration> {
    if check == MachineCheck::Skipped {
        return None;
    }
    let found = calibrate(QUICK, |_| {});
    found.inspect_err(|error| printer.words(&format!("this machine is not calibrated: {error}"))).ok()
}

/// Refuses a plan that asks for more than this machine, where it was calibrated, can be trusted with.
pub(super) fn check_load(
    settings: &RunSettings,
    calibration: Option<&Calibration>,
    spec: &WorkloadSpec,
) -> Result<(), Stop> {
    let Some(found) = calibration.filter(|_| settings.machine == MachineCheck::Enforced) else {
        return Ok(());
    };
    let whole = match settings.server.form {
        AnswerForm::Streamed => ClientDemand::of(spec),
        AnswerForm::Whole => ClientDemand::of_whole_answers(spec),
    };
    let shard = settings.share.shard;
    let demand = shard.map_or(whole, |shard| whole.shared(shard));
    ClientCapacity(found)
        .judge(demand)
        .map_err(|overload| refusal(&overload, settings.load_option, shard, spec))
}

fn refusal(overload: &Overload, load_option: LoadOption, shard: Option<Shard>, spec: &WorkloadSpec) -> Stop {
    let ClientDemand { requests_per_s, events_per_request } = overload.demand;
    let mean = spec.arrival.mean_rate_per_s();
    let trusted = overload.trusted_rate_per_s(mean);
    // The loads of a sweep and the rows of a table are rates of requests, of a trace too.
    let most = match (spec.arrival.trace(), load_option) {
        (Some(trace), LoadOption::OfOneRun | LoadOption::OfAllRuns) => trace.rate_scale * trusted / mean,
        _ => trusted,
    };
    let option = load_option.name(&spec.arrival);
    let most = format!("{most:.3}");
    let together = if load_option == LoadOption::OfOneRun {
        let generators = overload.clients() * shard.map_or(1, |shard| shard.of);
        format!(
            "hint: or let {} generators run the plan together, each with a core of its own, on this machine or others:\n\
             {}\n  skyline merge FOLDER_OF_EACH\n",
            count(generators),
            commands(generators).join("\n")
        )
    } else {
        String::new()
    };
    Stop::impossible(format!(
        "this plan is too much for this machine: {} requests/s at its peak, with answers of {} events on average, need {} of \
         the one core that a client has; the limit is half of it\nhint: lower the rate: {option} {} at most\n{together}hint: \
         or run it as it is, with --force; the report may say INVALID",
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
        // --repeats and --shard exclude each other.
        let options = [("--shard", &*shard), ("--start-at", &start)];
        let again = command_line::again(std::env::args_os(), &["--repeats"], &options);
        format!("  {again}")
    };
    if of <= WRITTEN_OUT {
        return (1..=of).map(command).collect();
    }
    vec![command(1), command(2), "  …".to_owned(), command(of)]
}

/// The operating system, the processor, the cores.
pub(crate) fn host_facts() -> HostFacts {
    HostFacts {
        os: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        cpu: processor(),
        cores: std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64),
    }
}

/// The processor's name as Linux tells it; elsewhere it is left out.
fn processor() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let (_, name) = text.lines().find(|line| line.starts_with("model name"))?.split_once(':')?;
    Some(name.trim().to_owned())
}
