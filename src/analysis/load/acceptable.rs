//! Which answers are acceptable: those that a price, or an energy, per acceptable answer is divided by.

use crate::analysis::figures::Metric;
use crate::analysis::requests::{Measured, Observed, Quality};
use crate::analysis::slo::objective::Objective;
use crate::record::{Outcome, Validity};
use crate::units::percent;

/// Acceptable answers of a run.
///
/// An answer is acceptable if its request completed, met its SLO where it has one, is of the form that was
/// requested where one was, is not wrong where answers are scored, and if the golden prompts let answers count.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::analysis) struct Acceptable {
    /// Acceptable answers per second, of the requests that goodput counts: those scheduled in the window.
    /// `None` where an SLO cannot be measured, and for an empty window.
    pub(in crate::analysis) answers_per_s: Option<f64>,
    /// Why none is, whatever the answers are; `None` where nothing bars them.
    pub(in crate::analysis) barred: Option<String>,
}

impl Acceptable {
    /// Counts the acceptable answers of a run that is judged by `objectives`.
    pub(in crate::analysis) fn new(
        observed: &Observed<'_>,
        quality: Option<&Quality>,
        objectives: &[Objective],
    ) -> Self {
        let barred = barred_by_quality(quality, objectives);
        let completed = |request: &&Measured<'_>| request.record().outcome == Outcome::Completed;
        // As in goodput: where there are SLOs, those whose clients were to leave have none to meet.
        let stays = |request: &&Measured<'_>| !(observed.has_slos && request.record().leaves);
        let counted = observed.requests.iter().filter(|_| barred.is_none()).filter(completed).filter(stays);
        let acceptable: Option<Vec<bool>> = counted.map(is_acceptable).collect();
        let count = acceptable.map(|all| all.into_iter().filter(|is_so| *is_so).count() as f64);
        Self { answers_per_s: count.and_then(|count| observed.answers_per_second(count)), barred }
    }
}

/// Whether the answer of a request that completed is; `None` where that cannot be measured. What the form of
/// an answer is that no one looked at, as in virtual time, speaks against none.
fn is_acceptable(request: &Measured<'_>) -> Option<bool> {
    let in_slo = if request.slo.has_slo() { request.slo.is_met()? } else { true };
    let record = request.record();
    Some(in_slo && matches!(record.validity, None | Some(Validity::Valid)) && !record.is_wrong())
}

/// Returns the reason why the golden prompts let no answer count. Fewer of them, or of one slice of them, passed than
/// an objective on `check_pass_rate` demands, by the rate that the objective is judged by. Without such an objective
/// they bar nothing.
fn barred_by_quality(quality: Option<&Quality>, objectives: &[Objective]) -> Option<String> {
    let quality = quality?;
    let missed = |demand: &Objective| {
        let pass_rate = match &demand.key.part {
            None => quality.pass_rate,
            Some(slice) => quality.slice(&slice.name)?.pass_rate,
        };
        let passed = pass_rate.filter(|passed| !demand.comparison.holds(*passed, demand.bound))?;
        let prompts = demand.key.part.as_ref().map_or(String::new(), |slice| format!(" of {}", slice.name));
        Some(format!("{} of the golden prompts{prompts} passed, and `{}` is demanded", percent(passed), demand.text))
    };
    objectives.iter().filter(|demand| demand.key.metric == Metric::CheckPassRate).find_map(missed)
}

#[cfg(test)]
mod tests {
    //! Runs built by hand, of whose answers some are acceptable.

    use crate::analysis::figures::{Figure, FigureKey};
    use crate::analysis::judgements::Status;
    use crate::analysis::summarise::summarise;
    use crate::analysis::summary::run::Summary;
    use crate::analysis::test_runs::{class, record, run};
    use crate::record::{CheckRecord, CheckResult, DeploymentFacts, Failure, FailureKind, RunLog, Shard, Validity};
    use crate::workload::{Expectation, GoldenCheck, Priority, ShapeFault, Slo};

