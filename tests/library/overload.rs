//! Overload in virtual time: caps, servers that refuse, clients that try again, and failures that outlast their cause.

use std::time::Duration;

use skyline::analysis::{SpikeAftermath, summarise};
use skyline::clock::Timestamp;
use skyline::experiment::{SimulatedRun, VirtualRun};
use skyline::generator::{ConcurrencyCaps, Schedule};
use skyline::record::{AttemptEnd, AttemptKind, Failure, FailureKind, Outcome, Phase, RequestRecord, RunLog};
use skyline::simulator::{AbandonedWork, Admission, AdmissionGroup, Delay, EngineModel, Fleet, SimulatedServer};
use skyline::workload::{Distribution, Leaving, WorkloadSpec};

use crate::virtual_time::header;

/// Prompts of 10 tokens and answers of 1, in arrivals like `arrival`.
fn workload(arrival: &str, horizon_s: f64, more: &str) -> WorkloadSpec {
    let text = format!(
        r#"
name = "overload"
horizon_s = {horizon_s}
warmup_s = 0
drain_s = 600
seed = 7
arrival = {arrival}
{more}
[[classes]]
name = "chat"
input_tokens = 10
output_tokens = 1
"#
    );
    WorkloadSpec::from_toml(&text, "a test").unwrap()
}

fn run(spec: &WorkloadSpec, server: &mut dyn SimulatedServer, cap: Option<u64>) -> SimulatedRun {
    let schedule = Schedule::draw(spec);
    let drain = Duration::from_secs_f64(spec.drain_s);
    let caps = ConcurrencyCaps { total: cap, classes: Vec::new() };
    VirtualRun { plan: schedule.facts(), schedule, drain, caps }.execute(server)
}

fn plain(slots: usize, service: Delay, admission: Admission) -> Fleet {
    let engine = EngineModel::Plain { slots, ttft: service, itl: Delay::Constant(0.0) };
    Fleet { admission, ..Fleet::of_one(engine, 3) }
}

fn admits(most: u32) -> Admission {
    let limits = vec![(AdmissionGroup::All, most)];
    Admission { limits, ..Admission::default() }
}

/// Whether a request was refused because the server was full.
fn is_refused(record: &RequestRecord) -> bool {
    matches!(&record.outcome, Outcome::Failed(failure) if failure.reason == FailureKind::HttpStatus(429))
}

#[test]
fn a_cap_of_the_client_is_a_queue_before_the_server_and_counts_in_latency() {
    let spec = workload("{ kind = \"poisson\", rate_per_s = 8 }", 20.0, "");
    let service = Delay::Constant(0.1);
    let ends = |slots, cap| {
        let ran = run(&spec, &mut *plain(slots, service, Admission::default()).server().unwrap(), cap);
        assert!(ran.records.iter().all(|record| record.outcome == Outcome::Completed));
        let mut records = ran.records;
        records.sort_by_key(|record| record.index);
        records
    };
    let (capped, queued) = (ends(64, Some(1)), ends(1, None));
    assert_eq!(capped.len(), queued.len());
    for (capped, queued) in capped.iter().zip(&queued) {
        assert_eq!((capped.scheduled, capped.dispatched), (queued.scheduled, queued.dispatched));
        assert_eq!(capped.ended, queued.ended, "the queue is the same, before the server or in it");
        assert_eq!(capped.admitted, capped.sent);
        assert_eq!((queued.admitted, queued.sent), (None, Some(queued.dispatched)));
        assert_eq!(capped.ended.since(capped.admitted.unwrap()), Duration::from_millis(100));
    }
    assert!(capped.iter().any(|record| record.admitted > Some(record.dispatched)), "somebody waits");
}

