//! Rounds built by hand, whose verdict is known.

use super::*;
use crate::analysis::test_runs::{aborted, class, record, run};
use crate::analysis::{Metric, Reason, Rule, Summary, Verdict, VerdictOutcome, summarise};
use crate::experiment::driver::{Experiment as _, RunOutcome};
use crate::experiment::spoiled::InvalidRuns;
use crate::record::{Failure, FailureKind, Repeat, RequestRecord, RunLog};
use crate::workload::{AnswerEnding, Priority, Slo};

/// Returns requests of a run, of which the first `failed` fail. The others take about `ttft` ms to their first token.
fn requests(ttft: u64, failed: u64) -> Vec<RequestRecord> {
    (0..40)
        .map(|i| {
            let sent = record(i).sent_at(i * 25, i * 25, i * 25);
            if i < failed {
                let failure = Failure::new(FailureKind::HttpStatus(500), "out of memory");
                return sent.failed(i * 25 + 5, failure).build();
            }
            // Class 1, where there is one, is asked every second request.
            sent.class((i % 2) as u16, Priority::High).paced(i * 25 + ttft + i % 5, 10, 11).build()
        })
        .collect()
}

fn log(round: u64, records: Vec<RequestRecord>) -> RunLog {
    let mut log = run(1_000, records);
    log.header.repeat = Some(Repeat { number: round, of: 8, first_seed: 7 });
    log.header.workload.classes.push(class("search", &[(Priority::High, Slo::default())]));
    log
}

fn summary(round: u64, ttft: u64, failed: u64) -> Summary {
    summarise(&log(round, requests(ttft, failed)), &[])
}

fn design(rounds: u64) -> AbDesign {
    let metrics = ["p50 ttft", "p50 tpot"].map(|metric| metric.parse().unwrap());
    AbDesign::new(rounds, metrics.into(), 0.05).unwrap()
}

/// Eight rounds of what `a` and `b` make of their number.
fn judged(invalid: InvalidRuns, a: impl Fn(u64) -> Summary, b: impl Fn(u64) -> Summary) -> AbTest {
    let runs: Vec<_> = (1..=8).map(|round| (round, a(round), b(round))).collect();
    let rounds: Vec<_> = runs.iter().map(|(number, a, b)| AbRound { number: *number, a, b }).collect();
    AbTest::new(&design(8), &rounds, invalid).unwrap()
}

fn verdicts(test: &AbTest) -> Vec<(String, Option<AbVerdict>)> {
    test.metrics.iter().map(|metric| (metric.metric.to_string(), metric.verdict)).collect()
}

/// B's answers are longer by half, which alone makes its e2e longer. Its TTFT is what it is.
#[test]
fn answers_of_other_lengths_confound_what_follows_from_them() {
    let of = |round, ttft, tokens, ending| {
        let longer =
            |i: u64| record(i).sent_at(i * 25, i * 25, i * 25).paced(i * 25 + ttft + i % 5, 10, tokens).build();
        let mut log = log(round, (0..40).map(longer).collect());
        log.header.workload.classes.iter_mut().for_each(|class| class.length = ending);
        summarise(&log, &[])
    };
    let judged = |ending| {
        let design =
            AbDesign::new(8, ["p50 e2e", "p50 ttft"].map(|metric| metric.parse().unwrap()).into(), 0.05).unwrap();
        let runs: Vec<_> =
            (1..=8).map(|round| (round, of(round, 100, 20, ending), of(round, 79 + round % 2, 30, ending))).collect();
        let rounds: Vec<_> = runs.iter().map(|(number, a, b)| AbRound { number: *number, a, b }).collect();
        AbTest::new(&design, &rounds, InvalidRuns::LeftOut).unwrap()
    };
    let natural = judged(AnswerEnding::Natural);
    let known = [Some(AbVerdict::Inconclusive), Some(AbVerdict::Better)];
    assert_eq!(natural.metrics[..2].iter().map(|metric| metric.verdict).collect::<Vec<_>>(), known);
    assert!(natural.confounded.longer_answers.is_some_and(|by| (by - 0.5).abs() < 1e-9), "{:?}", natural.confounded);
    let said = "confounded: answers end by themselves and are 50 % longer on B";
    assert!(natural.notes.iter().any(|note| note.starts_with(said)), "{:?}", natural.notes);
    let forced = judged(AnswerEnding::Forced);
    assert_eq!(forced.metrics[0].verdict, Some(AbVerdict::Worse));
    assert!(!forced.notes.iter().any(|note| note.contains("confounded")), "{:?}", forced.notes);
}

