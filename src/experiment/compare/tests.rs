//! Comparisons of runs built moment by moment, whose figures were computed by hand or by scipy.

mod per_gpu;
mod rates;
mod single_runs;

use super::*;
use crate::analysis::test_runs::{record, run};
use crate::analysis::{FigureKey, Metric, Status, summarise};
use crate::experiment::seeds::seed_of_run;
use crate::record::{Repeat, RequestParameters, RunHeader, RunLog};
use crate::workload::AnswerEnding;

/// Four requests, each with its first token after the time given.
fn log(ttft_ms: u64) -> RunLog {
    let records = (0..4).map(|i| {
        let at = i * 100;
        record(i).sent_at(at, at, at).paced(at + ttft_ms, 10, 11).build()
    });
    run(1_000, records.collect())
}

/// A side whose run is good enough to be judged, however few its requests.
fn believed(mut side: ComparedSide) -> ComparedSide {
    side.reasons.clear();
    side
}

fn one(name: &str, ttft_ms: u64, change: impl Fn(&mut RunHeader)) -> ComparedSide {
    let mut log = log(ttft_ms);
    change(&mut log.header);
    let summary = summarise(&log, &[]);
    believed(ComparedSide::of_run(name.to_owned(), &log, summary, [].iter()))
}

/// Repeats with such TTFTs; those with the same first seed have the same plans.
fn repeats(name: &str, first_seed: u64, ttfts_ms: &[u64]) -> ComparedSide {
    let of = ttfts_ms.len() as u64;
    let runs = ttfts_ms.iter().zip(1..).map(|(&ttft, number)| {
        let mut log = log(ttft);
        log.header.repeat = Some(Repeat { number, of, first_seed });
        log.header.workload.seed = seed_of_run(first_seed, number);
        log.header.plan.hash = format!("{first_seed}-{number}");
        let summary = summarise(&log, &[]);
        (log.header, summary)
    });
    believed(ComparedSide::of_repeats(name.to_owned(), runs.collect(), &[]).unwrap())
}

fn row<'a>(compared: &'a Compared, figure: &str) -> &'a ComparedRow {
    compared.against[0].rows.iter().find(|row| row.figure.to_string() == figure).unwrap()
}

fn gate(text: &str) -> Gate {
    let (kind, margin) = text.split_once(':').unwrap();
    let margin = margin.parse().unwrap();
    if kind == "max" { Gate::MaxRegression(margin) } else { Gate::RequiredImprovement(margin) }
}

fn judged(sides: &[ComparedSide], gates: &[&str]) -> Vec<GateJudgement> {
    let gates: Vec<_> = gates.iter().map(|text| gate(text)).collect();
    Compared::new(sides, &[], &gates).unwrap().against.remove(0).gates
}

fn close(found: Option<f64>, expected: f64) -> bool {
    found.is_some_and(|found| (found - expected).abs() < 1e-9)
}

#[test]
fn answers_that_end_by_themselves_at_other_lengths_confound_what_follows_from_them() {
    let side = |name: &str, tokens: u64, length: AnswerEnding| {
        let record = |i| record(i).sent_at(i * 100, i * 100, i * 100).paced(i * 100 + 100, 10, tokens).build();
        let mut log = run(20_000, (0..200).map(record).collect());
        log.header.workload.classes[0].length = length;
        believed(ComparedSide::of_run(name.to_owned(), &log, summarise(&log, &[]), [].iter()))
    };
    let of = |tokens, length| {
        let sides = [side("a", 100, length), side("b", tokens, length)];
        let gates = ["max:p95 e2e 5%", "max:p95 tpot 5%"].map(gate);
        Compared::new(&sides, &[], &gates).unwrap()
    };
    let longer = of(118, AnswerEnding::Natural);
    assert!(
        close(longer.against[0].confounded.longer_answers, 0.18),
        "{:?}",
        longer.against[0].confounded.longer_answers
    );
    let of_lengths = [Metric::E2e, Metric::OutputTokens];
    let rows = || longer.against[0].rows.iter().filter(|row| of_lengths.contains(&row.figure.metric));
    assert!(rows().count() >= 3 && rows().all(|row| row.standing == ChangeStanding::Unknown));
    let [e2e, tpot] = longer.against[0].gates.as_slice() else { panic!() };
    assert!(e2e.line.contains("answers end by themselves") && e2e.status == Status::Undecided, "{}", e2e.line);
    assert_eq!(tpot.status, Status::Met, "{}", tpot.line);
    // As long as a tenth more or less is the same, and a length that is forced confounds nothing.
    for same in [of(109, AnswerEnding::Natural), of(118, AnswerEnding::Forced)] {
        assert_eq!(same.against[0].confounded.longer_answers, None);
        assert!(!same.against[0].gates[0].line.contains("by themselves"), "{:?}", same.against[0].gates[0]);
    }
}

