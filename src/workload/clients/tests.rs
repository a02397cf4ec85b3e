//! The behaviour of clients is read, changed and drawn as it is described.

use std::time::Duration;

use super::behaviour::{ClientBehaviour, Jitter};
use super::change::ClientChange;
use super::retry_cause::RetryCause;
use super::retry_policy::RetryPolicy;
use crate::workload::overrides::Overrides;
use crate::workload::spec::WorkloadSpec;

const LEAST: &str = "name = \"w\"\narrival = { kind = \"poisson\", rate_per_s = 1 }\n\
    [[classes]]\nname = \"chat\"\ninput_tokens = 9\noutput_tokens = 9\n\
    [[classes]]\nname = \"batch\"\ninput_tokens = 9\noutput_tokens = 9\n";

fn spec(clients: &str) -> Result<WorkloadSpec, String> {
    let text = format!("{LEAST}[clients]\n{clients}\n");
    WorkloadSpec::from_toml(&text, "test").map_err(|error| error.to_string())
}

fn policy(behaviour: &ClientBehaviour) -> RetryPolicy {
    RetryPolicy::new(behaviour.clone(), 42)
}

#[test]
fn a_file_says_how_clients_behave() {
    assert_eq!(WorkloadSpec::from_toml(LEAST, "test").unwrap().clients, None);
    assert_eq!(spec("").unwrap().clients, Some(ClientBehaviour::default()));
    let read =
        spec("timeout_s = 30\nretries = 4\nretry_on = [429, \"timeout\"]\njitter = \"equal\"\nhedge_after_s = 2");
    let expected = ClientBehaviour {
        timeout_s: Some(30.0),
        retries: 4,
        retry_on: vec![RetryCause::Status(429), RetryCause::Timeout],
        jitter: Jitter::Equal,
        hedge_after_s: Some(2.0),
        ..ClientBehaviour::default()
    };
    assert_eq!(read.unwrap().clients, Some(expected));
    for (clients, problem) in [
        ("retrie = 3", "did you mean `retries`?"),
        ("retries = 3\nretry_on = [200]", "`clients.retry_on[0]` is 200"),
        ("retry_on = [\"slow\"]", "one of timeout, connect, reset"),
        ("backoff_s = 9", "`clients.backoff_max_s` is 8, below `backoff_s`, which is 9"),
        ("jitter = \"ful\"", "did you mean \"full\"?"),
    ] {
        let error = spec(clients).unwrap_err();
        assert!(error.contains(problem), "{clients}: {error}");
    }
}

#[test]
fn the_command_line_changes_how_clients_behave() {
    let with = |change: ClientChange| {
        let overrides = Overrides { clients: change, ..Overrides::default() };
        WorkloadSpec::from_toml(LEAST, "test").unwrap().with(&overrides).map_err(|error| error.to_string())
    };
    assert_eq!(with(ClientChange::default()).unwrap().clients, None);
    let change = ClientChange { retries: Some(2), backoff_s: Some(20.0), ..ClientChange::default() };
    let changed = with(change).unwrap().clients.unwrap();
    assert_eq!((changed.retries, changed.backoff_s, changed.backoff_max_s), (2, 20.0, 20.0));
    assert_eq!(changed.retry_on, RetryCause::DEFAULT);
    let short = ClientChange { retries: Some(2), backoff_max_s: Some(0.1), ..ClientChange::default() };
    let short = with(short).unwrap().clients.unwrap();
    assert_eq!((short.backoff_s, short.backoff_max_s), (0.1, 0.1), "no wait is longer than the longest");
    let alone = ClientChange { jitter: Some(Jitter::None), ..ClientChange::default() };
    assert!(with(alone).unwrap_err().contains("`--jitter` is about retries, and there are none"));
    let off = spec("retries = 3").unwrap();
    let overrides =
        Overrides { clients: ClientChange { retries: Some(0), ..ClientChange::default() }, ..Overrides::default() };
    assert!(!off.with(&overrides).unwrap().clients.unwrap().sends_again());
}

#[test]
fn waits_grow_by_the_factor_up_to_the_longest() {
    let plain = ClientBehaviour { jitter: Jitter::None, retries: 9, ..ClientBehaviour::default() };
    let waits: Vec<_> = (1..=6).map(|retry| policy(&plain).backoff(7, retry).as_millis()).collect();
    assert_eq!(waits, [500, 1_000, 2_000, 4_000, 8_000, 8_000]);
    assert_eq!(policy(&plain).backoff(7, 1_000), Duration::from_secs(8), "infinite growth ends at the longest");
}

#[test]
fn jitter_stays_in_its_bounds_and_is_drawn_for_each_attempt_alone() {
    for (jitter, low) in [(Jitter::Full, 0.0), (Jitter::Equal, 0.5)] {
        let behaviour = ClientBehaviour { jitter, backoff_factor: 1.0, retries: 3, ..ClientBehaviour::default() };
        let policy = policy(&behaviour);
        let draws: Vec<f64> =
            (0..2_000).map(|index| policy.backoff(index, 1).as_secs_f64() / behaviour.backoff_s).collect();
        assert!(draws.iter().all(|part| (low..1.0).contains(part)));
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        assert!((mean - f64::midpoint(low, 1.0)).abs() < 0.03, "{jitter}: {mean}");
        assert_eq!(policy.backoff(3, 2), RetryPolicy::new(behaviour.clone(), 42).backoff(3, 2));
        assert_ne!(policy.backoff(3, 2), policy.backoff(3, 1));
        assert_ne!(policy.backoff(3, 2), policy.backoff(4, 2));
        assert_ne!(policy.backoff(3, 2), RetryPolicy::new(behaviour, 43).backoff(3, 2));
    }
}

#[test]
fn retries_end_and_wait_at_least_as_long_as_the_server_asks() {
    let behaviour = ClientBehaviour { jitter: Jitter::None, retries: 2, ..ClientBehaviour::default() };
    let policy = policy(&behaviour);
    let busy = Some(RetryCause::Status(429));
    let ms = Duration::from_millis;
    assert_eq!(policy.retry_in(0, 1, busy, None), Some(ms(500)));
    assert_eq!(policy.retry_in(0, 1, busy, Some(ms(200))), Some(ms(500)));
    assert_eq!(policy.retry_in(0, 2, busy, Some(ms(3_000))), Some(ms(3_000)));
    assert_eq!(policy.retry_in(0, 3, busy, None), None, "two retries are three attempts");
    assert_eq!(policy.retry_in(0, 1, Some(RetryCause::Timeout), None), None);
    assert_eq!(policy.retry_in(0, 1, None, None), None);
}