#[test]
fn who_still_waits_for_a_slot_at_the_end_was_never_sent() {
    let spec = WorkloadSpec { drain_s: 1.0, ..workload("{ kind = \"constant\", rate_per_s = 10 }", 2.0, "") };
    let ran = run(&spec, &mut *plain(64, Delay::Constant(1.0), Admission::default()).server().unwrap(), Some(1));
    let censored = |sent: bool| {
        let of = |record: &&RequestRecord| record.outcome == Outcome::Censored && record.sent.is_some() == sent;
        ran.records.iter().filter(of).count()
    };
    let completed = ran.records.iter().filter(|record| record.outcome == Outcome::Completed).count();
    assert_eq!((completed, censored(true)), (2, 1));
    assert_eq!(completed + censored(true) + censored(false), ran.records.len());
    assert!(censored(false) > 15);
}

#[test]
fn a_refusal_is_a_failure_with_its_status_at_the_moment_of_arrival() {
    let spec = workload("{ kind = \"constant\", rate_per_s = 10 }", 2.0, "");
    let ran = run(&spec, &mut *plain(1, Delay::Constant(1.0), admits(2)).server().unwrap(), None);
    let refused: Vec<_> = ran.records.iter().filter(|record| is_refused(record)).collect();
    assert!(refused.len() > 12, "{}", refused.len());
    for record in refused {
        assert_eq!((record.ended, record.sent), (record.dispatched, Some(record.dispatched)));
        let Outcome::Failed(failure) = &record.outcome else { unreachable!() };
        let Failure { message, .. } = &**failure;
        assert!(message.contains("the 2 requests that it admits"), "{message}");
    }
}

/// A plain server of one slot that serves 10 requests a second, and goes on with what its clients gave up.
fn unaware(admission: Admission) -> Fleet {
    plain(1, Delay::Exponential(0.1), Admission { abandoned: AbandonedWork::Completed, ..admission })
}

/// 7 requests a second, which a server of 10 a second bears well; 15 a second from 40 s to 60 s; 7 again.
const SPIKE: &str =
    "{ kind = \"spikes\", base_rate_per_s = 7, spikes = [{ at_s = 40, rate_per_s = 15, hold_s = 20 }] }";
/// Clients that give up after two seconds and try again at once, up to three times.
const NAIVE: &str = "[clients]\ntimeout_s = 2\nretries = 3\nretry_on = [429, \"timeout\"]\nbackoff_s = 0.1\n\
                     backoff_max_s = 0.4\njitter = \"none\"";

fn aftermath(clients: &str, fleet: &Fleet) -> SpikeAftermath {
    let spec = workload(SPIKE, 200.0, clients);
    let SimulatedRun { records, footer, .. } = run(&spec, &mut *fleet.server().unwrap(), None);
    summarise(&RunLog::of_requests(header(&spec), records, footer), &[]).aftermath.unwrap()
}

/// A metastable failure (Bronson et al., `HotOS` 2021): the trigger is over after 20 s, and the failure is not.
#[test]
fn naive_retries_keep_a_server_down_long_after_the_spike_that_no_retries_recover_from() {
    let naive = aftermath(NAIVE, &unaware(Admission::default()));
    assert!(naive.recovered == Some(false) && naive.is_amplified() && naive.recovery_s.is_none(), "{naive:?}");
    assert!(naive.before.good_share() > Some(0.9), "{:?}", naive.before);
    assert!(naive.after.good_share() < Some(0.05), "{:?}", naive.after);
    // Each request is sent as often as it may be: the server has four times the load that it bore.
    assert!(naive.after.amplification() > Some(3.5), "{:?}", naive.after);

    let off = "[clients]\ntimeout_s = 2";
    let without = aftermath(off, &unaware(Admission::default()));
    assert!(without.recovered == Some(true) && without.after.good_share() > Some(0.9), "{without:?}");
    assert_eq!(without.after.amplification(), Some(1.0), "{:?}", without.after);
    // 100 requests are left in the queue, of which 3 a second more are served than come: half a minute.
    let recovery = without.recovery_s.unwrap();
    assert!((15.0..60.0).contains(&recovery), "{recovery}");
}

