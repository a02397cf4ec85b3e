//! Changes from the command line.

use crate::workload::answer::ending::AnswerEnding;
use crate::workload::arrival::clients::{Client, GapFamily};
use crate::workload::arrival::pattern::ArrivalPattern;
use crate::workload::class::request_change::RequestChange;
use crate::workload::lengths::Distribution;
use crate::workload::overrides::Overrides;
use crate::workload::spec::WorkloadSpec;

fn load(name: &str) -> WorkloadSpec {
    WorkloadSpec::load(name).unwrap()
}

#[test]
fn no_change_changes_nothing() {
    for name in crate::workload::library::names() {
        assert_eq!(load(name).with(&Overrides::default()).unwrap(), load(name));
    }
}

#[test]
fn each_change_lands_in_its_field() {
    let overrides = Overrides {
        horizon_s: Some(120.0),
        rate_per_s: Some(3.0),
        seed: Some(7),
        warmup_s: Some(20.0),
        drain_s: Some(0.0),
        output_tokens: Some(Distribution::Constant { value: 9 }),
        request: RequestChange { length: Some(AnswerEnding::Natural), ..RequestChange::default() },
        ..Overrides::default()
    };
    let changed = load("short_chat").with(&overrides).unwrap();
    let mut classes = load("short_chat").classes;
    classes[0].output_tokens = Distribution::Constant { value: 9 };
    classes[0].length = AnswerEnding::Natural;
    let expected = WorkloadSpec {
        horizon_s: 120.0,
        arrival: ArrivalPattern::Poisson { rate_per_s: 3.0 },
        seed: 7,
        warmup_s: 20.0,
        drain_s: 0.0,
        classes,
        ..load("short_chat")
    };
    assert_eq!(changed, expected);
}

#[test]
fn seconds_and_requests_take_each_other_s_place() {
    let by_requests = load("short_chat").with(&Overrides { requests: Some(1000), ..Overrides::default() }).unwrap();
    assert_eq!((by_requests.requests, by_requests.warmup_s), (Some(1000), 0.0));
    let by_seconds = by_requests.with(&Overrides { horizon_s: Some(30.0), ..Overrides::default() }).unwrap();
    assert_eq!((by_seconds.requests, by_seconds.horizon_s, by_seconds.warmup_s), (None, 30.0, 3.0));
}

#[test]
fn users_who_send_so_many_requests_begin_at_once() {
    let ramp_of = |requests, users_at_once| {
        let typed = Overrides { users: Some(8), requests, users_at_once, ..Overrides::default() };
        match load("short_chat").with(&typed).unwrap().arrival {
            ArrivalPattern::Users { ramp_s, .. } => ramp_s,
            other => panic!("{other:?}"),
        }
    };
    // Where a warm-up hides it they begin one after another.
    assert_eq!((ramp_of(None, false), ramp_of(None, true), ramp_of(Some(40), false)), (0.4, 0.0, 0.0));
}

#[test]
fn a_short_trial_still_measures_something() {
    let short = load("short_chat").with(&Overrides { horizon_s: Some(3.0), ..Overrides::default() }).unwrap();
    assert_eq!(short.warmup_s, 0.75);
    let one = load("short_chat").with(&Overrides { requests: Some(1), ..Overrides::default() }).unwrap();
    assert_eq!(one.warmup_s, 0.0);
}

#[test]
fn the_rate_scales_bursts() {
    let changed = load("bursty_mix").with(&Overrides { rate_per_s: Some(2.0), ..Overrides::default() }).unwrap();
    let bursts = ArrivalPattern::Bursts { base_rate_per_s: 1.0, burst_rate_per_s: 4.0, base_s: 10.0, burst_s: 5.0 };
    assert_eq!(changed.arrival, bursts);
}

#[test]
fn the_rate_scales_each_class_s_own() {
    let class = &crate::workload::tests::LEAST[crate::workload::tests::LEAST.find("[[classes]]").unwrap()..];
    let own = |name: &str, kind: &str| class.replace("\"only\"", &format!("\"{name}\"\narrival = {{ {kind} }}"));
    let classes = own("a", "kind = \"gamma\", rate_per_s = 3, cv = 2")
        + &own("b", "kind = \"clients\", clients = [{ rate_per_s = 0.5 }, { rate_per_s = 0.5, cv = 3 }]");
    let spec = WorkloadSpec::from_toml(&format!("name = \"own\"\n{classes}"), "own").unwrap();
    let changed = spec.with(&Overrides { rate_per_s: Some(8.0), ..Overrides::default() }).unwrap();
    let client = |cv| Client { rate_per_s: 1.0, cv, gaps: GapFamily::Gamma };
    let expected = vec![
        ArrivalPattern::Gamma { rate_per_s: 6.0, burstiness: 0.25 },
        ArrivalPattern::Clients { clients: vec![client(1.0), client(3.0)] },
    ];
    assert_eq!(changed.arrival, ArrivalPattern::ByClass { classes: expected });
}

#[test]
fn mistakes_name_the_flag() {
    let overrides = Overrides {
        horizon_s: Some(0.0),
        requests: Some(0),
        rate_per_s: Some(f64::NAN),
        warmup_s: Some(-1.0),
        drain_s: Some(f64::INFINITY),
        ..Overrides::default()
    };
    insta::assert_snapshot!(load("short_chat").with(&overrides).unwrap_err(), @r"
    6 mistakes in the command line
      `[seconds]` is 0; it must be a number above 0, at most 2,678,400
      `--requests` is 0; it must be a number from 1 to 100,000,000
      `--rate` is NaN; it must be a number above 0, at most 1,000,000
      `--warmup` is -1; it must be a number from 0 to 2,678,400
      `--drain` is inf; it must be a number from 0 to 2,678,400
      `[seconds]` and `--requests` both say when the run ends; give one of them
    ");
    for (overrides, said) in [
        (Overrides { warmup_s: Some(60.0), ..Overrides::default() }, "`--warmup` is 60 s, and the run ends at 60 s"),
        (
            Overrides { warmup_s: Some(5.0), requests: Some(50), ..Overrides::default() },
            "`--warmup` is 5 s, in which about 50.0 requests arrive, and the run has 50: none would be measured",
        ),
        (
            Overrides { rate_per_s: Some(0.01), ..Overrides::default() },
            "`horizon_s` is 60 s, and after 5 s of warm-up only 0.550 requests are expected",
        ),
        (
            Overrides { horizon_s: Some(86_400.0), rate_per_s: Some(1e5), ..Overrides::default() },
            "`[seconds]` is 86400 s, in which about 8,640,000,000 requests arrive; the most is 100,000,000",
        ),
        (
            Overrides { requests: Some(5), rate_per_s: Some(1e-9), warmup_s: Some(0.0), ..Overrides::default() },
            "`--requests` is 5, and the arrivals bring only about 0.00268 requests in 31 days",
        ),
    ] {
        let error = load("short_chat").with(&overrides).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
    let fast = Overrides { rate_per_s: Some(600_000.0), ..Overrides::default() };
    insta::assert_snapshot!(load("bursty_mix").with(&fast).unwrap_err(), @r"
    1 mistake in `bursty_mix` as changed by the command line
      `arrival.burst_rate_per_s` is 1200000.0; it must be a number above 0, at most 1,000,000
    ");
}