#[test]
fn what_must_be_equal_is_and_says_which_is_not() {
    let baseline = one("a", 100, |_| {});
    let other = one("b", 110, |header| {
        header.workload.name = "renamed".to_owned();
        header.workload.horizon_s += 1.0;
        header.deployment.hardware = Some("h100".to_owned());
        header.engines[0].streamed = false;
        header.skyline_version = "9".to_owned();
    });
    let sides = [baseline, other];
    let refusal = Compared::new(&sides, &[], &[]).unwrap_err().to_string();
    assert!(refusal.contains("\n  horizon_s: 1.0 (a), 2.0 (b)\n  streamed: true (a), false (b)"), "{refusal}");
    assert!(refusal.ends_with("--vary window --vary streaming"), "{refusal}");
    let compared = Compared::new(&sides, &[Condition::Window, Condition::Streaming], &[]).unwrap();
    let found: Vec<_> = compared.differences.iter().map(|found| (found.fact.as_str(), found.role)).collect();
    // One side did not say on what it ran: it may be the same.
    assert_eq!(
        found,
        [
            ("hardware", Role::Reported),
            ("horizon_s", Role::Varied),
            ("streamed", Role::Varied),
            ("skyline_version", Role::Reported)
        ]
    );
}

#[test]
fn hardware_that_both_name_must_be_the_same_and_a_third_that_does_not_changes_nothing() {
    let on = |name: &str, hardware: Option<&str>| {
        one(name, 100, |header| header.deployment.hardware = hardware.map(str::to_owned))
    };
    let refused = |sides: &[ComparedSide]| matches!(Compared::new(sides, &[], &[]), Err(NotComparable::Unequal { .. }));
    assert!(refused(&[on("a", Some("h100")), on("b", Some("l40s"))]));
    assert!(refused(&[on("a", Some("h100")), on("b", None), on("c", Some("l40s"))]));
    assert!(!refused(&[on("a", Some("h100")), on("b", None), on("c", Some("h100"))]));
}

#[test]
fn requests_must_have_asked_alike_and_a_log_without_the_fact_is_reported() {
    let at = |name: &str, parameters: Option<(f64, Option<f64>)>| {
        one(name, 100, |header| {
            header.engines[0].parameters = parameters.map(|(temperature, top_p)| RequestParameters {
                temperature: Some(temperature),
                top_p,
                ..RequestParameters::default()
            });
        })
    };
    let usual = || at("a", Some((0.0, None)));
    for other in [at("b", Some((0.7, None))), at("b", Some((0.0, Some(0.9))))] {
        let sides = [usual(), other];
        let refusal = Compared::new(&sides, &[], &[]).unwrap_err().to_string();
        assert!(
            refusal.contains("parameters: temperature 0 (a), temperature 0") && refusal.ends_with("--vary parameters"),
            "{refusal}"
        );
        assert!(Compared::new(&sides, &[Condition::Parameters], &[]).is_ok());
    }
    let old = Compared::new(&[usual(), at("b", None)], &[], &[]).unwrap();
    let found: Vec<_> = old.differences.iter().map(|found| (found.fact.as_str(), found.role)).collect();
    assert_eq!(found, [("parameters", Role::Reported)]);
}

#[test]
fn a_serving_model_that_one_side_names_is_reported() {
    let named = |name: &str, model: Option<&str>| {
        one(name, 100, |header| header.deployment.serving_model = model.map(str::to_owned))
    };
    let compared = Compared::new(&[named("a", Some("llama")), named("b", None)], &[], &[]).unwrap();
    assert_eq!((compared.differences[0].condition, compared.differences[0].role), (Condition::Model, Role::Reported));
    let two = [named("a", Some("llama")), named("b", Some("qwen"))];
    assert!(Compared::new(&two, &[], &[]).is_err());
}

#[test]
fn no_spread_is_no_proof() {
    let sides = [repeats("a", 1, &[100, 100]), repeats("b", 2, &[101, 101])];
    let compared = Compared::new(&sides, &[], &[]).unwrap();
    let p50 = row(&compared, "p50 ttft");
    // Of six ways to deal four values out to two and two, two are as far apart.
    assert!(close(p50.p, 2.0 / 6.0) && p50.standing == ChangeStanding::Unknown, "{p50:?}");
    assert_eq!((p50.detectable, p50.change.unwrap().ends()), (None, (None, None)));
    assert_eq!(row(&compared, "error_rate").standing, ChangeStanding::NoSignificantChange, "nothing changed");
}

