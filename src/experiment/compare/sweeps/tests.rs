//! Comparisons of sweeps built moment by moment.

use super::*;
use crate::analysis::test_runs::{record, run};
use crate::analysis::{Status, Tier, summarise};
use crate::experiment::compare::change::ChangeStanding;
use crate::experiment::compare::condition::Role;
use crate::experiment::sweep::{LoadAxis, Search, SearchStep, StopReason, SweepPlan, Swept};
use crate::workload::AnswerEnding;

/// Returns a sweep with runs of twenty seconds of ten requests a second. Their first tokens take `ttft_ms`. Seed and
/// load alone identify the plan.
fn sweep(name: &str, rates: &[f64], repeats: u64, ttft_ms: impl Fn(u64) -> u64) -> SweepSide {
    sweep_of(name, rates, repeats, ttft_ms, (AnswerEnding::Forced, 11))
}

/// Sweep as above, whose answers end so and have so many tokens.
fn sweep_of(
    name: &str,
    rates: &[f64],
    repeats: u64,
    ttft_ms: impl Fn(u64) -> u64,
    (ending, tokens): (AnswerEnding, u64),
) -> SweepSide {
    let plan = SweepPlan {
        axis: LoadAxis::List { rates_per_s: rates.to_vec() },
        objectives: vec!["p95 ttft < 500ms".parse().unwrap()],
        tiers: Vec::new(),
        repeats,
        samples: 40,
        first_samples: None,
        requests_per_arrival: None,
        shortest_s: None,
        fewest_users_per_s: None,
        longest_s: 20.0,
        precision: 0.05,
        within_s: None,
        sized_for_s: None,
        between_s: 0.0,
        most_trials: 60,
        saturated_in_a_row: 2,
        first_seed: 1,
    };
    let objectives = plan.objectives.clone();
    let mut search = Search::new(plan).unwrap();
    let mut header = None;
    while let SearchStep::Measure(wanted) = search.next() {
        let records = (0..200).map(|i| {
            let at = i * 100;
            record(i).sent_at(at, at, at).paced(at + ttft_ms(wanted.repeat), 20, tokens).build()
        });
        let mut log = run(20_000, records.collect());
        log.header.workload.classes[0].length = ending;
        log.header.plan.hash = format!("{} {}", wanted.load, wanted.seed);
        search.record(Trial::new(&wanted, &summarise(&log, &objectives)));
        header.get_or_insert(log.header);
    }
    let header = header.unwrap();
    let swept = Swept {
        started_at: jiff::Timestamp::UNIX_EPOCH,
        workload: header.workload.clone(),
        engine: header.engines[0].clone(),
        deployment: header.deployment.clone(),
    };
    SweepSide { name: name.to_owned(), header, sweep: Sweep::new(&search, swept, StopReason::AllMeasured) }
}

fn gates(sides: &[SweepSide], gate: Gate) -> Vec<GateJudgement> {
    ComparedSweeps::new(sides, &[], &[gate]).unwrap().against.remove(0).gates
}

fn at_most(margin: &str) -> Gate {
    Gate::MaxRegression(margin.parse().unwrap())
}

#[test]
fn answers_of_other_lengths_confound_a_load() {
    let natural = |name, tokens| sweep_of(name, &[8.0], 2, |_| 100, (AnswerEnding::Natural, tokens));
    let sides = [natural("a", 20), natural("b", 26)];
    let gates = ["p95 e2e 5%", "p50 ttft 5%"].map(at_most);
    let against = ComparedSweeps::new(&sides, &[], &gates).unwrap().against.remove(0);
    let at = &against.loads[0];
    assert!(at.confounded.longer_answers.is_some_and(|by| (by - 0.3).abs() < 1e-9), "{:?}", at.confounded);
    let standing = |metric| at.rows.iter().find(|row| row.figure.metric == metric).unwrap().standing;
    assert_eq!(standing(Metric::E2e), ChangeStanding::Unknown);
    assert_ne!(standing(Metric::Ttft), ChangeStanding::Unknown);
    let [e2e, ttft] = against.gates.as_slice() else { panic!("{:?}", against.gates) };
    assert!(e2e.status == Status::Undecided && e2e.line.contains("answers end by themselves"), "{}", e2e.line);
    assert_eq!(ttft.status, Status::Met, "{}", ttft.line);
    let forced = [20, 26].map(|tokens| sweep_of("c", &[8.0], 2, |_| 100, (AnswerEnding::Forced, tokens)));
    let same = ComparedSweeps::new(&forced, &[], &gates).unwrap();
    assert_eq!(same.against[0].loads[0].confounded, Confounders::default());
}

