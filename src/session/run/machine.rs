//! What machine this is and what it can do: refuses a plan that asks for more before anything is sent.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use super::kept_calibration;
use crate::calibration::{ClientCapacity, ClientDemand, Fitness, Overload, QUICK, calibrate, fitter};
use crate::engine::{AnswerForm, Engine};
use crate::live::{Screen, StepLine};
use crate::record::{Calibration, HostFacts, Shard};
use crate::runner::Readers;
use crate::session::command_line;
use crate::session::console::{Printer, Stop};
use crate::session::settings::{LoadOption, MachineCheck, RunSettings};
use crate::units::{count, seconds, three_digits};
use crate::workload::WorkloadSpec;

/// Most command lines of shards that are written out.
const WRITTEN_OUT: u64 = 4;
/// Time to start generators by hand.
const TO_START: Duration = Duration::from_secs(2 * 60);

/// Calibrations before a machine is called not fit. One stall does not make it so.
const TRIES: usize = 3;

/// Returns what this machine can measure, unless that is skipped or fails. A line on how fit it is for this load comes
/// first. A series of runs on a machine that is not fit is refused.
pub(super) fn calibrated(
    settings: &RunSettings,
    spec: &WorkloadSpec,
    printer: Printer,
) -> Result<Option<Calibration>, Stop> {
    let Some(found) = measured(settings, printer) else { return Ok(None) };
    check_fitness(settings.machine, &found)?;
    let fitness = Fitness::new(&found);
    if fitness != Fitness::Ready || settings.screen != Screen::Quiet {
        let capacity = capacity(settings, &found);
        let trusted = capacity.trusted_requests_per_s(demand(settings, spec).events_per_request);
        let cure = if fitness.cure().is_empty() { String::new() } else { format!(": {}", fitness.cure()) };
        let sentence = fitness.sentence(&found, trusted);
        let age = found.age_s.map_or(String::new(), |age| format!("; measured {} ago", seconds(age as f64)));
        printer.words(&format!("machine: {} ({sentence}{age}){cure}", fitness.word()));
    }
    Ok(Some(found))
}

/// Refuses a series on a machine that is not fit for it. It does so before anything else is done for the series.
pub(crate) fn check_series(settings: &RunSettings, printer: Printer) -> Result<(), Stop> {
    measured(settings, printer).map_or(Ok(()), |found| check_fitness(settings.machine.of_series(), &found))
}

fn check_fitness(check: MachineCheck, found: &Calibration) -> Result<(), Stop> {
    let fitness = Fitness::new(found);
    if fitness != Fitness::NotFit || check != MachineCheck::EnforcedForSeries {
        return Ok(());
    }
    Err(Stop::impossible(format!(
        "this machine is {} for a series of runs: {}\nhint: {}\nhint: or run it as it is, with --force",
        fitness.word(),
        fitness.sentence(found, 0.0),
        fitness.cure()
    )))
}

/// The best of some calibrations, of which the first that does is enough.
fn measured(settings: &RunSettings, printer: Printer) -> Option<Calibration> {
    if settings.machine == MachineCheck::Skipped {
        return None;
    }
    if let Some(kept) = kept_calibration::read(settings.pacing) {
        return Some(kept);
    }
    let mut best: Option<Calibration> = None;
    let mut failure = None;
    let line = StepLine::start(settings.screen, "calibrating this machine".to_owned());
    for _ in 0..TRIES {
        match calibrate(QUICK, settings.pacing, |_| {}) {
            Ok(found) => best = Some(best.map_or(found, |best| fitter(best, found))),
            Err(error) => failure = Some(error),
        }
        if best.is_some_and(|best| Fitness::new(&best) != Fitness::NotFit) {
            break;
        }
    }
    drop(line);
    // A machine that was busy is asked again.
    if let Some(ready) = best.filter(|best| Fitness::new(best) == Fitness::Ready) {
        kept_calibration::keep(ready, settings.pacing);
    }
    if let (None, Some(error)) = (best, failure) {
        printer.words(&format!("this machine is not calibrated: {error}"));
    }
    best
}

/// The client by this calibration, with all the readers that it may have.
fn capacity<'a>(settings: &RunSettings, found: &'a Calibration) -> ClientCapacity<'a> {
    // One core is left to whatever sends and counts, and connections that are kept belong to one reader.
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get().saturating_sub(1));
    let most = if settings.requests.connections_per_host.is_some() { 1 } else { cores };
    ClientCapacity { found, readers: settings.readers.or(NonZeroUsize::new(most)).unwrap_or(NonZeroUsize::MIN) }
}

/// Starts the readers for a plan. A machine that was not calibrated is taken for a usual one.
pub(super) fn readers<E: Engine>(
    settings: &RunSettings,
    found: Option<&Calibration>,
    spec: &WorkloadSpec,
    engine: &Arc<E>,
) -> Result<Readers<E>, Stop> {
    let usual = Calibration { request_cpu_ns: 80_000, paced_event_cpu_ns: 8_000, ..Calibration::default() };
    let capacity = capacity(settings, found.unwrap_or(&usual));
    let shard = settings.share.shard;
    let own = |users| spec.most_in_flight_of(shard.map_or(users, |shard| shard.among_first(users)));
    let users = spec.arrival.users().map(own);
    let needed = || capacity.needed(demand(settings, spec), users);
    let count = settings.readers.unwrap_or_else(needed);
    Readers::start(Arc::clone(engine), count, settings.pacing).map_err(Stop::impossible)
}

