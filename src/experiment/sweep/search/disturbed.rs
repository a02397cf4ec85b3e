//! Searches of which this machine disturbs some runs: none of those decides anything unless that is forced.

use super::*;
use crate::analysis::Status;
use crate::experiment::sweep::highest::FoundLoads;
use crate::experiment::sweep::plan::LoadAxis;
use crate::experiment::sweep::trial::JudgedObjective;

/// The highest rate at which the server meets the objective, requests per second.
const TRUTH: f64 = 23.0;

fn plan(axis: LoadAxis, repeats: u64) -> SweepPlan {
    SweepPlan {
        axis,
        objectives: vec!["p95 ttft < 1s".parse().unwrap()],
        tiers: Vec::new(),
        repeats,
        samples: 200,
        first_samples: None,
        requests_per_arrival: None,
        shortest_s: None,
        longest_s: 60.0,
        fewest_users_per_s: None,
        precision: 0.05,
        within_s: None,
        sized_for_s: None,
        between_s: 0.0,
        most_trials: 60,
        saturated_in_a_row: 2,
        first_seed: 1,
    }
}

/// Returns what a run finds. The share over the bound grows with the load, through the limit of 5 % at the truth. A
/// disturbed run finds the opposite, and is INVALID.
fn trial(wanted: &TrialRequest, disturbed: bool) -> Trial {
    let share = share_over(TRUTH, wanted);
    let share = if disturbed { if share > 0.05 { 0.001 } else { 0.9 } } else { share };
    let invalid = if disturbed { vec!["requests left late".to_owned()] } else { Vec::new() };
    Trial { spoiled: disturbed, left_out: disturbed, invalid, ..with_share(share, wanted) }
}

/// Returns what a run finds where the limit is reached at `truth`.
pub(super) fn meeting(truth: f64, wanted: &TrialRequest) -> Trial {
    with_share(share_over(truth, wanted), wanted)
}

fn share_over(truth: f64, wanted: &TrialRequest) -> f64 {
    1.0 / (1.0 + 19.0 * (truth / wanted.load.amount()).powi(12))
}

fn with_share(share: f64, wanted: &TrialRequest) -> Trial {
    let judged = JudgedObjective {
        objective: "p95 ttft < 1s".parse().unwrap(),
        status: if share > 0.05 { Status::Missed } else { Status::Met },
        value: Some(500.0),
        at_least: None,
        over_share: Some(share),
        mark: None,
        over: None,
    };
    Trial { judged: vec![judged], requests: 2_000, ..Trial::kept_up(wanted) }
}

/// Drives a search to its end. `disturbs` tells which runs are disturbed, by their number and load.
fn driven(
    plan: SweepPlan,
    forced: bool,
    disturbs: impl Fn(u64, f64) -> bool,
) -> (Search, StopReason, Vec<(f64, bool)>) {
    let mut search = Search::new(plan).unwrap().forced(forced);
    let mut runs = Vec::new();
    loop {
        match search.next() {
            SearchStep::Measure(wanted) => {
                let disturbed = disturbs(wanted.number, wanted.load.amount());
                runs.push((wanted.load.amount(), disturbed));
                search.record(trial(&wanted, disturbed));
            }
            SearchStep::Done(reason) => return (search, reason, runs),
        }
    }
}

/// Checks that the bracket and the estimate of a search hold the truth.
fn assert_found(search: &Search, what: &str) {
    let answer = FoundLoads::new(search, search.demands()).answer.unwrap();
    let (passed, failed) = (answer.passed.unwrap().amount(), answer.failed.unwrap().amount());
    assert!(passed <= TRUTH && TRUTH <= failed, "{what}: {}", answer.sentence);
    let estimate = answer.estimate.unwrap();
    assert!((passed..=failed).contains(&estimate), "{what}: {}", answer.sentence);
    assert!((0.97..1.03).contains(&(estimate / TRUTH)), "{what}: {}", answer.sentence);
}

