//! Runs that repeat one another, joined, against figures worked out by hand.

use super::*;
use crate::analysis::test_runs::{RecordBuilder, aborted, record, run};
use crate::analysis::{
    AcrossRuns, Figure, FigureKey, Metric, Objective, Quantile, Reason, SampleWarning, Statistic, Status, Summary,
    Unresolvable, repeats_for, summarise,
};
use crate::experiment::driver::{Experiment as _, RunOutcome};
use crate::experiment::seeds::{repeats_of, seed_of_run};
use crate::experiment::spoiled::InvalidRuns;
use crate::record::{Failure, FailureKind, Outcome, Repeat, RunEnding, RunLog};
use crate::workload::ArrivalPattern;

const P50_TTFT: FigureKey = FigureKey::percentile(Quantile::P50, Metric::Ttft);

fn figures(figures: &[Option<Figure>]) -> AcrossRuns {
    AcrossRuns::of_figures(figures, f64::INFINITY)
}

fn known(values: &[f64]) -> AcrossRuns {
    figures(&values.iter().map(|&value| Some(Figure::Exact(value))).collect::<Vec<_>>())
}

fn near(found: Option<f64>, expected: f64) -> bool {
    found.is_some_and(|found| (found - expected).abs() < 1e-6)
}

/// Returns run `number` of five. It has four requests a tenth of a second apart, each with its first token after
/// `ttft_ms`.
fn repeat(number: u64, ttft_ms: u64) -> RunLog {
    let records = (0..4).map(|i| record(i).sent_at(i * 100, i * 100, i * 100).paced(i * 100 + ttft_ms, 10, 11));
    let mut log = run(1_000, records.map(RecordBuilder::build).collect());
    log.header.repeat = Some(Repeat { number, of: 5, first_seed: 7 });
    log.header.workload.seed = seed_of_run(7, number);
    log
}

fn summaries(ttfts: &[u64]) -> Vec<Summary> {
    ttfts.iter().zip(1..).map(|(&ttft, number)| summarise(&repeat(number, ttft), &[])).collect()
}

fn judged(ttfts: &[u64], objective: &str) -> AcrossJudgement {
    let objective: Objective = objective.parse().unwrap();
    Repeats::new(&summaries(ttfts), &[objective]).unwrap().objectives.remove(0)
}

/// scipy: `t.interval(0.95, 4, loc=3, scale=sem([1, 2, 3, 4, 5]))`.
#[test]
fn intervals_are_student_ts() {
    let figure = known(&[5.0, 1.0, 4.0, 2.0, 3.0]);
    assert!(near(figure.mean, 3.0) && near(figure.std, 2.5_f64.sqrt()), "{figure:?}");
    assert!(near(figure.interval_low, 1.036_756_838_5), "{figure:?}");
    assert!(near(figure.interval_high, 4.963_243_161_5), "{figure:?}");
    assert_eq!((figure.min, figure.max, figure.unresolvable), (Some(1.0), Some(5.0), None));
    assert!(near(figure.relative_half_width(), 1.963_243_161_5 / 3.0));
}

#[test]
fn an_interval_stays_where_the_figure_can_be() {
    let share = AcrossRuns::of_figures(&[0.9, 1.0].map(|share| Some(Figure::Exact(share))), 1.0);
    assert_eq!(share.interval_high, Some(1.0));
    assert_eq!(known(&[1.0, 9.0]).interval_low, Some(0.0));
    // Its own width is not cut: it says how many runs are needed.
    assert!(share.relative_half_width().unwrap() > 0.6);
}

#[test]
fn one_run_and_an_unknown_figure_are_unresolvable() {
    let alone = known(&[4.0]);
    assert_eq!((alone.mean, alone.interval()), (Some(4.0), None));
    assert_eq!(alone.unresolvable, Some(Unresolvable::TooFewRuns));
    let open = figures(&[Some(Figure::Exact(1.0)), None, Some(Figure::Exact(3.0))]);
    assert_eq!((open.mean, open.interval(), open.runs_for_ten_percent), (None, None, None));
    assert_eq!((open.min, open.max), (Some(1.0), Some(3.0)));
    assert_eq!(open.unresolvable, Some(Unresolvable::UnknownInSomeRun));
}