#[test]
fn a_gate_says_why_it_cannot_tell() {
    let nothing = one("a", 100, |_| {});
    let found = judged(&[nothing.clone(), nothing], &["max:check_pass_rate 1%"]);
    assert!(found[0].line.contains("not known on both sides"), "{}", found[0].line);
    let gate = gate("max:goodput 5%");
    let zeros = |runs| {
        let zero = Some(crate::analysis::Figure::Exact(0.0));
        crate::analysis::AcrossRuns::of_figures(&vec![zero; runs], f64::INFINITY)
    };
    let found = gate.judge_figures("", &zeros(1), &zeros(1), Pairing::OneRunEach);
    assert!(found.line.contains("there is no relative change"), "{}", found.line);
    let found = gate.judge_figures("", &zeros(2), &zeros(2), Pairing::Paired);
    assert!(found.line.contains("there is no relative change"), "{}", found.line);
    let lost = gate.judge_figures("", &zeros(2), &zeros(1), Pairing::Paired);
    assert!(lost.line.contains("not known on both sides"), "{}", lost.line);
}

#[test]
fn the_same_seed_must_have_drawn_the_same_plan() {
    let another = |name: &str, seed: u64| {
        one(name, 100, |header| {
            header.workload.seed = seed;
            header.plan.hash = format!("another {seed}");
        })
    };
    let same_seed = log(100).header.workload.seed;
    let refusal = Compared::new(&[one("a", 100, |_| {}), another("b", same_seed)], &[], &[]).unwrap_err();
    assert!(refusal.to_string().contains("--vary plan"), "{refusal}");
    assert!(Compared::new(&[one("a", 100, |_| {}), another("b", 99)], &[], &[]).is_ok());
}

#[test]
fn runs_and_repeats_do_not_mix_and_one_is_not_compared() {
    let sides = [one("a", 100, |_| {}), repeats("b", 1, &[100, 110])];
    assert!(matches!(Compared::new(&sides, &[], &[]), Err(NotComparable::Mixed { .. })));
    assert_eq!(Compared::new(&sides[..1], &[], &[]), Err(NotComparable::Alone));
}

#[test]
fn one_run_a_side_has_a_change_and_no_p_value() {
    let compared = Compared::new(&[one("a", 100, |_| {}), one("b", 110, |_| {})], &[], &[]).unwrap();
    let p50 = row(&compared, "p50 ttft");
    assert!(close(p50.change.map(|change| change.value), 0.1) && p50.p.is_none());
    assert_eq!((compared.against[0].pairing, p50.standing), (Pairing::SamePlan, ChangeStanding::Unknown));
    assert!(compared.trend.is_none());
}

#[test]
fn repeats_of_other_plans_are_compared_by_welch() {
    let sides = [repeats("a", 1, &[100, 104, 98, 102, 106]), repeats("b", 2, &[120, 118, 131, 125, 121])];
    let compared = Compared::new(&sides, &[], &[]).unwrap();
    let p50 = row(&compared, "p50 ttft");
    assert_eq!((compared.against[0].pairing, p50.standing), (Pairing::Independent, ChangeStanding::Worse));
    // scipy 1.17.1: ttest_ind(b, a, equal_var=False).
    assert!(close(p50.p, 0.000_143_513_270_851_617_54), "{:?}", p50.p);
    assert!(close(p50.difference.map(|found| found.low), 14.540_781_491_393_567), "{:?}", p50.difference);
    assert!(p50.p_holm.unwrap() >= p50.p.unwrap());
    // (t.ppf(.975, df) + t.ppf(.8, df)) · standard error ÷ 102.
    assert!(close(p50.detectable, 0.087_142_585_685_350_62), "{:?}", p50.detectable);
}

#[test]
fn repeats_of_the_same_plans_are_paired() {
    let sides = [repeats("a", 1, &[100, 200, 300, 400, 500]), repeats("b", 1, &[90, 189, 291, 390, 488])];
    let compared = Compared::new(&sides, &[], &[]).unwrap();
    let p50 = row(&compared, "p50 ttft");
    assert_eq!((compared.against[0].pairing, p50.standing), (Pairing::Paired, ChangeStanding::Better));
    // scipy 1.17.1: ttest_rel(b, a); unpaired p would be 0.92.
    assert!(close(p50.p, 3.412_216_730_314_401e-5), "{:?}", p50.p);
}

#[test]
fn what_would_be_seen_of_a_share_is_reported_in_points() {
    use crate::analysis::{AcrossRuns, Figure, Metric};
    let sampled =
        |values: [f64; 3]| AcrossRuns::of_figures(&values.map(|value| Some(Figure::Exact(value))), f64::INFINITY);
    let detectable = |metric| {
        let (before, after) = (sampled([0.5, 0.6, 0.4]), sampled([0.5, 0.7, 0.3]));
        ComparedRow::compare(&FigureKey::from_metric(metric), &before, &after, Pairing::Independent, None)
            .unwrap()
            .detectable
            .unwrap()
    };
    let (share, rate) = (detectable(Metric::SloAttainment), detectable(Metric::Goodput));
    assert!((share / rate - 0.5).abs() < 1e-9, "half of 0.5 is a quarter: {share}, {rate}");
}