#[test]
fn one_disturbed_run_at_any_place_of_a_search_decides_nothing() {
    let search = || plan(LoadAxis::search_from(2.0), 3);
    let (undisturbed, reason, runs) = driven(search(), false, |_, _| false);
    assert_eq!(reason, StopReason::Narrow);
    assert_found(&undisturbed, "undisturbed");
    for place in 1..=runs.len() as u64 {
        let (found, reason, with) = driven(search(), false, |number, _| number == place);
        assert_eq!(reason, StopReason::Narrow, "run {place}");
        assert_found(&found, &format!("run {place}"));
        // Its load is measured again at once, and the search goes on as before.
        let place = place as usize - 1;
        assert_eq!(with[place], (runs[place].0, true));
        assert_eq!([&with[..place], &with[place + 1..]].concat(), runs, "run {place}");
    }
}

#[test]
fn one_disturbed_run_at_any_place_of_a_list_is_replaced() {
    let rates_per_s = vec![8.0, 16.0, 20.0, 22.0, 24.0, 26.0, 40.0];
    for repeats in [1, 3] {
        let list = || plan(LoadAxis::List { rates_per_s: rates_per_s.clone() }, repeats);
        let all = rates_per_s.len() as u64 * repeats;
        for place in 1..=all {
            let (found, reason, runs) = driven(list(), false, |number, _| number == place);
            assert_eq!((reason, runs.len() as u64), (StopReason::AllMeasured, all + 1), "run {place}");
            assert_found(&found, &format!("run {place}"));
            assert!(
                found
                    .tallies(found.demands())
                    .iter()
                    .all(|tally| tally.counted == repeats && !tally.rests_on_invalid())
            );
        }
    }
}

#[test]
fn a_load_that_stays_disturbed_ends_a_search_unless_that_is_forced() {
    let search = || plan(LoadAxis::search_from(2.0), 3);
    let at_sixteen = |_, load: f64| (load - 16.0).abs() < 1e-9;
    let (found, reason, runs) = driven(search(), false, at_sixteen);
    assert_eq!((reason, runs.len()), (StopReason::Untrusted, 6));
    assert!(FoundLoads::new(&found, found.demands()).answer.unwrap().failed.is_none(), "no end rests on those runs");
    let (found, reason, runs) = driven(search(), true, at_sixteen);
    assert!(runs.len() > 6, "{reason:?}");
    // It counts as what its runs found: a failure, which decides the bracket, and that is said.
    let answer = FoundLoads::new(&found, found.demands()).answer.unwrap();
    assert!(answer.rests_on(Load::Rate(16.0)), "{}", answer.sentence);
    let said = "no run of 16.0/s can be trusted, and it counts because of --force";
    assert!(answer.sentence.contains(said), "{}", answer.sentence);
    let (valid, [_, notes]) =
        super::super::whole::judge(&found, &FoundLoads::new(&found, found.demands()).loads, &[(None, &answer)]);
    assert!(!valid && notes.iter().any(|note| note.contains("because of --force")), "{notes:?}");
}

#[test]
fn a_load_disturbed_from_some_run_on_does_not_use_up_the_search() {
    let search = || plan(LoadAxis::search_from(2.0), 3);
    let (_, _, undisturbed) = driven(search(), false, |_, _| false);
    for (at, _) in &undisturbed {
        for kept in 1..4 {
            let seen = std::cell::Cell::new(0);
            let (found, reason, runs) = driven(search(), false, |_, load| {
                seen.set(seen.get() + u32::from(load == *at));
                load == *at && seen.get() > kept
            });
            assert_eq!(reason, StopReason::Narrow, "{at}/s after {kept}");
            assert!(runs.len() < 45, "{at}/s after {kept}: {} runs", runs.len());
            assert_found(&found, &format!("{at}/s after {kept}"));
        }
    }
}