#[test]
fn bounds_of_all_runs_bound_the_mean() {
    use Figure::{AtLeast, Between, Exact};
    let open = figures(&[Exact(4.0), Between { low: 5.0, high: 7.0 }, Exact(6.0)].map(Some));
    assert_eq!((open.mean, open.mean_at_least, open.mean_at_most), (None, Some(5.0), Some(17.0 / 3.0)));
    assert_eq!(open.values, [Some(4.0), None, Some(6.0)]);
    assert_eq!((open.at_least[1], open.at_most[1], open.unresolvable), (Some(5.0), Some(7.0), None));
    // The hull of 4, 5, 6 (s = 1) and 4, 7, 6 (s² = 7/3), each with t = 4.302653.
    assert!(near(open.interval_low, 17.0 / 3.0 - 4.302_652_73 * (7.0_f64 / 9.0).sqrt()), "{open:?}");
    assert!(near(open.interval_high, 17.0 / 3.0 + 4.302_652_73 * (7.0_f64 / 9.0).sqrt()), "{open:?}");
    assert_eq!((open.std, open.relative_half_width(), open.runs_for_ten_percent), (None, None, None));
    // Nothing bounds one of them, and so nothing bounds the mean.
    let unbounded = figures(&[Exact(4.0), AtLeast(5.0)].map(Some));
    assert_eq!((unbounded.mean_at_least, unbounded.mean_at_most), (Some(4.5), None));
    assert_eq!((unbounded.interval(), unbounded.unresolvable), (None, Some(Unresolvable::UnknownInSomeRun)));
}

/// Run `number` of five, where the last of `requests` requests was cut off after `waited_ms`.
fn cut_off(number: u64, requests: u64, waited_ms: u64) -> Summary {
    let mut log = repeat(number, 100);
    log.records = (0..requests).map(|i| record(i).sent_at(i, i, i).paced(i + 100 + i, 10, 11).build()).collect();
    let last = requests - 1;
    log.records[last as usize] = record(last).sent_at(last, last, last).censored(last + waited_ms).build();
    log.header.plan.measured_requests = requests;
    summarise(&log, &[])
}

#[test]
fn figures_known_within_bounds_are_judged_by_them() {
    // 41 requests with TTFT 100, 101, … and one cut off after 2 ms: the median lies between two neighbours.
    let runs: Vec<_> = (1..=3).map(|number| cut_off(number, 41, 2)).collect();
    let judge = |objective: &str| {
        let objective: Objective = objective.parse().unwrap();
        Repeats::new(&runs, &[objective]).unwrap().objectives.remove(0)
    };
    let within = judge("p50 ttft < 125ms");
    assert_eq!(within.line, "met: p50 ttft < 125ms (between 119 ms and 120 ms, interval 119 ms to 120 ms over 3 runs)");
    assert_eq!(judge("p50 ttft < 110ms").status, Status::Missed);
    let inside = judge("p50 ttft < 119.5ms");
    assert_eq!((inside.status, inside.more_repeats), (Status::Undecided, None));
    assert!(inside.line.contains("cut-off requests leave the figure unknown"), "{}", inside.line);
    // The longest exceeds 139 ms in every run, and nothing bounds it.
    let max = judge("max ttft < 120ms");
    assert_eq!((max.status, max.figure.as_ref().unwrap().interval()), (Status::Missed, None));
    assert_eq!(max.line, "missed: max ttft < 120ms (over 139 ms on average of 3 runs)");
    assert_eq!(judge("max ttft < 10s").status, Status::Undecided);
}

/// The smallest n by the definition, one after another.
#[test]
fn enough_repeats_are_the_fewest_that_are() {
    use crate::analysis::statistics::student_t_quantile;
    for (std, target) in [(1.0, 20.0), (1.0, 1.3), (1.0, 0.5), (1.0, 0.2), (3.0, 0.31)] {
        let width = |n: u64| student_t_quantile(0.975, n as f64 - 1.0) * std / (n as f64).sqrt();
        let expected = (2..10_000).find(|&n| width(n) <= target);
        assert_eq!(repeats_for(std, target), expected, "{std} {target}");
    }
    // For many runs t is nearly 1.96: n is nearly (1.96 · 1 / 0.05)² = 1,537.
    assert!((1_537..1_545).contains(&repeats_for(1.0, 0.05).unwrap()));
    assert_eq!((repeats_for(1.0, 0.0), repeats_for(1.0, 1e-6), repeats_for(0.0, 0.1)), (None, None, Some(2)));
    // The runs there are are never too many.
    assert_eq!(known(&[10.0, 10.0, 10.1]).runs_for_ten_percent, Some(3));
}