/// Takes a ratio of 0.8 or 0.81 in every round. That is eight of eight signs, p = 2/256, times three metrics.
#[test]
fn a_difference_in_every_round_decides() {
    let test = judged(InvalidRuns::LeftOut, |_| summary(1, 100, 0), |round| summary(round, 79 + round % 2, 0));
    let known = [
        ("p50 ttft", Some(AbVerdict::Better)),
        ("p50 tpot", Some(AbVerdict::Equivalent)),
        ("error_rate", Some(AbVerdict::Equivalent)),
    ];
    assert_eq!(
        (test.verdict, verdicts(&test)),
        (AbVerdict::Better, known.map(|(name, verdict)| (name.to_owned(), verdict)).to_vec())
    );
    let ttft = &test.metrics[0];
    assert_eq!((ttft.p, ttft.adjusted_p), (Some(2.0 / 256.0), Some(6.0 / 256.0)));
    let ratio = ttft.ratio.unwrap();
    assert!((0.79..0.83).contains(&ratio.value), "{ratio:?}");
    assert!(ratio.low <= ratio.value && ratio.value <= ratio.high);
    assert!((-22.0..-18.0).contains(&ttft.difference.unwrap().value));
    assert!(test.sentence.starts_with("B is better than A: p50 ttft ") && test.sentence.ends_with("% lower"));
    assert_eq!((test.first_seed, test.counted_rounds, test.fewest_rounds), (7, 8, 7));
    // The same metrics, of each class alone.
    assert_eq!(test.classes.len(), 2);
    assert!(test.classes.iter().all(|class| class.verdict == AbVerdict::Better), "{:?}", test.classes);
    assert_eq!(test.classes[1].metrics[0].metric.to_string(), "p50 ttft of class search");
    // Three metrics of two classes are six tests.
    assert!(test.classes.iter().all(|class| class.metrics[0].adjusted_p == Some(12.0 / 256.0)));
    // Others are seen without a verdict.
    let explored = test.explored.iter().find(|metric| metric.metric.to_string() == "p50 e2e").unwrap();
    assert!(explored.verdict.is_none() && explored.p == Some(2.0 / 256.0));
}

/// Tests three metrics and the error rate of two classes, which are eight tests. 2 · 2⁻⁸ times eight is over 5 %.
#[test]
fn too_few_rounds_for_a_class_alone_are_reported() {
    let runs: Vec<_> = (1..=8).map(|round| (round, summary(1, 100, 0), summary(round, 79, 0))).collect();
    let rounds: Vec<_> = runs.iter().map(|(number, a, b)| AbRound { number: *number, a, b }).collect();
    let metrics = ["p50 ttft", "p95 ttft", "p50 tpot"].map(|metric| metric.parse().unwrap());
    let design = AbDesign::new(8, metrics.into(), 0.05).unwrap();
    let test = AbTest::new(&design, &rounds, InvalidRuns::LeftOut).unwrap();
    assert_eq!((test.verdict, test.classes[0].verdict), (AbVerdict::Better, AbVerdict::Inconclusive));
    let found = "no class alone could come out better or worse: 8 tests of classes take 9 rounds, and 8 count";
    assert_eq!(test.notes, [found]);
}

#[test]
fn a_sure_difference_within_the_margin_does_not_matter() {
    let test = judged(InvalidRuns::LeftOut, |_| summary(1, 100, 0), |round| summary(round, 101 + round % 2, 0));
    assert_eq!(test.metrics[0].verdict, Some(AbVerdict::Equivalent));
    assert!(test.metrics[0].p.unwrap() < 0.01);
    assert_eq!(test.verdict, AbVerdict::Equivalent);
}