#[test]
fn an_improvement_that_may_be_chance_is_none() {
    // Means 100 and 90, but the runs of both differ by far more.
    let sides = [repeats("a", 1, &[60, 140, 100, 80, 120]), repeats("b", 2, &[50, 130, 90, 70, 110])];
    let found = judged(&sides, &["req:p50 ttft 5%", "max:p50 ttft 5%"]);
    assert_eq!((found[0].status, found[0].passes), (Status::Undecided, false), "{}", found[0].line);
    // Nor is it known that nothing became worse: that warns.
    assert_eq!((found[1].status, found[1].passes, found[1].close), (Status::Undecided, true, true));
    let line = &found[1].line;
    assert!(line.contains("which includes the bound; about 76 runs a side would tell): passes, unless"), "{line}");
}

#[test]
fn margins_are_read_and_mistakes_named() {
    let margin: Margin = "p95 ttft of chat 12.5%".parse().unwrap();
    assert_eq!((margin.figure.to_string().as_str(), margin.share), ("p95 ttft of chat", 0.125));
    for (text, problem) in [
        ("p95 ttft", "is not a share"),
        ("p95 ttft -5%", "is not a share"),
        ("ttft 5%", "say which part of it"),
        ("5%", "names no share"),
    ] {
        let error = text.parse::<Margin>().unwrap_err();
        assert!(error.contains(problem) && error.contains("hint: write FIGURE SHARE"), "{error}");
    }
}

#[test]
fn a_trend_is_in_the_order_of_time() {
    let at = |name: &str, ttft: u64, second: i64| {
        one(name, ttft, |header| header.started_at = jiff::Timestamp::from_second(second).unwrap())
    };
    let sides = [at("c", 130, 30), at("a", 110, 10), at("b", 120, 20), at("d", 141, 40)];
    let trend = Compared::new(&sides, &[], &[]).unwrap().trend.unwrap();
    assert_eq!(trend.order, [1, 2, 0, 3]);
    let line = trend.lines.iter().find(|line| line.figure.to_string() == "p50 ttft").unwrap();
    // scipy 1.17.1: linregress(range(4), [110, 120, 130, 141]).slope / 125.25.
    assert!(close(line.change_per_step, 10.3 / 125.25) && line.drifts, "{line:?}");
    let drifts = |ttfts: [u64; 4]| {
        let named = ["a", "b", "c", "d"].into_iter().zip(ttfts).zip(0..);
        let sides: Vec<_> = named.map(|((name, ttft), second)| at(name, ttft, second)).collect();
        let trend = Compared::new(&sides, &[], &[]).unwrap().trend.unwrap();
        trend.lines.iter().any(|line| line.drifts)
    };
    // The interval of this slope excludes 0, as is shown: its p-value is 0.034. That of the next is 0.084.
    assert!(drifts([100, 104, 105, 111]) && !drifts([100, 106, 105, 111]));
    assert!(!drifts([100, 110, 120, 130]), "nothing says how much the figures spread about the line");
}

/// Compares numpy's p75 of 100 four times, which is 100. A usual percentile that was asked for is one of the figures,
/// once.
#[test]
fn percentiles_that_a_side_was_run_to_show_are_compared() {
    let asking = |percentiles: &[f64]| {
        let percentiles = percentiles.to_vec();
        move |ttft_ms| {
            let mut log = log(ttft_ms);
            log.header.percentiles.clone_from(&percentiles);
            let summary = summarise(&log, &[]);
            ComparedSide::of_run(ttft_ms.to_string(), &log, summary, [].iter())
        }
    };
    let compared = Compared::new(&[asking(&[75.0, 90.0])(100), asking(&[75.0])(200)], &[], &[]).unwrap();
    let asked = row(&compared, "p75 ttft");
    assert_eq!((asked.baseline.value, asked.change.unwrap().value), (Some(100.0), 1.0));
    assert_eq!(row(&compared, "p90 ttft").other.value, Some(200.0), "every run has it");
    let names: Vec<_> = compared.against[0].rows.iter().map(|row| row.figure.to_string()).collect();
    let ttft: Vec<_> = names.iter().filter(|name| name.ends_with("ttft")).collect();
    assert_eq!(ttft, ["p50 ttft", "p75 ttft", "p90 ttft", "p95 ttft", "p99 ttft"]);
    let one_sided = Compared::new(&[asking(&[])(100), asking(&[99.5])(200)], &[], &[]).unwrap();
    assert!(one_sided.against[0].rows.iter().all(|row| row.figure.to_string() != "p99.5 ttft"));
}