#[test]
fn the_first_run_keeps_the_seed_and_no_two_share_one() {
    assert_eq!(seed_of_run(42, 1), 42);
    let seeds: std::collections::BTreeSet<_> =
        (40..50).flat_map(|first| (1..=100).map(move |run| seed_of_run(first, run))).collect();
    assert_eq!(seeds.len(), 1_000);
    assert!(seeds.iter().all(|&seed| seed < 1 << 53));
    // For ever the same: a run can be run again by itself.
    assert_eq!((seed_of_run(42, 2), seed_of_run(42, 3)), (6_753_362_113_266_264, 5_450_454_410_565_761));
    let spec = repeat(1, 100).header.workload;
    assert_eq!(repeats_of(&spec, 1), vec![(None, spec.clone())]);
    let places: Vec<_> = repeats_of(&spec, 2).into_iter().map(|(place, spec)| (place.unwrap(), spec.seed)).collect();
    let place = |number| Repeat { number, of: 2, first_seed: 7 };
    assert_eq!(places, [(place(1), 7), (place(2), seed_of_run(7, 2))]);
}

#[test]
fn runs_are_joined_in_their_order() {
    let mut runs = summaries(&[100, 120, 110, 90, 80]);
    runs.reverse();
    let repeats = Repeats::new(&runs, &[]).unwrap();
    assert!(repeats.verdict.valid);
    assert_eq!((repeats.planned_runs, repeats.counted_runs, repeats.first_seed), (5, 5, 7));
    assert_eq!(repeats.runs.iter().map(|run| run.number).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    let ttft = repeats.figures.get(&P50_TTFT).unwrap();
    assert_eq!(ttft.values, [100.0, 120.0, 110.0, 90.0, 80.0].map(Some));
    assert!(near(ttft.mean, 100.0) && near(ttft.std, 250_f64.sqrt()));
    let p99 = repeats.figures.get(&FigureKey::latency(Statistic::Percentile(Quantile::P99), Metric::Ttft));
    assert_eq!(p99.unwrap().mark, Some(SampleWarning::TooFewSamples), "four samples in each run");
    assert!(near(repeats.figures.get(&FigureKey::from_metric(Metric::Goodput)).unwrap().mean, 4.0));
}

#[test]
fn json_has_the_keys_of_one_runs_summary() {
    let json = serde_json::to_value(Repeats::new(&summaries(&[100, 120, 110, 90, 80]), &[]).unwrap()).unwrap();
    assert_eq!(json["schema"], 2);
    assert_eq!(json["figures"]["latency"]["ttft"]["p50_ms"]["mean"], 100.0);
    assert_eq!(json["figures"]["latency"]["queue_wait"], serde_json::Value::Null);
    assert_eq!(json["figures"]["rates"]["goodput_per_s"]["max"], 4.0);
    assert_eq!(json["figures"]["shares"]["error_rate"]["mean"], 0.0);
    assert_eq!(json["runs"][1]["seed"], seed_of_run(7, 2));
}

#[test]
fn an_objective_is_held_against_the_whole_interval() {
    // 100 ± 19.63: t = 2.776, s = 15.81.
    let ttfts = [100, 120, 110, 90, 80];
    for (objective, line) in [
        ("p50 ttft < 120ms", "met: p50 ttft < 120ms (100 ms, interval 80.4 ms to 120 ms over 5 runs)"),
        ("p50 ttft < 80ms", "missed: p50 ttft < 80ms (100 ms, interval 80.4 ms to 120 ms over 5 runs)"),
    ] {
        assert_eq!(judged(&ttfts, objective).line, line);
    }
    let open = judged(&ttfts, "p50 ttft < 110ms");
    // The fewest n with t·15.81/√n ≤ 10 is 13: t = 2.179, 9.55; for 12, t = 2.201, 10.05.
    assert_eq!((open.status, open.more_repeats), (Status::Undecided, Some(8)));
    assert!(open.line.ends_with("; would take about 8 more repeats, 8 s of load)"), "{}", open.line);
    let on_it = judged(&ttfts, "p50 ttft < 100ms");
    assert_eq!((on_it.status, on_it.more_repeats), (Status::Undecided, None));
    assert!(on_it.line.contains("too close to the bound to tell"), "{}", on_it.line);
    for (ttfts, objective, said) in [
        (&[100][..], "p50 ttft < 1s", "in one run, which has no spread"),
        (&[100, 120], "p50 queue_wait < 1s", "no such figure in these runs"),
    ] {
        let judgement = judged(ttfts, objective);
        assert!(judgement.status == Status::Undecided && judgement.line.contains(said), "{}", judgement.line);
    }
}

#[test]
fn a_percentile_is_judged_by_the_requests_of_all_runs() {
    // TTFT 1 … 100 ms in no order in each of five runs.
    let run_of = |number, objective: &Objective, slower: u64| {
        let mut log = repeat(number, 100);
        let ttft = |i| 1 + (i * 61) % 100 + slower;
        log.records = (0..100).map(|i| record(i).sent_at(i, i, i).paced(i + ttft(i), 10, 11).build()).collect();
        log.header.plan.measured_requests = 100;
        summarise(&log, std::slice::from_ref(objective))
    };
    let judge = |objective: &str, slower: [u64; 5]| {
        let objective: Objective = objective.parse().unwrap();
        let runs: Vec<_> = (1..=5).zip(slower).map(|(number, slower)| run_of(number, &objective, slower)).collect();
        let alone: Vec<_> = runs.iter().map(|run| run.objectives[0].status).collect();
        (alone, Repeats::new(&runs, &[objective]).unwrap().objectives.remove(0))
    };
    let (alone, met) = judge("p95 ttft < 99ms", [0; 5]);
    assert_eq!((alone, met.over_share), (vec![Status::Undecided; 5], Some(0.02)));
    assert_eq!(met.line, "met: p95 ttft < 99ms (95.0 ms on average of 5 runs)");
    assert_eq!(judge("p95 ttft < 80ms", [0; 5]).1.line, "missed: p95 ttft < 80ms (95.0 ms on average of 5 runs)");
    let (_, open) = judge("p95 ttft < 97ms", [0; 5]);
    let more = open.more_repeats.unwrap();
    assert!((5..40).contains(&more), "{more}");
    let said = format!("; 20 of 500 requests over; would take about {more} more repeats, {more} s of load)");
    assert!(open.status == Status::Undecided && open.line.ends_with(&said), "{}", open.line);
    // As many over, all in one run: they are worth what the runs differ.
    let (_, differing) = judge("p95 ttft < 101ms", [0, 0, 0, 0, 10]);
    assert_eq!((differing.over_share, differing.status), (Some(0.02), Status::Undecided));
}

#[test]
fn a_hidden_figure_in_one_run_hides_the_mean() {
    let mut runs = summaries(&[100, 120]);
    let mut log = repeat(3, 100);
    for i in 0..4 {
        log.records[i] = record(i as u64).sent_at(0, 0, 0).censored(5_000).build();
    }
    runs.push(summarise(&log, &[]));
    let objective = "p50 ttft < 10s".parse().unwrap();
    let repeats = Repeats::new(&runs, &[objective]).unwrap();
    assert_eq!(repeats.figures.get(&P50_TTFT).unwrap().unresolvable, Some(Unresolvable::UnknownInSomeRun));
    let line = &repeats.objectives[0].line;
    assert!(line.contains("(over 1,740 ms on average of 3 runs)"), "{line}");
    assert!(
        !repeats.verdict.valid && repeats.verdict.reasons[0].in_words().starts_with("run 3: "),
        "{:?}",
        repeats.verdict
    );
    assert_eq!((repeats.counted_runs, repeats.runs[2].valid, repeats.runs[2].counted), (3, false, true));
}

#[test]
fn a_run_that_was_broken_off_is_reported_and_not_counted() {
    let mut log = repeat(3, 900);
    log.footer.as_mut().unwrap().ending = RunEnding::Interrupted;
    let mut runs = summaries(&[100, 120]);
    runs.push(summarise(&log, &[]));
    let repeats = Repeats::new(&runs, &[]).unwrap();
    assert!(repeats.verdict.valid);
    assert_eq!((repeats.planned_runs, repeats.counted_runs, repeats.runs[2].counted), (5, 2, false));
    assert!(near(repeats.figures.get(&P50_TTFT).unwrap().mean, 110.0));
    let nothing = Repeats::new(&runs[2..], &[]).unwrap();
    let said: Vec<_> = nothing.verdict.reasons.iter().map(Reason::in_words).collect();
    assert_eq!(said, ["all runs: none of 1 run finished"]);
}

#[test]
fn what_several_runs_have_against_them_is_said_once_with_its_cure() {
    let failed = |number: u64, failures: usize| {
        let mut log = repeat(number, 100);
        for record in log.records.iter_mut().take(failures) {
            record.outcome = Outcome::Failed(Failure::new(FailureKind::HttpStatus(503), "busy").into());
        }
        summarise(&log, &[])
    };
    let runs = vec![failed(1, 1), failed(2, 0), failed(3, 2), failed(4, 4)];
    let reasons = Repeats::new(&runs, &[]).unwrap().verdict.reasons;
    let said: Vec<_> = reasons.iter().map(Reason::in_words).collect();
    assert_eq!(said[0], "runs 1, 3: 25 % of the requests failed (1 of 4); limit: 1 % (the figures of run 1)");
    assert!(reasons[0].cure.starts_with("lower the rate or fix the cause"), "{reasons:?}");
    assert!(said[1].starts_with("run 4: none of 4 requests completed"), "{said:?}");
    assert_eq!((said.len(), reasons[0].runs.as_deref()), (2, Some(&[1, 3][..])));
}

/// Runs 30 s twice at 20 requests a second with independent exponential gaps. Each is either as drawn or stretched
/// until its last request falls on its 600th expected one. Each looks right by itself, and both have the same count.
#[test]
fn runs_whose_counts_agree_too_well_are_invalid_together() {
    let joint = |stretch: fn(f64) -> f64| {
        let runs: Vec<_> = (1..=2)
            .map(|number| {
                let mut stream = crate::random::RandomStream::named(number, "gaps");
                let mut last = 0.0;
                let drawn: Vec<f64> = (0..700)
                    .map(|_| {
                        last += stream.exponential() / 20.0;
                        last
                    })
                    .collect();
                let factor = stretch(drawn[599]);
                let moments = drawn.into_iter().map(|moment| (moment * factor * 1e3) as u64);
                let records = (0..).zip(moments.take_while(|&at| at <= 30_000));
                let records = records.map(|(i, at)| record(i).sent_at(at, at, at).paced(at + 100, 10, 11));
                let mut log = run(30_001, records.map(RecordBuilder::build).collect());
                log.header.workload.arrival = ArrivalPattern::Poisson { rate_per_s: 20.0 };
                log.header.repeat = Some(Repeat { number, of: 2, first_seed: 7 });
                summarise(&log, &[])
            })
            .collect();
        Repeats::new(&runs, &[]).unwrap().verdict
    };
    let honest = joint(|_| 1.0);
    assert_eq!(honest.checks.iter().map(|check| check.outcome).collect::<Vec<_>>(), [Status::Met]);
    let stretched = joint(|last| 30.0 / last);
    let all = stretched.reasons.iter().find(|reason| reason.runs == Some(Vec::new())).unwrap();
    assert!(!stretched.valid && all.in_words().starts_with("all runs: the counts of 2 runs vary 0"), "{all:?}");
    assert_eq!(all.cure, "use a different seed for each run, and do not stretch a plan to hit its count");
}

#[test]
fn runs_that_do_not_belong_together_are_refused() {
    assert_eq!(Repeats::new(&[], &[]), Err(NotRepeats::Nothing));
    let twice = [summaries(&[100]), summaries(&[100])].concat();
    assert_eq!(Repeats::new(&twice, &[]), Err(NotRepeats::Twice { number: 1 }));
    let mut alone = repeat(1, 100);
    alone.header.repeat = None;
    assert_eq!(Repeats::new(&[summarise(&alone, &[])], &[]), Err(NotRepeats::Alone { seed: 7 }));
    let mut other = repeat(2, 100);
    other.header.repeat = Some(Repeat { number: 2, of: 5, first_seed: 8 });
    let strangers = [summaries(&[100]), vec![summarise(&other, &[])]].concat();
    assert!(matches!(Repeats::new(&strangers, &[]), Err(NotRepeats::Strangers { other_seed: 8, .. })));
}

#[test]
fn a_breaker_ends_the_repeats_with_its_run() {
    let mut experiment = RepeatsExperiment::new(5, Vec::new(), InvalidRuns::LeftOut);
    for log in [repeat(1, 100), aborted(repeat(2, 100), 500)] {
        let request = experiment.next().unwrap();
        experiment.record(&request, RunOutcome::Completed(summarise(&log, &[]).into()));
    }
    assert!(experiment.next().is_none() && experiment.is_aborted() && !experiment.is_interrupted());
    let repeats = experiment.result().unwrap();
    assert_eq!(repeats.counted_runs, 1);
    let said = repeats.spoiled.unwrap();
    assert!(said.contains("no more runs started: `error_rate > 50% for 10s` ended the run"), "{said}");
}
