//! Every rule with evidence made by hand, the limits and the sentence that follow from it, and whole runs.

mod cases;

use super::audit::Audit;
use super::evidence::{
    ArrivalEvidence, ArrivalShape, Evidence, LatencyEvidence, LengthRange, PercentileEvidence, ResultSource,
    WarmUpEvidence,
};
use crate::analysis::figures::{Metric, Quantile};
use crate::analysis::judgements::{Checklist, ChecklistItem, ChecklistRule, Status, VerdictOutcome};
use crate::analysis::requests::LoadForm;
use crate::analysis::summarise::summarise;
use crate::analysis::test_runs::{record, run};
use crate::record::{CachePreparation, Repeat};
use crate::workload::{ArrivalPattern, Purpose};

fn latency(metric: Metric, n: u64) -> LatencyEvidence {
    let percentile = |quantile, value_ms| PercentileEvidence {
        quantile,
        value_ms,
        interval: (Some(value_ms * 0.9), Some(value_ms * 1.1)),
    };
    let percentiles = vec![percentile(Quantile::P50, 100.0), percentile(Quantile::P99, 400.0)];
    LatencyEvidence { metric, n: Some(n), worth: None, percentiles }
}

fn arrivals(shape: ArrivalShape) -> Option<ArrivalEvidence> {
    Some(ArrivalEvidence { shape, words: "poisson, 10.0 requests/s".to_owned(), fault: None })
}

/// A result in which all is as it should be.
fn whole() -> Evidence {
    let known = |name, value: &str| (name, Some(value.to_owned()));
    Evidence {
        outcome: Some(VerdictOutcome::Valid),
        prompt_tokens: Some(LengthRange { min: 16.0, p50: 256.0, p95: 1_024.0, max: 4_096.0 }),
        answer_tokens: Some(LengthRange { min: 1.0, p50: 128.0, p95: 400.0, max: 512.0 }),
        arrivals: arrivals(ArrivalShape::LikeTraffic),
        load: Some(LoadForm::Open),
        warm_up: Some(WarmUpEvidence { requests: 50, seconds: Some(5.0) }),
        window_s: Some(120.0),
        sent: Some(1_200),
        failed: Some(3),
        traffics: Some(2),
        prefix_cache: Some("emptied before the run".to_owned()),
        judged_answers: Some((60, 58)),
        runs: 5,
        joined_runs: 5,
        loads: 4,
        capacity: None,
        latencies: vec![latency(Metric::Ttft, 1_197), latency(Metric::Tpot, 1_197)],
        output_tokens_per_s: Some(1_280.0),
        model: Some("llama".to_owned()),
        engine: Some("vllm 0.11.0".to_owned()),
        hardware: Some("h100".to_owned()),
        gpus: Some(2),
        serving: vec![known("model", "llama"), known("precision", "bf16")],
        ..Evidence::default()
    }
}

/// The item of a rule; `None` where it does not apply.
fn item(checklist: &Checklist, rule: ChecklistRule) -> Option<&ChecklistItem> {
    checklist.items.iter().find(|item| item.rule == rule)
}

/// Judges the whole result by the rule after this change.
fn judged(rule: ChecklistRule, change: impl FnOnce(&mut Evidence)) -> (Status, String) {
    let mut evidence = whole();
    change(&mut evidence);
    let checklist = Checklist::from_evidence(&evidence).unwrap();
    let item = item(&checklist, rule).unwrap();
    assert_eq!(item.cure.is_none(), item.standing == Met, "{item:?}");
    (item.standing, item.sentence.clone())
}

fn is(rule: ChecklistRule, standing: Status, words: &str, change: impl FnOnce(&mut Evidence)) {
    let (found, sentence) = judged(rule, change);
    assert_eq!(found, standing, "{sentence}");
    assert!(sentence.contains(words), "`{words}` is not in `{sentence}`");
}

use ChecklistRule as Rule;
use Status::{Met, Missed as NotMet, Undecided as NotReported};