#[test]
fn differences_both_ways_are_neither_shown_nor_denied() {
    let noisy = |round: u64| summary(round, if round.is_multiple_of(2) { 80 } else { 125 }, 0);
    let test = judged(InvalidRuns::LeftOut, |_| summary(1, 100, 0), noisy);
    assert_eq!(test.verdict, AbVerdict::Inconclusive);
    let ttft = &test.metrics[0];
    assert!(ttft.rounds_for_margin.unwrap() > 8 && ttft.detectable.unwrap() > 0.3, "{ttft:?}");
}

#[test]
fn a_server_that_fails_more_is_no_better_for_being_fast() {
    // 5 of 40 fail, and the run is INVALID for nothing else.
    let failing = summary(1, 50, 5);
    let rules: Vec<_> = failing.verdict.reasons.iter().map(|reason| reason.rule).collect();
    assert_eq!(rules, [Rule::ErrorRate]);
    let test = judged(InvalidRuns::LeftOut, |_| summary(1, 100, 0), |round| summary(round, 50, 5));
    let errors = test.metrics.last().unwrap();
    assert_eq!((errors.rounds, errors.verdict), (8, Some(AbVerdict::Worse)));
    // The round counts, and the latencies that failures flatter do not outweigh them.
    assert_eq!((test.metrics[0].rounds, test.counted_rounds, test.verdict), (8, 8, AbVerdict::Worse));
    assert!(test.sentence.starts_with("B is worse than A: B does not keep up (in 8 of 8 rounds; A in 0)"));
    assert!(test.sentence.contains("error_rate 12.5 points higher"), "{}", test.sentence);
    assert!(test.notes[0].contains("B failed 12.5 % of its requests and A 0 %"), "{:?}", test.notes);

    // Failures in two rounds of eight are not shown to be more, and take the better latencies' word away.
    let sometimes = |round: u64| summary(round, 50, if round <= 2 { 8 } else { 0 });
    let test = judged(InvalidRuns::LeftOut, |_| summary(1, 100, 0), sometimes);
    assert_eq!(test.metrics[0].verdict, Some(AbVerdict::Better));
    assert_eq!(test.metrics[2].verdict, Some(AbVerdict::Inconclusive));
    assert_eq!(test.verdict, AbVerdict::Inconclusive);
    assert!(test.sentence.contains("only because more of its requests failed"), "{}", test.sentence);
    assert_eq!((test.counted_rounds, test.overload.b, test.overload.worse), (8, 2, None));
}

/// A run whose queue grew, with a first token after `ttft` ms.
fn overloaded(round: u64, ttft: u64) -> Summary {
    let (rule, outcome) = (Rule::SteadyState, VerdictOutcome::Overloaded);
    let reason = Reason { rule, outcome, runs: None, sentence: "it grew".to_owned(), cure: "lower it".to_owned() };
    Summary { verdict: Verdict::new(vec![reason], Vec::new()), ..summary(round, ttft, 0) }
}

#[test]
fn a_side_that_alone_does_not_keep_up_is_worse_whatever_its_latencies() {
    for ttft in [50, 100, 200] {
        let test = judged(InvalidRuns::LeftOut, |_| summary(1, 100, 0), |round| overloaded(round, ttft));
        assert_eq!((test.verdict, test.counted_rounds), (AbVerdict::Worse, 8));
        assert_eq!((test.overload.worse, test.overload.p), (Some(AbSide::B), 2.0 / 256.0));
        assert!(test.sentence.starts_with("B is worse than A: B does not keep up (in 8 of 8 rounds; A in 0)"));
        assert!(test.notes[0].starts_with("B did not keep up in 8 rounds"), "{:?}", test.notes);
    }
    // The other way round B is better, unless something else speaks against it.
    let a = |round| overloaded(round, 100);
    let test = judged(InvalidRuns::LeftOut, a, |round| summary(round, 100, 0));
    assert_eq!(test.verdict, AbVerdict::Better);
    assert!(test.sentence.starts_with("B is better than A: A does not keep up"), "{}", test.sentence);
    assert_eq!(judged(InvalidRuns::LeftOut, a, |_| summary(1, 200, 0)).verdict, AbVerdict::Mixed);
}