/// Returns the demand of a plan on this client.
pub(super) fn demand(settings: &RunSettings, spec: &WorkloadSpec) -> ClientDemand {
    let whole = match settings.server.common.form {
        AnswerForm::Streamed => ClientDemand::from_workload(spec),
        AnswerForm::Whole => ClientDemand::of_whole_answers(spec),
    };
    settings.share.shard.map_or(whole, |shard| whole.shared(shard))
}

/// More requests per second than one client is trusted with where it was not calibrated. It is chosen, not measured: it
/// leaves a core 40 µs for a request.
const MOST_PER_S: f64 = 25_000.0;

/// Whether this client can be trusted with a plan, with all its readers.
pub(super) fn judge(settings: &RunSettings, found: &Calibration, spec: &WorkloadSpec) -> Result<(), Overload> {
    capacity(settings, found).judge(demand(settings, spec))
}

/// Refuses a plan that asks for more than this machine can be trusted with. Where it was not calibrated, it refuses one
/// that asks for more than any machine can.
pub(super) fn check_load(
    settings: &RunSettings,
    calibration: Option<&Calibration>,
    spec: &WorkloadSpec,
) -> Result<(), Stop> {
    let enforced = matches!(settings.machine, MachineCheck::Enforced | MachineCheck::EnforcedForSeries);
    let per_s = demand(settings, spec).requests_per_s;
    if settings.machine == MachineCheck::Skipped && per_s > MOST_PER_S {
        return Err(Stop::impossible(format!(
            "this plan is too much for any machine: {} requests/s at its peak; the limit without calibration is {}/s\n\
             hint: lower the rate with {}, or leave --no-calibration out: what this machine can do is then measured",
            three_digits(per_s),
            count(MOST_PER_S as u64),
            settings.load_option.name(&spec.arrival),
        )));
    }
    let Some(found) = calibration.filter(|_| enforced) else { return Ok(()) };
    judge(settings, found, spec)
        .map_err(|overload| refusal(&overload, settings.load_option, settings.share.shard, spec))
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
            "hint: or let {} generators run the plan together, each on a machine of its own:\n{}\n  skyline merge \
             FOLDER_OF_EACH\n",
            count(generators),
            commands(generators).join("\n")
        )
    } else {
        String::new()
    };
    Stop::impossible(format!(
        "this plan is too much for this machine: {} requests/s at its peak, with answers of {} events on average, need \
         {} of the time of its readers; the limit is half of it\nhint: lower the rate: {option} {} at \
         most\n{together}hint: or run it as it is, with --force; the report may say INVALID",
        three_digits(requests_per_s),
        three_digits(events_per_request),
        three_digits(overload.share),
        most.trim_end_matches('0').trim_end_matches('.'),
    ))
}

/// Returns the command lines of the generators. They are all of them, or the first two and the last.
fn commands(of: u64) -> Vec<String> {
    let start = jiff::Timestamp::now() + TO_START;
    let start = start.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let command = |number| {
        let shard = Shard { number, of }.to_string();
        // --repeats and --shard exclude each other.
        let options = [("--shard", &*shard), ("--start-at", &start)];
        let again = command_line::again(command_line::arguments(), &["--repeats"], &options);
        format!("  {again}")
    };
    if of <= WRITTEN_OUT {
        return (1..=of).map(command).collect();
    }
    vec![command(1), command(2), "  …".to_owned(), command(of)]
}

/// Returns the operating system, the processor, the cores and the priority. The priority is that of the threads that
/// measure, where there are any.
pub(crate) fn host_facts(priority: Option<String>) -> HostFacts {
    HostFacts {
        os: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        cpu: processor(),
        cores: std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64),
        priority,
    }
}

/// The processor's name as Linux tells it; elsewhere it is left out.
fn processor() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let (_, name) = text.lines().find(|line| line.starts_with("model name"))?.split_once(':')?;
    Some(name.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Delays;
    use crate::session::console::Exit;

    #[test]
    fn a_series_needs_a_machine_that_is_fit_unless_it_is_forced() {
        let found = |p99_ns| {
            let stamp_delay = Delays { n: 1_000, p50_ns: 1_000, p99_ns, max_ns: p99_ns };
            let pacer_delay = Delays { p99_ns: 1_000, ..stamp_delay };
            Calibration {
                took_ns: 500_000_000,
                age_s: None,
                stamp_delay,
                pacer_delay,
                request_cpu_ns: 75_000,
                paced_event_cpu_ns: 8_000,
                coalesced_event_cpu_ns: 700,
            }
        };
        let unfit = found(381_000_000);
        let stop = check_fitness(MachineCheck::Enforced.of_series(), &unfit).unwrap_err();
        assert_eq!(stop.exit(), Exit::Invalid);
        let refusal = stop.message();
        assert!(refusal.contains("is NOT FIT for a series of runs: stamps within 381 ms"), "{refusal}");
        assert!(refusal.contains("hint: free up CPU") && refusal.contains("--force"), "{refusal}");
        for check in [MachineCheck::Enforced, MachineCheck::Overridden.of_series()] {
            assert!(check_fitness(check, &unfit).is_ok(), "{check:?}");
        }
        assert!(check_fitness(MachineCheck::EnforcedForSeries, &found(5_000_000)).is_ok());
    }
}