    /// Ten seconds of eight requests on four GPUs at 9 an hour. That is a hundredth of a unit each second. Two are too
    /// late for their SLO, one fails, one is of another form and one cut at its longest length. Three are left.
    fn run_of_eight() -> RunLog {
        eight(|i| {
            Some(match i {
                0 => Validity::NotCompleted,
                3 => Validity::Invalid { fault: ShapeFault::NotJson },
                4 => Validity::CutAtLimit,
                _ => Validity::Valid,
            })
        })
    }

    /// Returns the run of eight requests with such forms.
    fn eight(validity: impl Fn(u64) -> Option<Validity>) -> RunLog {
        let records = (0..8).map(|i| {
            let at = i * 1_000;
            let sent = record(i).sent_at(at, at, at);
            let mut record = match i {
                0 => sent.failed(at + 5, Failure::new(FailureKind::HttpStatus(500), "no")),
                1 | 2 => sent.paced(at + 500, 10, 10),
                _ => sent.paced(at + 100, 10, 10),
            }
            .build();
            record.validity = validity(i);
            record
        });
        let mut log = run(10_000, records.collect());
        let slo = Slo { ttft_ms: Some(200.0), ..Slo::default() };
        // The form is no part of the SLO.
        log.header.workload.classes = vec![class("chat", &[(Priority::High, slo)])];
        log.header.deployment = DeploymentFacts {
            gpus: Some(4),
            gpu_hour: Some(9.0),
            currency: Some("EUR".to_owned()),
            ..DeploymentFacts::default()
        };
        log
    }

    fn figure(summary: &Summary, name: &str) -> Option<f64> {
        name.parse::<FigureKey>().unwrap().read(summary).and_then(Figure::exact)
    }

    fn near(found: Option<f64>, expected: f64) -> bool {
        found.is_some_and(|found| (found / expected - 1.0).abs() < 1e-9)
    }

    /// 0.1 units in ten seconds: 70 tokens, seven answers, three acceptable ones.
    #[test]
    fn costs_are_per_token_per_answer_and_per_acceptable_answer() {
        let summary = summarise(&run_of_eight(), &[]);
        let costs = summary.costs.as_ref().unwrap();
        assert!(near(costs.acceptable_answers_per_s, 0.3), "{costs:?}");
        assert_eq!((costs.currency.as_deref(), costs.joules, &costs.barred), (Some("EUR"), None, &None));
        for (name, expected) in [
            ("cost_per_million_output_tokens", 0.1 / 70.0 * 1e6),
            ("cost_per_answer", 0.1 / 7.0),
            ("cost_per_acceptable_answer", 0.1 / 3.0),
        ] {
            assert!(near(figure(&summary, name), expected), "{name}: {:?}", figure(&summary, name));
        }
        assert_eq!(figure(&summary, "energy_per_answer"), None);
        let judged = |text: &str| summarise(&run_of_eight(), &[text.parse().unwrap()]).objectives.remove(0);
        assert_eq!(judged("cost_per_acceptable_answer < 0.04").status, Status::Met);
        assert_eq!(judged("cost_per_acceptable_answer < 0.03").status, Status::Missed);
        let joules = judged("energy_per_answer < 5");
        assert_eq!(joules.status, Status::Undecided);
        assert!(joules.line.contains("--metrics-url"), "{}", joules.line);
    }

    #[test]
    fn who_was_to_leave_is_as_little_acceptable_as_it_is_goodput() {
        let mut log = run_of_eight();
        // The answers of two were complete before.
        for record in log.records.iter_mut().filter(|record| [5, 6].contains(&record.index)) {
            record.leaves = true;
        }
        let summary = summarise(&log, &[]);
        assert!(near(summary.costs.as_ref().unwrap().acceptable_answers_per_s, 0.1), "{:?}", summary.costs);
        assert!(near(summary.slo.goodput_per_s, 0.3), "{:?}", summary.slo);
    }