#[test]
fn a_server_that_refuses_early_or_notices_who_has_gone_recovers_from_naive_retries() {
    // 15 requests take 1.5 s on average: who is admitted is answered in time.
    let refuses = aftermath(NAIVE, &unaware(admits(15)));
    let notices = aftermath(NAIVE, &plain(1, Delay::Exponential(0.1), Admission::default()));
    for of in [refuses, notices] {
        assert!(of.recovered == Some(true) && of.recovery_s.is_some_and(|seconds| seconds < 30.0), "{of:?}");
        assert!(of.after.good_share() > Some(0.9), "{:?}", of.after);
    }
}

/// The probability that a Poisson arrival finds M/M/1/K full: (1 − ρ)ρ^K ÷ (1 − ρ^(K+1)).
fn blocking(load: f64, most: i32) -> f64 {
    (1.0 - load) * load.powi(most) / (1.0 - load.powi(most + 1))
}

/// The blocking probability of M/M/1/K at the load that `retries` of each blocked request make of the load ρ, where waits
/// are long and retries so nearly Poisson: the fixed point of ρ' = ρ(1 + p + … + p^k).
fn blocking_with_retries(load: f64, most: i32, retries: i32) -> f64 {
    (0..1_000).fold(0.0, |p: f64, _| blocking(load * (0..=retries).map(|k| p.powi(k)).sum::<f64>(), most))
}

/// Over 200,000 requests the amplification, and the share of attempts that are refused, are those of the fixed point.
fn amplifies_like_the_fixed_point(rate: f64, most: i32, retries: i32) {
    let clients = format!(
        "[clients]\nretries = {retries}\nbackoff_s = 100\nbackoff_factor = 1\nbackoff_max_s = 100\njitter = \"full\""
    );
    let arrival = format!("{{ kind = \"poisson\", rate_per_s = {rate} }}");
    let horizon_s = 1_000.0 + 205_000.0 / rate;
    let spec = WorkloadSpec { warmup_s: 1_000.0, ..workload(&arrival, horizon_s, &clients) };
    let fleet = plain(1, Delay::Exponential(0.1), admits(most as u32));
    let ran = run(&spec, &mut *fleet.server().unwrap(), None);
    let measured = || ran.records.iter().filter(|record| record.phase == Phase::Measured);
    let requests = measured().count() as f64;
    assert!(requests >= 200_000.0, "{requests}");
    let sent = measured().map(RequestRecord::attempts_made).sum::<u64>() as f64;
    let failed = measured().filter(|record| is_refused(record)).count() as f64;
    let p = blocking_with_retries(rate * 0.1, most, retries);
    let expected = (1.0 - p.powi(retries + 1)) / (1.0 - p);
    let (amplification, lost) = (sent / requests, failed / requests);
    println!(
        "M/M/1/{most} at {rate}/s, {retries} retries: amplification {amplification:.4}, fixed point {expected:.4}; lost \
         {lost:.5}, fixed point {:.5}",
        p.powi(retries + 1)
    );
    assert!((amplification / expected - 1.0).abs() < 0.02, "{amplification}, not {expected}");
    // Of the attempts as many are refused as the closed form says.
    let refused = (sent - requests + failed) / sent;
    assert!((refused / p - 1.0).abs() < 0.02, "{refused}, not {p}");
}

#[test]
fn retries_amplify_the_load_of_m_m_1_k_as_its_fixed_point_says() {
    amplifies_like_the_fixed_point(8.0, 3, 3);
}

#[test]
#[ignore = "takes half a minute unoptimised; `tests/interop/long_tests.sh` runs it; by hand: `cargo test --test library overload:: -- --ignored`"]
fn retries_amplify_an_overload_too() {
    amplifies_like_the_fixed_point(12.0, 4, 2);
}