#[test]
fn where_neither_side_keeps_up_that_is_said_and_decides_nothing() {
    let test = judged(InvalidRuns::LeftOut, |round| overloaded(round, 100), |round| overloaded(round, 101));
    assert_eq!((test.verdict, test.overload.worse), (AbVerdict::Equivalent, None));
    assert!(test.notes[0].starts_with("neither side keeps up with this load"), "{:?}", test.notes);
}

/// Five rounds of eight against two: chance does that with equal sides.
#[test]
fn a_side_that_keeps_up_a_little_less_often_is_not_called_worse_for_it() {
    let some =
        |most: u64| move |round: u64| if round <= most { overloaded(round, 100) } else { summary(round, 100, 0) };
    let test = judged(InvalidRuns::LeftOut, some(2), some(5));
    assert_eq!((test.overload.a, test.overload.b, test.overload.worse), (2, 5, None));
    assert_eq!((test.verdict, test.counted_rounds), (AbVerdict::Equivalent, 8));
}

#[test]
fn too_few_rounds_that_can_be_trusted_are_no_verdict() {
    let cut = |round: u64| {
        let mut log = log(round, requests(100, 0));
        if round <= 2 {
            // A planned request left no record.
            log.records.pop();
        }
        summarise(&log, &[])
    };
    let test = judged(InvalidRuns::LeftOut, |_| summary(1, 100, 0), cut);
    assert_eq!((test.verdict, test.counted_rounds), (AbVerdict::Invalid, 6));
    assert!(test.sentence.starts_with("6 of 8 rounds have valid figures"), "{}", test.sentence);
    assert!(test.notes[0].starts_with("left out as INVALID: rounds 1, 2 (of the first, B: "), "{:?}", test.notes);
    assert_eq!(judged(InvalidRuns::Counted, |_| summary(1, 100, 0), cut).counted_rounds, 8);
}

/// Cuts B's requests off before their first token. Its median is known only to lie above 5 s, so that every end that it
/// can have is worse than A's. Where A's could lie there too, nobody knows.
#[test]
fn what_is_known_within_bounds_decides_where_all_that_it_can_be_agrees() {
    let cut_off = |round: u64| {
        let waiting = |i| record(i).sent_at(i * 25, i * 25, i * 25).censored(i * 25 + 5_000).build();
        summarise(&log(round, (0..40).map(waiting).collect()), &[])
    };
    let test = judged(InvalidRuns::Counted, |_| summary(1, 100, 0), cut_off);
    let ttft = &test.metrics[0];
    assert_eq!((ttft.verdict, ttft.b, ttft.spread), (Some(AbVerdict::Worse), None, None));
    assert_eq!(ttft.figures[0], AbPair { round: 1, a: ttft.a, b: None });
    let test = judged(InvalidRuns::Counted, cut_off, cut_off);
    assert_eq!((test.metrics[0].verdict, test.metrics[0].p), (Some(AbVerdict::Inconclusive), Some(1.0)));
}

#[test]
fn what_are_no_rounds_is_refused_and_what_differs_is_reported() {
    assert_eq!(AbTest::new(&design(8), &[], InvalidRuns::LeftOut), Err(NotRounds::Nothing));
    let (a, mut b) = (summary(1, 100, 0), summary(1, 100, 0));
    b.run.engine.model = "another".to_owned();
    b.run.deployment.labels.insert("flags".to_owned(), "--fast".to_owned());
    let round = [AbRound { number: 1, a: &a, b: &b }];
    let test = AbTest::new(&design(8), &round, InvalidRuns::LeftOut).unwrap();
    let unlike: Vec<_> = test.sides.unlike.iter().map(|unlike| unlike.what.as_str()).collect();
    assert_eq!((test.verdict, unlike), (AbVerdict::Unfinished, vec!["model", "flags"]));
    b.run.plan_hash = "other".to_owned();
    let round = [AbRound { number: 3, a: &a, b: &b }];
    let refused = AbTest::new(&design(8), &round, InvalidRuns::LeftOut).unwrap_err().to_string();
    assert_eq!(refused, "the two runs of round 3 did not execute the same plan");
}

