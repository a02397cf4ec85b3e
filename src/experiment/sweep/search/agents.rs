//! Searches for a number of agents, which is whole: they end at neighbours, and what they say is whole too.

use super::disturbed::meeting;
use super::*;
use crate::experiment::sweep::answer::HighestLoad;
use crate::experiment::sweep::plan::LoadAxis;

/// Searches from four agents on, where the objective is met up to `truth`.
fn found(truth: f64) -> (StopReason, HighestLoad, Vec<Load>) {
    let plan = SweepPlan {
        axis: LoadAxis::Agents { from: 4 },
        objectives: vec!["p95 ttft < 1s".parse().unwrap()],
        repeats: 2,
        samples: 200,
        longest_s: 60.0,
        precision: 0.05,
        most_trials: 40,
        ..SweepPlan::default()
    };
    let mut search = Search::new(plan).unwrap();
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

#[test]
fn where_one_agent_is_too_many_the_search_ends() {
    let (reason, answer, loads) = found(0.5);
    assert_eq!((reason, loads), (StopReason::NothingPasses, [4, 2, 1].map(Load::Agents).to_vec()));
    assert_eq!((answer.passed, answer.failed), (None, Some(Load::Agents(1))));
}