#[test]
fn a_result_that_does_all_meets_all() {
    let checklist = Checklist::from_evidence(&whole()).unwrap();
    assert_eq!((checklist.met, checklist.items.len()), (15, 15), "{checklist:?}");
}

#[test]
fn lengths_vary_and_are_not_all_short() {
    is(Rule::Lengths, Met, "prompts of 16 to 4,096 tokens (p50 256, p95 1,024)", |_| {});
    let fixed = Some(LengthRange { min: 100.0, p50: 100.0, p95: 100.0, max: 100.0 });
    is(Rule::Lengths, NotMet, "answers of 100 tokens each: p95 ÷ p50 of answers 1.00; limit: 1.5", |of| {
        of.answer_tokens = fixed;
    });
    let short = Some(LengthRange { min: 8.0, p50: 30.0, p95: 90.0, max: 300.0 });
    is(Rule::Lengths, NotMet, "no prompt has 512 tokens", |of| of.prompt_tokens = short);
    is(Rule::Lengths, NotReported, "answers of unknown lengths", |of| of.answer_tokens = None);
    assert_eq!(LengthRange::from_lengths([]), None);
    let spread = LengthRange::from_lengths([1, 2, 3]).unwrap();
    assert_eq!((spread.min, spread.p50, spread.max), (1.0, 2.0, 3.0));
}

#[test]
fn arrivals_are_at_random_and_the_loop_is_open() {
    is(Rule::Arrivals, Met, "poisson, 10.0 requests/s", |_| {});
    for shape in [ArrivalShape::Even, ArrivalShape::AtOnce, ArrivalShape::Closed] {
        is(Rule::Arrivals, NotMet, "poisson", |of| of.arrivals = arrivals(shape));
    }
    is(Rule::Arrivals, NotMet, "gaps repeat", |of| of.arrivals.as_mut().unwrap().fault = Some("gaps repeat"));
    is(Rule::Arrivals, NotReported, "not reported", |of| of.arrivals = None);
    is(Rule::OpenLoop, Met, "at its moment", |of| of.load = Some(LoadForm::PartlyOpen));
    is(Rule::OpenLoop, NotMet, "closed loop", |of| of.load = Some(LoadForm::Closed));
    is(Rule::OpenLoop, NotMet, "at most 16 in flight", |of| of.uncounted_cap = Some(16));
    is(Rule::OpenLoop, NotReported, "not reported", |of| of.load = None);
}

#[test]
fn the_server_is_warm_and_the_window_long_enough() {
    let warm = |requests, seconds| {
        move |of: &mut Evidence| of.warm_up = Some(WarmUpEvidence { requests, seconds: Some(seconds) })
    };
    is(Rule::WarmUp, Met, "50 requests in 5 s before the window", |_| {});
    is(Rule::WarmUp, Met, "9 requests in 30 s", warm(9, 30.0));
    is(Rule::WarmUp, NotMet, "49 requests in 5 s before the window; limit: 50 requests, or 30 s", warm(49, 5.0));
    is(Rule::WarmUp, NotMet, "0 requests before the window", warm(0, 0.0));
    is(Rule::WarmUp, NotReported, "not reported", |of| of.warm_up = None);
    is(Rule::Window, Met, "2 min and 1,197 samples", |_| {});
    is(Rule::Window, NotMet, "59 s and 1,197 samples", |of| of.window_s = Some(59.0));
    let few = |of: &mut Evidence| {
        of.window_s = Some(60.0);
        of.latencies[0].n = Some(500);
    };
    is(Rule::Window, NotMet, "1 min and 500 samples; p99 needs 1,000 independent samples; limit: 1 min", few);
    let timed = "1 min and 500 samples; p99 needs 1,000 independent samples, about 2 min at this rate; limit: 1 min";
    is(Rule::Window, NotMet, timed, |of| {
        few(of);
        of.window_for_p99_s = Some(120.0);
    });
    is(Rule::Window, NotReported, "not reported", |of| of.window_s = None);
}