#[test]
fn tiers_are_compared_one_by_one() {
    let mut sides = [sweep("a", &[4.0, 8.0], 2, |_| 100), sweep("b", &[4.0, 8.0], 2, |_| 100)];
    for side in &mut sides {
        let tiers: Vec<Tier> = ["fast=p95 ttft < 50ms", "slow=p95 ttft < 9s"].map(|text| text.parse().unwrap()).into();
        let answer = side.sweep.answer.clone().unwrap();
        let of = |tier: &Tier| TierAnswer {
            name: tier.name.clone(),
            objectives: tier.objectives.clone(),
            answer: answer.clone(),
            ttft_p95_ms: None,
            tokens_per_s_per_user: None,
        };
        side.sweep.tiers = tiers.iter().map(of).collect();
    }
    let sentence = &ComparedSweeps::new(&sides, &[], &[]).unwrap().against[0].sentence;
    assert!(sentence.starts_with("fast: ") && sentence.contains("; slow: "), "{sentence}");
}

#[test]
fn no_load_in_common_passes_no_gate() {
    let sides = [sweep("a", &[4.0, 8.0], 1, |_| 100), sweep("b", &[5.0], 1, |_| 100)];
    let found = gates(&sides, at_most("p95 ttft 10%"));
    assert_eq!((found.len(), found[0].status, found[0].passes), (1, Status::Undecided, false), "{found:?}");
    assert!(found[0].line.contains("4.00/s, 8.00/s") && found[0].line.contains("--rates"), "{}", found[0].line);
}

#[test]
fn a_gate_reads_the_mean_where_one_side_has_several_runs() {
    // The baseline's first run is far slower than its others: their mean is 200 ms.
    let before = sweep("a", &[8.0], 3, |repeat| [400, 100, 100][repeat as usize - 1]);
    let sides = [before, sweep("b", &[8.0], 1, |_| 300)];
    let found = gates(&sides, at_most("p50 ttft 10%"));
    assert_eq!(found[0].status, Status::Undecided, "one run says nothing of others: {}", found[0].line);
    assert!(found[0].line.contains("was 50 % worse; no interval"), "{}", found[0].line);
}

#[test]
fn rates_and_users_are_no_loads_of_one_axis() {
    let mut users = sweep("b", &[4.0], 1, |_| 100);
    users.sweep.plan.axis = LoadAxis::Users { users: vec![4] };
    let sides = [sweep("a", &[4.0], 1, |_| 100), users];
    let refusal = ComparedSweeps::new(&sides, &[], &[]).unwrap_err().to_string();
    assert!(refusal.contains("\n  load: rates (a), users (b)"), "{refusal}");
    let found = ComparedSweeps::new(&sides, &[Condition::Rate], &[]).unwrap();
    assert_eq!(found.differences[0].role, Role::Varied);
    let answer = |load: Load| HighestLoad {
        passed: Some(load),
        failed: None,
        estimate: None,
        interval_low: None,
        interval_high: None,
        tightest: None,
        limits: Vec::new(),
        agents_per_gpu: None,
        agents_per_kw: None,
        monotone: true,
        sentence: String::new(),
    };
    let found = compared_in_words(Some(&answer(Load::Rate(4.0))), Some(&answer(Load::Users(64))));
    assert!(found.contains("cannot be compared") && !found.contains('%'), "{found}");
}

