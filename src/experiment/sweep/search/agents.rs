//! Searches for a number of agents, which is whole: they end at neighbours, and what they say is whole too.

use super::disturbed::meeting;
use super::*;
use crate::analysis::{Objective, Tier};
use crate::experiment::sweep::answer::HighestLoad;
use crate::experiment::sweep::highest::FoundLoads;
use crate::experiment::sweep::plan::LoadAxis;
use crate::experiment::sweep::trial::JudgedObjective;

fn plan() -> SweepPlan {
    SweepPlan {
        axis: LoadAxis::Agents { from: 4 },
        objectives: vec!["p95 ttft < 1s".parse().unwrap()],
        repeats: 2,
        samples: 200,
        longest_s: 60.0,
        precision: 0.05,
        most_trials: 40,
        ..SweepPlan::default()
    }
}

/// Searches from four agents on, where the objective is met up to `truth`.
fn found(truth: f64) -> (StopReason, HighestLoad, Vec<Load>) {
    let mut search = Search::new(plan()).unwrap();
    loop {
        match search.next() {
            SearchStep::Measure(wanted) => search.record(meeting(truth, &wanted)),
            SearchStep::Done(reason) => {
                let loads = search.trials().iter().map(|trial| trial.load).collect();
                return (reason, search.answer().unwrap(), loads);
            }
        }
    }
}

#[test]
fn the_number_is_the_largest_whole_one_that_meets_the_objective() {
    for truth in [1.6, 2.5, 3.4, 4.6, 6.5, 12.3, 23.6, 47.4, 211.7, 3_000.5] {
        let (_, answer, loads) = found(truth);
        assert!(loads.iter().all(|load| matches!(load, Load::Agents(1..))), "{loads:?}");
        let [estimate, low, high] = [answer.estimate, answer.interval_low, answer.interval_high].map(Option::unwrap);
        assert!([estimate, low, high].iter().all(|end| end.fract() == 0.0), "{}", answer.sentence);
        assert!(low <= truth && truth <= high && high - low <= f64::max(2.0, 0.06 * truth), "{}", answer.sentence);
        assert!((estimate - truth.floor()).abs() <= 0.01 * truth, "{truth}: {}", answer.sentence);
        let [passed, failed] = [answer.passed, answer.failed].map(|load| load.unwrap().amount());
        assert!(passed <= truth && truth < failed, "{truth}: {}", answer.sentence);
    }
}

#[test]
fn the_sentence_is_of_agents() {
    let (reason, answer, _) = found(12.5);
    assert_eq!(reason, StopReason::Narrow);
    let begin = "the highest load that meets the objectives is 12 agents, 95 % interval 12 agents to 13 agents over ";
    assert!(answer.sentence.starts_with(begin), "{}", answer.sentence);
    assert!(
        answer.sentence.contains(": 12 agents passed and 13 agents failed; `p95 ttft < 1s`"),
        "{}",
        answer.sentence
    );
}

/// Tiers of which each is met up to one of `truths`, answered by a search.
fn found_tiers(truths: &[f64]) -> (StopReason, Vec<HighestLoad>, usize) {
    let objective = |place: usize| -> Objective { format!("p95 ttft < {}s", place + 1).parse().unwrap() };
    let tier = |place| Tier { name: format!("tier {place}"), objectives: vec![objective(place)] };
    let objectives: Vec<_> = (0..truths.len()).map(objective).collect();
    let plan = SweepPlan { objectives, tiers: (0..truths.len()).map(tier).collect(), most_trials: 90, ..plan() };
    let mut search = Search::new(plan).unwrap();
    loop {
        match search.next() {
            SearchStep::Measure(wanted) => {
                let each = truths.iter().enumerate().map(|(place, truth)| {
                    let judged = meeting(*truth, &wanted).judged.remove(0);
                    JudgedObjective { objective: objective(place), ..judged }
                });
                search.record(Trial { judged: each.collect(), ..meeting(1.0, &wanted) });
            }
            SearchStep::Done(reason) => {
                let answers = search.tiers().iter().map(|tier| FoundLoads::new(&search, &tier.demands).answer.unwrap());
                return (reason, answers.collect(), search.trials().len());
            }
        }
    }
}

#[test]
fn one_search_finds_the_number_of_each_tier() {
    for truths in [[12.3, 47.4], [2.5, 211.7], [23.6, 26.5], [6.5, 6.5]] {
        let (reason, answers, runs) = found_tiers(&truths);
        assert_eq!(reason, StopReason::Narrow, "{truths:?}");
        let alone: Vec<_> = truths.iter().map(|truth| found(*truth)).collect();
        for (answer, (_, alone, _)) in answers.iter().zip(&alone) {
            assert_eq!(answer.estimate, alone.estimate, "{truths:?}: {}", answer.sentence);
            let [low, high] = [answer.interval_low, answer.interval_high].map(Option::unwrap);
            let estimate = alone.estimate.unwrap();
            assert!(
                low <= estimate && estimate <= high && high - low <= f64::max(2.0, 0.06 * high),
                "{}",
                answer.sentence
            );
        }
        // A run is a vote for all tiers.
        let both: usize = alone.iter().map(|(_, _, loads)| loads.len()).sum();
        assert!(runs < both, "{truths:?}: {runs} runs together, {both} apart");
        if truths[0] == truths[1] {
            assert_eq!(runs, alone[0].2.len());
        }
    }
}

#[test]
fn a_tier_that_no_load_meets_leaves_the_others_theirs() {
    let (reason, answers, _) = found_tiers(&[0.5, 12.5]);
    assert_eq!((reason, answers[0].passed, answers[1].estimate), (StopReason::Narrow, None, Some(12.0)));
    assert_eq!(answers[0].failed, Some(Load::Agents(1)));
}

#[test]
fn where_one_agent_is_too_many_the_search_ends() {
    let (reason, answer, loads) = found(0.5);
    assert_eq!((reason, loads), (StopReason::NothingPasses, [4, 2, 1].map(Load::Agents).to_vec()));
    assert_eq!((answer.passed, answer.failed), (None, Some(Load::Agents(1))));
}
