//! The line of a load, and what counts of one that varies.

use std::sync::Arc;

use super::*;
use crate::workload::{ArrivalPattern, Overrides};

fn planned(overrides: Overrides, cap: Option<u64>, shard: Option<Shard>) -> PlannedLoad {
    let horizon_s = overrides.requests.is_none().then_some(30.0);
    let overrides = Overrides { horizon_s, warmup_s: Some(0.0), seed: Some(1), ..overrides };
    let spec = WorkloadSpec::load("short_chat").unwrap().with(&overrides).unwrap();
    let run = PlannedRun::alone(spec, &Arc::default(), "").unwrap();
    PlannedLoad::new(&run, cap, shard)
}

#[test]
fn a_line_says_what_is_known() {
    let open = planned(Overrides { rate_per_s: Some(10.0), ..Overrides::default() }, Some(64), None);
    let users = || Overrides { users: Some(8), ..Overrides::default() };
    let closed = planned(users(), None, None);
    let counted = planned(Overrides { requests: Some(500), ..users() }, None, None);
    for (load, line) in [
        (
            open,
            "about 287 requests at up to 10.0/s over 30 s, 76.1k prompt + 38.0k answer tokens, at most 64 in flight",
        ),
        (
            open.times(100),
            "about 28,700 requests at up to 10.0/s in 100 runs over 50 min, 7.61M prompt + 3.80M answer tokens, at \
             most 64 in flight",
        ),
        (
            closed.warmed_with(20),
            "as many requests as users get answered over 30 s, 265 prompt + 133 answer tokens each, at most 8 \
             in flight",
        ),
        (counted.and(counted), "1,000 requests in 2 runs, 265k prompt + 133k answer tokens, at most 8 in flight"),
        (
            open.and(closed),
            "about 287 requests at up to 10.0/s and as many requests as users get answered in 2 runs over 1 min, 265 \
             prompt + 133 answer tokens each, at most 64 in flight",
        ),
        (
            open.and(counted),
            "about 787 requests at up to 10.0/s or 8 at once in 2 runs, 209k prompt + 104k answer tokens, at \
             most 64 in flight",
        ),
        (
            open.searched(),
            "as many requests as the search needs over 30 s, 265 prompt + 133 answer tokens each, at most 64 in flight",
        ),
    ] {
        // So many requests are all sent and all count.
        let is_counted = line.starts_with("1,000 requests");
        let after = if is_counted { "" } else { "; uncounted load follows until the last answer" };
        assert_eq!(load.to_string(), format!("{line}{after}"));
    }
    let half = Shard { number: 1, of: 2 };
    assert_eq!(planned(users(), None, Some(half)).in_flight, Some(4));
    assert_eq!(planned(users(), Some(3), Some(half)).in_flight, Some(3));
    let ten = || Overrides { rate_per_s: Some(10.0), ..Overrides::default() };
    let shared = planned(ten(), None, Some(half));
    assert!(shared.requests_in_words().ends_with(" at up to 5.00/s from each of 2 generators"));
    assert!((shared.all_per_s() - 10.0).abs() < 1e-9 && shared.all_requests() > 200.0, "{shared:?}");
    let resumed = PlannedLoad { at_most: true, resumed: true, ..open };
    assert_eq!(resumed.label(), "load at most, with the runs stored before");
    assert!(PlannedLoad { about: true, ..open.times(3) }.to_string().contains(" in about 3 runs over"));
}

#[test]
fn a_load_that_varies_counts_at_its_peak_and_a_user_as_one_request_a_second() {
    let mut spec = WorkloadSpec::load("short_chat").unwrap();
    let lasting = |spec: &WorkloadSpec, load| PlannedLoad::lasting(10.0, load, spec, None);
    spec.arrival = ArrivalPattern::Diurnal { rate_per_s: 3.0, amplitude: 0.5, period_s: 60.0, phase_s: 0.0 };
    let varies = lasting(&spec, Load::Rate(8.0));
    assert!((varies.per_s - 12.0).abs() < 1e-9 && (varies.requests - 80.0).abs() < 1e-9, "{varies:?}");
    let conversations = WorkloadSpec::load("agents").unwrap();
    assert!(conversations.mean_turns() > 1.0);
    let users = lasting(&conversations, Load::Users(8));
    assert_eq!((users.all_per_s(), users.all_requests()), (8.0, 80.0));
}
