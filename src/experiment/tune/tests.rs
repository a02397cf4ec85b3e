//! Tunings made by hand, and what is said of them.

use super::forecast::TuneForecast;
use super::history::TuneTrial;
use super::result::{Tune, TuneStanding};
use super::state::{TuneRuns, TuneState};
use crate::experiment::spoiled::InvalidRuns;
use crate::experiment::tune::file::TuneSpec;

fn spec() -> TuneSpec {
    let text = "name = \"t\"\nobjectives = [\"p95 ttft < 400ms\"]\n[requests]\ninput_tokens = 64\noutput_tokens = 32\n\
                rate_per_s = 4\n[axes]\nslots = [2, 4, 8]\n";
    TuneSpec::from_toml(text, "a test").unwrap()
}

const RUNS: TuneRuns = TuneRuns {
    first_per_gpu: 4.0,
    window_s: Some(5.0),
    shortest_s: 20.0,
    longest_s: 300.0,
    warmup_s: 6.0,
    most: Some(5),
    seed: 1,
};

/// Returns a tuning after runs of variants. Each has its load and the share of its requests over the bound, too few to
/// be sure.
fn after(runs: &[(usize, f64, f64)]) -> TuneState {
    let mut state = TuneState::new(spec(), RUNS, InvalidRuns::LeftOut);
    for (number, (place, per_gpu, over)) in (1_u64..).zip(runs) {
        let trial: TuneTrial = serde_json::from_value(serde_json::json!({
            "number": number, "run": format!("{place}/run-{number}"), "round": 1, "per_gpu": per_gpu, "window_s": 5.0,
            "requests": 21, "side": if *over > 0.05 { "missed" } else { "met" }, "saturated": null,
            "tightest": "p95 ttft < 400ms", "over_share": over, "output_tokens_per_s": 100.0,
        }))
        .unwrap();
        state.courses[*place].trials.push(trial);
    }
    state
}

#[test]
fn a_variant_that_missed_a_load_that_the_best_met_is_worse_and_the_base_of_no_gain() {
    let runs = [(0, 4.0, 0.762), (1, 2.0, 0.0), (1, 4.0, 0.0), (1, 8.0, 0.186)];
    let tune = Tune::from_state(&after(&runs));
    let decision = tune.decision.unwrap();
    assert_eq!((decision.best.as_str(), decision.met_per_gpu, decision.gain), ("4", Some(4.0), None));
    assert!(decision.tied.is_empty());
    assert_eq!(
        decision.why.unwrap(),
        "at 4.00/s per GPU 76.2 % of its requests are over the bound of p95 ttft < 400ms; with the same requests the \
         best meets all; these are too few requests to be sure"
    );
    let of = |place: usize| (tune.variants[place].standing, tune.variants[place].met_per_gpu());
    assert_eq!(
        [of(0), of(1), of(2)],
        [(TuneStanding::Behind, None), (TuneStanding::Best, Some(4.0)), (TuneStanding::Open, None)]
    );
    assert!((tune.load_s - 44.0).abs() < 1e-9, "warm-up is load: {}", tune.load_s);
    // A gain is of loads that ran and were met, on both sides.
    let gain = |runs: &[_]| Tune::from_state(&after(runs)).decision.unwrap().gain;
    assert_eq!(gain(&[&runs[..], &[(0, 2.0, 0.0)]].concat()), Some(2.0));
    // What missed a higher load than the best met is not worse.
    let tune = Tune::from_state(&after(&[(0, 8.0, 0.3), (1, 4.0, 0.0)]));
    assert_eq!((tune.variants[0].standing, tune.decision.unwrap().tied.len()), (TuneStanding::Tied, 1));
}

#[test]
fn what_is_left_is_no_more_than_the_runs_that_may_start() {
    let whole = TuneForecast::whole(&spec(), RUNS);
    assert_eq!((whole.runs, whole.starts), (5, 3));
    assert!((whole.load_s - 55.0).abs() < 1e-9, "five runs of 6 s of warm-up and a window of 5 s: {whole:?}");
    let state = after(&[(0, 4.0, 0.762), (1, 2.0, 0.0), (1, 4.0, 0.0), (1, 8.0, 0.186)]);
    for (is_begun, starts) in [(true, 0), (false, 1)] {
        let left = state.forecast(1, 0, is_begun);
        assert_eq!((left.runs, left.starts), (1, starts));
        assert!((left.load_s - 11.0).abs() < 1e-9, "{left:?}");
    }
}