#[test]
fn traffic_cache_and_answers_are_looked_at() {
    is(Rule::TrafficMix, Met, "2 classes, tenants or models", |_| {});
    is(Rule::TrafficMix, NotMet, "noisy neighbours", |of| of.traffics = Some(1));
    is(Rule::TrafficMix, NotReported, "no classes", |of| of.traffics = None);
    is(Rule::PrefixCache, Met, "emptied", |_| {});
    is(Rule::PrefixCache, NotReported, "not known", |of| of.prefix_cache = None);
    is(Rule::QualityGate, Met, "58 of 60 judged answers passed", |_| {});
    is(Rule::QualityGate, NotMet, "no answer was judged", |of| of.judged_answers = Some((0, 0)));
    is(Rule::QualityGate, NotMet, "none of 60 judged answers passed", |of| of.judged_answers = Some((60, 0)));
    is(Rule::QualityGate, NotReported, "not reported", |of| of.judged_answers = None);
}

#[test]
fn failures_runs_and_loads_are_counted() {
    is(Rule::Errors, Met, "3 of 1,200 requests failed (0.250 %)", |_| {});
    is(Rule::Errors, NotMet, "120 of 1,200 requests failed (10 %); limit: 1 %", |of| of.failed = Some(120));
    is(Rule::Errors, NotReported, "not counted", |of| of.failed = None);
    is(Rule::Repeats, Met, "5 runs", |_| {});
    is(Rule::Repeats, NotMet, "one run", |of| of.runs = 1);
    is(Rule::Repeats, NotMet, "2 runs; limit: 3", |of| of.runs = 2);
    is(Rule::SeveralLoads, Met, "4 loads", |_| {});
    is(Rule::SeveralLoads, NotMet, "one load", |of| of.loads = 1);
    is(Rule::SeveralLoads, NotMet, "2 loads; limit: 3", |of| of.loads = 2);
}

#[test]
fn figures_of_both_phases_have_a_tail() {
    is(Rule::TailLatency, Met, "p50, p99 of TTFT", |_| {});
    is(Rule::TailLatency, NotMet, "only p50 of TTFT", |of| of.latencies[0].percentiles.truncate(1));
    is(Rule::TailLatency, NotMet, "no percentile of TTFT", |of| of.latencies[0].percentiles.clear());
    is(Rule::TailLatency, NotReported, "no latency", |of| of.latencies.clear());
    is(Rule::BothPhases, Met, "TTFT, TPOT or ITL, output tokens/s", |_| {});
    is(Rule::BothPhases, NotMet, "only TTFT, output tokens/s: TPOT or ITL missing", |of| {
        of.latencies.truncate(1);
    });
    is(Rule::BothPhases, NotMet, "output tokens/s missing", |of| of.output_tokens_per_s = None);
}

#[test]
fn the_system_is_named() {
    is(Rule::Hardware, Met, "2 × h100: 640 output tokens/s each", |_| {});
    is(Rule::Hardware, NotReported, "h100; how many is not reported", |of| of.gpus = None);
    is(Rule::Hardware, NotReported, "no GPU is named", |of| of.hardware = None);
    is(Rule::Serving, Met, "model llama, precision bf16", |_| {});
    is(Rule::Serving, NotReported, "model llama; not reported: precision", |of| of.serving[1].1 = None);
    // A mock has neither.
    let mock = Checklist::from_evidence(&Evidence { source: ResultSource::Mock, ..whole() }).unwrap();
    assert_eq!((item(&mock, Rule::Hardware), item(&mock, Rule::Serving)), (None, None));
    assert_eq!(mock.items.len(), 13);
    for source in [ResultSource::Smoke, ResultSource::Simulation] {
        assert_eq!(Checklist::from_evidence(&Evidence { source, ..whole() }), None);
    }
}

#[test]
fn the_cures_of_another_tool_take_the_place_of_ours() {
    let cures = vec![(Rule::WarmUp, "--num-warmups 50")];
    let checklist = Checklist::from_evidence(&Evidence { warm_up: None, cures, ..whole() }).unwrap();
    assert_eq!(item(&checklist, Rule::WarmUp).unwrap().cure.as_deref(), Some("--num-warmups 50"));
}