#[test]
fn a_side_that_becomes_another_server_is_refused() {
    let (a, b) = (summary(1, 100, 0), summary(1, 80, 0));
    let versions = |first: Option<&str>, second: Option<&str>| {
        let at = |version: Option<&str>| {
            let mut run = b.clone();
            run.run.engine.server_version = version.map(str::to_owned);
            run
        };
        let (first, second) = (at(first), at(second));
        let rounds = [AbRound { number: 1, a: &a, b: &first }, AbRound { number: 2, a: &a, b: &second }];
        AbTest::new(&design(8), &rounds, InvalidRuns::Counted).map(|test| test.verdict)
    };
    let refused = versions(Some("0.11"), Some("0.12")).unwrap_err().to_string();
    let words = "side B was another server in round 2: its server version was 0.11 in round 1, and was 0.12 \
        then\nhint: ";
    assert!(refused.starts_with(words), "{refused}");
    // One that did not tell this time may be the same.
    for (first, second) in [(Some("0.11"), Some("0.11")), (Some("0.11"), None), (None, Some("0.11"))] {
        assert_eq!(versions(first, second), Ok(AbVerdict::Unfinished));
    }
}

#[test]
fn the_first_run_lets_guess_what_will_be_found() {
    let of = |requests| {
        let records = (0..requests)
            .map(|i| record(i).sent_at(i * 25, i * 25, i * 25).paced(i * 25 + 100 + i * i % 97, 10, 11).build());
        design(8).variation_within(&summarise(&run(10_000, records.collect()), &[]))
    };
    // Too few requests to tell how they depend on one another.
    assert_eq!(of(15), []);
    let varying = of(400);
    assert!(varying[0].0 == "p50 ttft" && (1e-3..0.5).contains(&varying[0].1), "{varying:?}");
}

#[test]
fn a_breaker_ends_the_test_with_its_run() {
    let mut experiment = AbExperiment::new(design(8), InvalidRuns::LeftOut);
    let whole = summary(1, 100, 0);
    let broken_off = summarise(&aborted(log(2, requests(100, 0)), 500), &[]);
    for run in [&whole, &whole, &broken_off] {
        let request = experiment.next().unwrap();
        assert_eq!(experiment.accepts_stored(&request, run), run.breaker.is_none(), "it runs again");
        experiment.record(&request, RunOutcome::Completed(run.clone().into()));
    }
    assert!(experiment.next().is_none() && experiment.is_aborted());
    let test = experiment.result().unwrap();
    assert!(test.notes[0].contains("ended the run") && test.notes[0].contains("round-2/"), "{:?}", test.notes);
}

/// A round on so many GPUs at 3.6 an hour each.
fn on_gpus(round: u64, ttft: u64, gpus: u32) -> Summary {
    let mut log = log(round, requests(ttft, 0));
    log.header.deployment.gpus = Some(gpus);
    log.header.deployment.gpu_hour = Some(3.6);
    summarise(&log, &[])
}

#[test]
fn a_better_latency_that_costs_tokens_per_gpu_is_noted() {
    let noted = |test: &AbTest| test.notes.iter().any(|note| note.starts_with("B answers faster"));
    let one = |round| on_gpus(round, 100, 1);
    let test = judged(InvalidRuns::LeftOut, one, |round| on_gpus(round, 63 + round % 2, 2));
    let note = test.notes.iter().find(|note| note.starts_with("B answers faster")).unwrap();
    assert!(note.contains(": p50 TTFT −3") && note.contains(", output tokens/s per GPU −4"), "{note}");
    let explored = |name: &str| test.explored.iter().find(|metric| metric.metric.to_string() == name).unwrap();
    assert_eq!(explored("output_tokens_per_s_per_gpu").p, Some(2.0 / 256.0));
    // Answers of the faster side are complete a little earlier, and so a few more in the window.
    let cost = explored("cost_per_answer").ratio.unwrap().value;
    assert!((1.8..=2.0).contains(&cost), "{cost}");
    assert!(test.explored.iter().all(|metric| metric.metric.metric != Metric::EnergyPerAnswer));
    // A latency that decides and is within the margin is no gain, and neither are as many GPUs.
    assert!(!noted(&judged(InvalidRuns::LeftOut, one, |round| on_gpus(round, 99 + round % 2, 2))));
    assert!(!noted(&judged(InvalidRuns::LeftOut, one, |round| on_gpus(round, 63 + round % 2, 1))));
}