    #[test]
    fn without_a_price_or_gpus_nothing_is_known_and_the_cure_is_named() {
        let judged = |change: fn(&mut RunLog)| {
            let mut log = run_of_eight();
            change(&mut log);
            let summary = summarise(&log, &["cost_per_answer < 1".parse().unwrap()]);
            assert_eq!((figure(&summary, "cost_per_answer"), summary.costs.as_ref()), (None, None));
            summary.objectives[0].line.clone()
        };
        assert!(judged(|log| log.header.deployment.gpu_hour = None).contains("--gpu-hour"));
        assert!(judged(|log| log.header.deployment.gpus = None).contains("--gpus"));
        let shard = judged(|log| log.header.shard = Some(Shard { number: 1, of: 2 }));
        assert!(shard.contains("skyline merge"), "{shard}");
    }

    /// A run without acceptable answers costs at least what all of it costs.
    #[test]
    fn golden_prompts_bar_all_answers_only_where_an_objective_demands_more() {
        let log = |passed: u64| {
            let mut log = run_of_eight();
            log.header.workload.checks = vec![GoldenCheck {
                name: "capital".to_owned(),
                slice: Some("facts".to_owned()),
                prompt: Some("?".to_owned()),
                messages: None,
                max_tokens: 8,
                expect: Expectation::default(),
            }];
            let unmet = || CheckResult::Unmet { why: "is empty".to_owned() };
            let result = |i: u64| if i < passed { CheckResult::Passed } else { unmet() };
            let check = |i| CheckRecord {
                check: 0,
                released: Some(crate::analysis::test_runs::ms(i)),
                result: result(i),
                excerpt: None,
                usage: None,
            };
            log.checks = (0..4).map(check).collect();
            log
        };
        let of = |passed, objectives: &[&str]| {
            let objectives: Vec<_> = objectives.iter().map(|text| text.parse().unwrap()).collect();
            summarise(&log(passed), &objectives)
        };
        let rate = |summary: &Summary| summary.costs.as_ref().unwrap().acceptable_answers_per_s;
        assert!(near(rate(&of(2, &[])), 0.3), "no objective");
        assert!(near(rate(&of(3, &["check_pass_rate >= 75%"])), 0.3), "met");
        // Those before the run count as they do in the objective: 2 of 3 under load, 3 of 4 of all.
        let mut early = log(3);
        early.checks[0].released = None;
        let early = summarise(&early, &["check_pass_rate >= 75%".parse().unwrap()]);
        assert!(near(rate(&early), 0.3) && early.objectives[0].passed(), "{:?}", early.objectives);
        let barred = of(2, &["check_pass_rate >= 75%", "cost_per_acceptable_answer < 0.09"]);
        assert_eq!(rate(&barred), Some(0.0));
        let of_slice = of(2, &["check_pass_rate of slice facts >= 75%"]);
        assert_eq!(rate(&of_slice), Some(0.0));
        assert!(of_slice.costs.unwrap().barred.unwrap().contains("the golden prompts of facts passed"));
        assert!(near(rate(&of(3, &["check_pass_rate of slice facts >= 75%"])), 0.3), "met");
        let why = barred.costs.as_ref().unwrap().barred.as_deref().unwrap();
        assert!(why.starts_with("50 % of the golden prompts passed, and"), "{why}");
        let judged = &barred.objectives[1];
        assert_eq!((judged.status, judged.value), (Status::Missed, None));
        assert!(near(judged.at_least, 0.1), "{judged:?}");
        assert!(near(figure(&barred, "cost_per_answer"), 0.1 / 7.0));
    }

    /// TTFT of an answer that is not streamed cannot be measured. Whether the answer is acceptable stays unknown.
    #[test]
    fn what_cannot_be_measured_leaves_it_open() {
        let mut log = run_of_eight();
        log.header.engines[0].streamed = false;
        let costs = summarise(&log, &[]).costs.unwrap();
        assert_eq!(costs.acceptable_answers_per_s, None);
        let money = costs.money.unwrap();
        assert_eq!((money.per_acceptable_answer, money.per_acceptable_answer_at_least), (None, None));
    }

    #[test]
    fn a_form_that_no_one_looked_at_speaks_against_no_answer() {
        let costs = summarise(&eight(|_| None), &[]).costs.unwrap();
        assert!(near(costs.acceptable_answers_per_s, 0.5), "{costs:?}");
    }
}