/// One request at 1 s of a server whose answers take `service`; the moments of its attempts, and the record.
fn lone(clients: &str, fleet: &Fleet) -> (Vec<(AttemptKind, u64, u64, AttemptEnd)>, RequestRecord) {
    let spec = workload("{ kind = \"constant\", rate_per_s = 1 }", 1.5, clients);
    let ran = run(&spec, &mut *fleet.server().unwrap(), None);
    let record = ran.records.into_iter().find(|record| record.index == 0).unwrap();
    let ms = |at: Timestamp| at.as_nanos() / 1_000_000;
    let attempts = record.attempts().iter();
    let attempts = attempts.map(|attempt| (attempt.kind, ms(attempt.begun), ms(attempt.ended), attempt.end));
    (attempts.collect(), record)
}

#[test]
fn a_client_gives_up_and_tries_again_after_a_wait_that_doubles() {
    let clients = "[clients]\ntimeout_s = 2\nretries = 2\nretry_on = [\"timeout\"]\nbackoff_s = 0.5\njitter = \"none\"";
    let slow = plain(9, Delay::Constant(3.0), Admission::default());
    let (attempts, record) = lone(clients, &slow);
    let timeout = AttemptEnd::Failed(FailureKind::TimeoutTotal);
    assert_eq!(
        attempts,
        [
            (AttemptKind::First, 1_000, 3_000, timeout),
            (AttemptKind::Retry, 3_500, 5_500, timeout),
            (AttemptKind::Retry, 6_500, 8_500, timeout),
        ]
    );
    assert_eq!((record.sent, record.ended.as_nanos()), (Some(record.scheduled), 8_500_000_000));
    let Outcome::Failed(failure) = &record.outcome else { unreachable!("{:?}", record.outcome) };
    assert_eq!(failure.reason, FailureKind::TimeoutTotal);

    // Within the limit there is one attempt, of which the record says all.
    let (attempts, record) = lone(clients, &plain(9, Delay::Constant(1.9), Admission::default()));
    assert_eq!((attempts, record.outcome), (vec![], Outcome::Completed));
}

#[test]
fn a_hedge_is_sent_to_a_server_that_does_not_begin_and_the_first_token_wins() {
    let clients = "[clients]\nhedge_after_s = 0.5";
    // The first draw of this server is over half a second, the second is short.
    let fleet = |seed| Fleet { seed, ..plain(9, Delay::Uniform(0.0, 2.0), Admission::default()) };
    let hedged = (0..20).map(|seed| lone(clients, &fleet(seed))).filter(|(attempts, _)| attempts.len() == 2);
    let (mut won, mut lost) = (0, 0);
    for (attempts, record) in hedged {
        assert_eq!((attempts[0].1, attempts[1].1), (1_000, 1_500));
        assert_eq!((attempts[0].0, attempts[1].0), (AttemptKind::First, AttemptKind::Hedge));
        assert_eq!(attempts[0].2, attempts[1].2, "the other is cancelled at the first token");
        assert_eq!(record.outcome, Outcome::Completed);
        assert_eq!((record.sent, record.attempts_made()), (Some(record.scheduled), 2));
        match (attempts[0].3, attempts[1].3) {
            (AttemptEnd::Answered, AttemptEnd::Cancelled) => lost += 1,
            (AttemptEnd::Cancelled, AttemptEnd::Answered) => won += 1,
            other => unreachable!("{other:?}"),
        }
    }
    assert!(won > 2 && lost > 2, "{won} {lost}");
}

#[test]
fn a_client_comes_again_no_sooner_than_the_server_asks() {
    let clients = "[clients]\nretries = 1\nbackoff_s = 0.1\njitter = \"none\"";
    let admission = Admission { retry_after: Some(Duration::from_millis(2_700)), ..admits(1) };
    let spec = workload("{ kind = \"constant\", rate_per_s = 1 }", 2.5, clients);
    let ran = run(&spec, &mut *plain(1, Delay::Constant(1.5), admission).server().unwrap(), None);
    let second = ran.records.iter().find(|record| record.index == 1).unwrap();
    let begun: Vec<_> = second.attempts().iter().map(|attempt| attempt.begun.as_nanos()).collect();
    assert_eq!(begun, [2_000_000_000, 4_700_000_000]);
    assert_eq!(second.outcome, Outcome::Completed);
}