#[test]
fn a_gate_on_what_sweeps_do_not_keep_is_refused() {
    for unkept in ["p90 e2e 10%", "p90 ttft 10%", "p95 ttft of chat 10%"] {
        let refusal = ComparedSweeps::check(&at_most(unkept)).unwrap_err();
        assert!(refusal.contains("hint: they keep p50 ttft, p95 ttft, p99 ttft, p50 tpot"), "{refusal}");
    }
    assert_eq!(ComparedSweeps::check(&at_most("p95 ttft 10%")), Ok(()));
    assert_eq!(ComparedSweeps::check(&at_most("p95 e2e 10%")), Ok(()));
}

#[test]
fn runs_that_do_not_count_make_no_pairs() {
    let mut spoilt = sweep("b", &[8.0], 3, |repeat| 110 + repeat);
    let (before, after) = (sweep("a", &[8.0], 3, |repeat| 100 + repeat), &mut spoilt.sweep.points[0]);
    assert_eq!(pairing(&before.sweep.points[0], after), Pairing::Paired);
    after.trials[0].invalid.push("this machine was busy".to_owned());
    assert_eq!(pairing(&before.sweep.points[0], after), Pairing::Independent);
    after.trials[1].invalid.push("this machine was busy".to_owned());
    assert_eq!(pairing(&before.sweep.points[0], after), Pairing::OneRunEach);
}

#[test]
fn only_intervals_are_sure_and_brackets_may_lie_apart_by_chance() {
    let answer = |passed: f64, interval: Option<(f64, f64)>| HighestLoad {
        passed: Some(Load::Rate(passed)),
        failed: Some(Load::Rate(passed * 1.05)),
        estimate: Some(passed * 1.02),
        interval_low: interval.map(|(low, _)| low),
        interval_high: interval.map(|(_, high)| high),
        tightest: None,
        limits: Vec::new(),
        agents_per_gpu: None,
        agents_per_kw: None,
        monotone: true,
        sentence: String::new(),
    };
    let found = |before: &HighestLoad, after: &HighestLoad| compared_in_words(Some(before), Some(after));
    let apart = found(&answer(10.0, None), &answer(11.0, None));
    assert!(!apart.contains("surely") && apart.contains("may be chance: run both with --repeats"), "{apart}");
    let half = found(&answer(10.0, Some((9.9, 10.1))), &answer(11.0, None));
    assert!(!half.contains("surely"), "{half}");
    let sure = found(&answer(10.0, Some((9.9, 10.1))), &answer(11.0, Some((10.8, 11.2))));
    assert!(sure.contains("surely higher"), "{sure}");
    let unsure = found(&answer(10.0, Some((9.0, 11.1))), &answer(11.0, Some((10.0, 12.0))));
    assert!(unsure.contains("intervals overlap"), "{unsure}");
}

#[test]
fn over_invalid_sweeps_nothing_is_judged() {
    let mut sides = [sweep("a", &[4.0], 5, |i| 100 + i), sweep("b", &[4.0], 5, |i| 200 + 2 * i)];
    assert_eq!(gates(&sides, at_most("p95 ttft 10%"))[0].status, Status::Missed);
    sides[1].sweep.valid = false;
    let found = gates(&sides, at_most("p95 ttft 300%"));
    assert_eq!((found.len(), found[0].status, found[0].passes), (1, Status::Undecided, false), "{found:?}");
    let compared = ComparedSweeps::new(&sides, &[], &[]).unwrap();
    let against = &compared.against[0];
    assert!(against.sentence.contains("a side is INVALID"), "{}", against.sentence);
    let rows = &against.loads[0].rows;
    assert!(rows.iter().all(|row| row.standing == ChangeStanding::Unknown), "{rows:?}");
}