fn sentence(change: impl FnOnce(&mut Evidence)) -> Option<String> {
    let mut evidence = whole();
    change(&mut evidence);
    Audit::new("a result", &evidence).strongest_sentence
}

#[test]
fn the_strongest_sentence_is_what_the_data_bears() {
    assert_eq!(
        sentence(|_| {}).unwrap(),
        "1,280 output tokens/s at p99 TTFT < 440 ms (n = 1,197 in each run, 95 % interval 360 to 440 ms), poisson, \
         10.0 requests/s, 3 of 1,200 requests failed and not counted, llama by vllm 0.11.0 on 2 × h100, on average \
         over 5 runs of 2 min each"
    );
    let few = sentence(|of| of.latencies[0].n = Some(300)).unwrap();
    assert!(few.contains("at p50 TTFT < 110 ms (n = 300"), "{few}");
    // Enough for an indicative p99, and the limits say that there is none.
    let indicative = sentence(|of| of.latencies[0].n = Some(700)).unwrap();
    assert!(indicative.contains("at p50 TTFT < 110 ms (n = 700"), "{indicative}");
    let open = sentence(|of| {
        of.latencies[0].percentiles.iter_mut().for_each(|known| known.interval = (None, None));
    });
    assert!(open.unwrap().contains("at p99 TTFT of about 400 ms (n = 1,197 in each run, no interval)"));
    let unnamed = sentence(|of| (of.hardware, of.engine, of.model) = (None, None, None)).unwrap();
    assert!(unnamed.contains("an unnamed model by an unnamed engine on unnamed hardware"), "{unnamed}");
    let closed = sentence(|of| of.load = Some(LoadForm::Closed)).unwrap();
    assert!(closed.starts_with("In a closed loop, whose rate the server sets"), "{closed}");
    let overloaded = sentence(|of| of.outcome = Some(VerdictOutcome::Overloaded)).unwrap();
    assert!(overloaded.starts_with("While the server did not keep up: 1,280 output tokens/s without a latency"));
    for bears_none in [
        sentence(|of| of.outcome = Some(VerdictOutcome::Invalid)),
        sentence(|of| of.source = ResultSource::Simulation),
        sentence(|of| of.source = ResultSource::Smoke),
        sentence(|of| (of.latencies, of.output_tokens_per_s) = (Vec::new(), None)),
    ] {
        assert_eq!(bears_none, None);
    }
}

#[test]
fn what_cannot_be_concluded_has_its_reason() {
    let limits = |change: fn(&mut Evidence)| {
        let mut evidence = whole();
        change(&mut evidence);
        Audit::new("a result", &evidence).cannot_conclude
    };
    assert_eq!(limits(|of| of.capacity = Some("68.0/s".to_owned())), Vec::<String>::new());
    let has = |change: fn(&mut Evidence), words: &str| {
        let found = limits(change);
        assert!(found.iter().any(|limit| limit == words), "`{words}` is not in {found:?}");
    };
    has(|of| of.loads = 1, "no capacity: one load only");
    has(|of| of.latencies[0].n = Some(300), "no p99: 300 samples, and p99 needs 1,000 independent samples");
    has(|of| of.latencies[0].n = Some(700), "no p99: 700 samples, and p99 needs 1,000 independent samples");
    has(|of| of.latencies[0].n = Some(19), "no p90, p95, p99: 19 samples, and p90 needs 64 independent samples");
    has(|of| of.load = Some(LoadForm::Closed), "no saturation: closed loop");
    has(|of| of.hardware = None, "not comparable: hardware not reported");
    has(|of| of.serving[1].1 = None, "not repeatable: precision not reported");
    has(|of| of.runs = 1, "no variance: one run");
    has(|of| of.failed = Some(120), "no latency of all requests: the latencies leave out the 10 % that failed");
    has(|of| of.source = ResultSource::Mock, "nothing about a real server: Skyline's mock answered");
    let invalid = limits(|of| {
        (of.outcome, of.reason) = (Some(VerdictOutcome::Invalid), Some("it sent late".to_owned()));
    });
    assert_eq!(invalid, ["nothing: the run is INVALID (it sent late)"]);
}