#[test]
fn a_forced_load_counts_no_disturbed_run_once_one_can_be_trusted() {
    let mut search = Search::new(plan(LoadAxis::List { rates_per_s: vec![8.0] }, 1)).unwrap().forced(true);
    let wanted = |search: &Search| match search.next() {
        SearchStep::Measure(wanted) => wanted,
        SearchStep::Done(reason) => panic!("{reason:?}"),
    };
    let first = wanted(&search);
    for _ in 0..3 {
        search.record(trial(&first, true));
    }
    assert_eq!(
        (search.next(), search.tallies(search.demands())[0].counted),
        (SearchStep::Done(StopReason::AllMeasured), 3)
    );
    search.record(trial(&first, false));
    assert_eq!((search.tallies(search.demands())[0].counted, search.tallies(search.demands())[0].passes), (1, true));
}

#[test]
fn an_estimate_outside_of_its_bracket_is_not_shown() {
    // By chance 8/s misses the objective, and all that is above it up to 22/s meets it.
    let list = plan(LoadAxis::List { rates_per_s: vec![4.0, 8.0, 16.0, 20.0, 22.0, 26.0] }, 1);
    let mut search = Search::new(list).unwrap();
    while let SearchStep::Measure(wanted) = search.next() {
        let mut found = trial(&wanted, false);
        if wanted.load == Load::Rate(8.0) {
            found.judged[0].over_share = Some(0.06);
        }
        search.record(found);
    }
    let answer = FoundLoads::new(&search, search.demands()).answer.unwrap();
    assert_eq!((answer.passed, answer.failed), (Some(Load::Rate(4.0)), Some(Load::Rate(8.0))));
    assert_eq!((answer.estimate, answer.interval_low, answer.interval_high), (None, None, None));
    assert!(answer.sentence.contains("lies between two loads") && !answer.monotone, "{}", answer.sentence);
}

#[test]
fn a_disturbed_number_of_users_does_not_end_a_ladder() {
    let users = vec![1, 2, 4, 8, 16];
    let plan = SweepPlan { saturated_in_a_row: 1, ..plan(LoadAxis::Users { users: users.clone() }, 1) };
    let mut search = Search::new(plan).unwrap();
    let mut measured = Vec::new();
    while let SearchStep::Measure(wanted) = search.next() {
        // More users complete more; the first run of four completes next to nothing.
        let disturbed = wanted.load == Load::Users(4) && wanted.repeat == 1;
        measured.push(wanted.load.amount());
        let completed_per_s = Some(if disturbed { 0.1 } else { wanted.load.amount() });
        search.record(Trial { completed_per_s, ..trial(&wanted, disturbed) });
    }
    assert_eq!(measured, [1.0, 2.0, 4.0, 4.0, 8.0, 16.0]);
}

#[test]
fn runs_left_count_the_spare_ones_of_what_was_spoiled_and_no_more() {
    let mut search = Search::new(plan(LoadAxis::List { rates_per_s: vec![8.0, 16.0] }, 2)).unwrap();
    assert_eq!(search.runs_left(), 4);
    for left in [4, 4, 3, 2] {
        let SearchStep::Measure(wanted) = search.next() else { panic!("{left} are left") };
        search.record(trial(&wanted, true));
        assert_eq!(search.runs_left(), left);
    }
}

#[test]
fn a_search_that_ends_before_it_can_decide_says_how_long_that_takes() {
    let lacks = |within_s: f64, before_s: f64| {
        let plan = SweepPlan { within_s: Some(within_s), between_s: 8.0, ..plan(LoadAxis::search_from(2.0), 3) };
        Search::new(plan).unwrap().lacks_s(before_s)
    };
    // Two runs for a bracket and five for an interval, each of 10 s and 8 s beside; a search goes on for a
    // fifth longer.
    assert_eq!([lacks(60.0, 0.0), lacks(100.0, 0.0), lacks(106.0, 0.0)], [Some(126.0), Some(126.0), None]);
    assert_eq!(lacks(106.0, 8.0), Some(134.0));
}
