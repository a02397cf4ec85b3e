//! Overload in virtual time: caps, servers that refuse, clients that try again, and failures that outlast their cause.

use std::time::Duration;

use skyline::experiment::{SimulatedRun, VirtualRun};
use skyline::generator::Schedule;
use skyline::record::{Failure, FailureKind, Outcome, RequestRecord};
use skyline::simulator::{
    Admission, AdmissionGroup, AdmissionLimit, Delay, EngineModel, Fleet, SimulatedServer,
};
use skyline::workload::WorkloadSpec;

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
    VirtualRun { plan: schedule.facts(), schedule, drain, max_concurrency: cap }.execute(server)
}

fn plain(slots: usize, service: Delay, admission: Admission) -> Fleet {
    let engine = EngineModel::Plain { slots, ttft: service, itl: Delay::Constant(0.0) };
    Fleet { admission, ..Fleet::of_one(engine, 3) }
}

fn admits(most: u32) -> Admission {
    let limits = vec![AdmissionLimit { group: AdmissionGroup::All, most }];
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