/// Judges the example of the articles' anti-patterns. It has fixed lengths, constant arrivals, no warm-up, six seconds,
/// one tenant and no checks.
#[test]
fn a_valid_run_that_measures_little_meets_little() {
    let records = (0..60).map(|i| record(i).sent_at(i * 100, i * 100, i * 100 + 1).paced(i * 100 + 50, 10, 11));
    let mut log = run(6_000, records.map(|built| built.usage(100, 11).build()).collect());
    let summary = summarise(&log, &[]);
    assert_eq!(summary.verdict.outcome, VerdictOutcome::Valid, "{:?}", summary.verdict.reasons);
    let checklist = summary.checklist.unwrap();
    let standing = |rule| item(&checklist, rule).map(|item| item.standing);
    let not_met = [
        Rule::Lengths,
        Rule::Arrivals,
        Rule::WarmUp,
        Rule::Window,
        Rule::TrafficMix,
        Rule::QualityGate,
        Rule::Repeats,
        Rule::SeveralLoads,
    ];
    for rule in not_met {
        assert_eq!(standing(rule), Some(NotMet), "{rule:?}");
    }
    assert_eq!((standing(Rule::Hardware), standing(Rule::Serving)), (Some(NotReported), Some(NotReported)));
    let met = [Rule::OpenLoop, Rule::PrefixCache, Rule::Errors, Rule::TailLatency, Rule::BothPhases];
    assert_eq!(checklist.met, met.len() as u64);
    assert!(met.iter().all(|rule| standing(*rule) == Some(Met)), "{checklist:?}");
    // What the log says counts: requests before the run, an emptied cache, a salt that was typed.
    log.header.warming_requests = Some(50);
    log.header.repeat = Some(Repeat { number: 1, of: 5, first_seed: 7 });
    log.header.workload.arrival = ArrivalPattern::Poisson { rate_per_s: 10.0 };
    let summary = summarise(&log, &[]);
    let checklist = Checklist::from_evidence(&Evidence::of_run(&log, &summary)).unwrap();
    for rule in [Rule::WarmUp, Rule::Arrivals] {
        assert_eq!(item(&checklist, rule).unwrap().standing, Met, "{rule:?}");
    }
    assert_eq!(item(&checklist, Rule::Repeats).unwrap().standing, NotMet, "one of five is one run");
    log.header.command.push("--salt".to_owned());
    let cache = |log: &_| Evidence::of_run(log, &summarise(log, &[])).prefix_cache;
    assert_eq!(cache(&log), None);
    log.header.cache = Some(CachePreparation { emptied: true, warmed_prefixes: 0 });
    assert_eq!(cache(&log).as_deref(), Some("emptied before the run"));
    log.header.workload.purpose = Purpose::Smoke;
    assert_eq!(summarise(&log, &[]).checklist, None);
}

#[test]
fn repeats_bear_the_mean_of_their_runs_and_the_interval_across_them() {
    let of = |ttft: u64| {
        let records = (0..400).map(|i| {
            let at = i * 100;
            record(i).sent_at(at, at, at + 1).paced(at + ttft + (i * 37) % 50, 10, 11).usage(100, 11).build()
        });
        let mut log = run(40_000, records.collect());
        log.header.repeat = Some(Repeat { number: 1, of: 3, first_seed: 7 });
        log
    };
    let logs = [of(100), of(110), of(120)];
    let runs: Vec<_> = logs.iter().map(|log| summarise(log, &[])).collect();
    let evidence = Evidence::of_run(&logs[0], &runs[0]).across(&runs.iter().collect::<Vec<_>>());
    assert_eq!((evidence.runs, evidence.joined_runs, evidence.sent), (3, 3, Some(1_200)));
    let sentence = Audit::new("repeats", &evidence).strongest_sentence.unwrap();
    assert!(sentence.contains("on average over 3 runs of 40 s each"), "{sentence}");
    assert!(sentence.contains("TTFT < "), "{sentence}");
}