#[test]
fn clients_that_never_have_to_try_again_change_nothing() {
    let arrival = "{ kind = \"poisson\", rate_per_s = 8 }";
    let ran = |clients: &str| {
        let spec = workload(arrival, 60.0, clients);
        run(&spec, &mut *plain(2, Delay::Exponential(0.1), Admission::default()).server().unwrap(), None)
    };
    assert_eq!(ran("").records, ran("[clients]\ntimeout_s = 500\nretries = 3\nhedge_after_s = 400").records);
}

#[test]
fn the_share_of_clients_who_leave_a_queue_is_that_of_a_dam_of_finite_capacity() {
    // Each client leaves 0.5 s after it came, from the queue or from service. The work before a newcomer is then the
    // content of a dam of that capacity: P = (1 − ρ)a / (1 − ρa) with a = exp(−(μ − λ)τ) (Barrer, Operations Research
    // 5:5, 1957, 644–656).
    let arrival = "{ kind = \"poisson\", rate_per_s = 8 }";
    let mut spec = workload(arrival, 5_000.0, "");
    spec.classes[0].cancel = Some(Leaving { share: 1.0, after_s: Some(0.5), after_tokens: None });
    let service = Delay::Exponential(0.1);
    let records = run(&spec, &mut *plain(1, service, Admission::default()).server().unwrap(), None).records;
    let left = records.iter().filter(|record| record.outcome == Outcome::Cancelled);
    let a = (-1.0_f64).exp();
    let expected = 0.2 * a / (1.0 - 0.8 * a);
    let share = left.clone().count() as f64 / records.len() as f64;
    assert!((share - expected).abs() < 0.01, "{share} and {expected}");
    assert!(left.clone().all(|record| record.ended.since(record.dispatched) == Duration::from_millis(500)));
    assert!(records.iter().all(|record| record.leaves && record.ended.since(record.dispatched).as_secs_f64() <= 0.5));
    // Nobody leaves a tenth of the classes' share, drawn for each request alone.
    spec.classes[0].cancel = Some(Leaving { share: 0.1, after_s: Some(0.5), after_tokens: None });
    let some = run(&spec, &mut *plain(1, service, Admission::default()).server().unwrap(), None).records;
    let leave = some.iter().filter(|record| record.leaves).count() as f64 / some.len() as f64;
    assert!((leave - 0.1).abs() < 0.01, "{leave}");
    let measured = some.iter().filter(|record| record.phase == Phase::Measured);
    assert!(measured.clone().all(|record| record.leaves || record.outcome == Outcome::Completed));
}

#[test]
fn clients_leave_a_simulated_server_after_their_tokens() {
    let mut spec = workload("{ kind = \"poisson\", rate_per_s = 5 }", 20.0, "");
    spec.classes[0].output_tokens = Distribution::Constant { value: 20 };
    spec.classes[0].cancel = Some(Leaving { share: 0.5, after_s: None, after_tokens: Some(7) });
    let engine = EngineModel::Plain { slots: 64, ttft: Delay::Constant(0.1), itl: Delay::Constant(0.05) };
    let records = run(&spec, &mut *Fleet::of_one(engine, 3).server().unwrap(), None).records;
    for record in records.iter().filter(|record| record.phase == Phase::Measured) {
        let (tokens, outcome) = if record.leaves { (7, Outcome::Cancelled) } else { (20, Outcome::Completed) };
        assert_eq!((record.output_tokens, &record.outcome), (tokens, &outcome), "{record:?}");
        let last = Duration::from_millis(100 + 50 * (tokens - 1));
        assert!(record.ended.since(record.dispatched).abs_diff(last) < Duration::from_micros(1), "{record:?}");
    }
    assert!(records.iter().any(|record| record.leaves) && records.iter().any(|record| !record.leaves));
}
