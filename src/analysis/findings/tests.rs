//! Runs built so that one piece of advice, and no other of its kind, is due.

mod cases;

use crate::analysis::judgements::FindingKind;
use crate::analysis::summarise::summarise;
use crate::analysis::summary::run::Summary;
use crate::analysis::test_runs::{class, record, run};
use crate::record::{
    ClientFacts, Delays, Failure, FailureKind, LostConnection, Phase, RequestRecord, ServerCounters, SharedPrefix,
    StampSource,
};
use crate::workload::{
    ArrivalPattern, Dataset, DatasetFindings, DatasetFormat, Distribution, Priority, PromptSource, RateStage,
    SharedPrefixes, Slo, Spike, ThinkTime, Trace, TraceFindings, TraceFormat,
};

fn sentence(summary: &Summary, kind: FindingKind) -> Option<String> {
    summary.findings.iter().find(|finding| finding.kind == kind).map(|finding| finding.sentence.clone())
}

#[test]
fn what_was_cut_off_took_longer_than_it_is_known_to() {
    let mut log = run(1_000, vec![record(0).sent_at(0, 0, 0).paced(100, 1, 1).build()]);
    log.records.push(record(1).sent_at(900, 900, 900).censored(5_000).build());
    log.header.plan.measured_requests = 2;
    let said = sentence(&summarise(&log, &[]), FindingKind::ShortWindow).unwrap();
    assert_eq!(said, "the slowest request took over 4.1 s, longer than the window of 1 s");
    log.records[1] = record(1).sent_at(900, 900, 900).paced(5_000, 1, 1).build();
    let said = sentence(&summarise(&log, &[]), FindingKind::ShortWindow).unwrap();
    assert_eq!(said, "the slowest request took 4.1 s, longer than the window of 1 s");
}

/// Summarises a minute with one request in 100 ms. Each has its first token after `wait(i)` and its end after `stay(i)`
/// ms.
fn minute(wait: impl Fn(u64) -> u64, stay: impl Fn(u64) -> u64) -> Summary {
    let records = (0..600).map(|i| {
        let at = i * 100;
        record(i).sent_at(at, at, at).chunks(&[(at + wait(i), 1), (at + stay(i), 1)]).build()
    });
    summarise(&run(60_000, records.collect()), &[])
}

#[test]
fn what_drifts_alone_is_told() {
    // Steady, but for a trifle that makes no straight line.
    let steady = |i: u64| 500 + i % 7;
    let level = minute(steady, |_| 2_000);
    assert_eq!([FindingKind::Drift, FindingKind::NotSettled].map(|kind| sentence(&level, kind)), [None, None]);
    // First tokens come later and later, in answers of the same length.
    let said = sentence(&minute(|i| 300 + i + i % 7, |_| 2_000), FindingKind::Drift).unwrap();
    assert!(
        said.starts_with(
            "over the window of 1 min the time to first token grew from 332 ms to 872 ms, surely by over 10 %"
        ),
        "{said}"
    );
    // Answers become longer, first tokens do not: 10 are there at first and 16 at last.
    let said = sentence(&minute(steady, |i| 1_000 + i + i % 7), FindingKind::Drift).unwrap();
    assert!(said.contains("the requests waiting or in flight grew from ") && said.contains("not settled"), "{said}");
    // Both, and that is an overload.
    let both = minute(|i| 300 + i * 8, |i| 1_000 + i * 8);
    assert!(both.verdict.is_overloaded());
    assert_eq!([FindingKind::Drift, FindingKind::NotSettled].map(|kind| sentence(&both, kind)), [None, None]);
}

#[test]
fn a_window_that_never_settles_is_told() {
    let said = sentence(&minute(|i| 500 + i % 7, |_| 90_000), FindingKind::NotSettled).unwrap();
    assert!(
        said.starts_with("the whole window of 1 min looks like warm-up: 150 requests present in its first half"),
        "{said}"
    );
}

#[test]
fn a_warm_up_is_advised_that_leaves_something_of_the_run() {
    // One more of 64 users each `pause` ms, each of whom asks again 2.6 of those later, for `length` ms.
    let advice = |pause: u64, length: u64| {
        let stay = pause * 26 / 10;
        let of_user = |user: u64| (user * pause..length + stay).step_by(usize::try_from(stay).unwrap());
        let mut moments: Vec<u64> = (0..64).flat_map(of_user).collect();
        moments.sort_unstable();
        let records = (0..).zip(moments).map(|(i, at)| {
            let phase = if at < length { Phase::Measured } else { Phase::Cooldown };
            record(i).phase(phase).sent_at(at, at, at).chunks(&[(at + stay, 1)]).build()
        });
        let mut log = run(length, records.collect());
        let ramp_s = 64.0 * pause as f64 / 1e3;
        log.header.workload.arrival = ArrivalPattern::Users { users: 64, think_time_s: ThinkTime::default(), ramp_s };
        let findings = summarise(&log, &[]).findings;
        let found = findings.into_iter().find(|finding| finding.kind == FindingKind::WarmUp).unwrap();
        assert!(found.sentence.contains("(MSER-5); 64 users begin over "), "{}", found.sentence);
        found.cure
    };
    assert_eq!(advice(50, 14_000), "lengthen the warm-up: --warmup 4s");
    assert_eq!(advice(5, 800), "run for several times as long (or more --requests), with --warmup 1s");
}

#[test]
fn a_proxy_is_reported() {
    let mut log = run(1_000, vec![record(0).sent_at(0, 0, 0).paced(100, 1, 1).build()]);
    assert_eq!(sentence(&summarise(&log, &[]), FindingKind::Proxy), None);
    log.header.engines[0].proxy = Some("http://proxy:3128".to_owned());
    let said = sentence(&summarise(&log, &[]), FindingKind::Proxy).unwrap();
    assert!(said.contains("the HTTP proxy http://proxy:3128") && said.contains("every latency"), "{said}");
}

#[test]
fn one_is_said_as_one() {
    let mut log = run(1_000, vec![record(0).sent_at(0, 0, 0).paced(100, 1, 1).build()]);
    log.records[0].opened_connection = true;
    let said = sentence(&summarise(&log, &[]), FindingKind::ColdConnections).unwrap();
    assert!(said.starts_with("1 request (100 %)"), "{said}");
}

#[test]
fn who_closes_connections_is_blamed_for_it() {
    let found = |engine: &str, kind, mark: fn(&mut RequestRecord)| {
        let records = (0..50).map(|i| record(i).sent_at(i * 20, i * 20, i * 20).paced(i * 20 + 9, 1, 1).build());
        let mut log = run(1_000, records.collect());
        log.header.engines[0].engine = engine.to_owned();
        mark(&mut log.records[7]);
        let finding = summarise(&log, &[]).findings.into_iter().find(|finding| finding.kind == kind)?;
        Some(format!("{} {}", finding.sentence, finding.cure))
    };
    let opened = |record: &mut RequestRecord| record.opened_connection = true;
    let said = found("vllm", FindingKind::ColdConnections, opened).unwrap();
    assert!(said.contains("none was ready") && said.contains("nothing is wrong with the server"), "{said}");
    assert_eq!(found("llamacpp", FindingKind::ColdConnections, opened), None, "this client closes them");
    let records = (0..50).map(|i| record(i).sent_at(i * 20, i * 20, i * 20).paced(i * 20 + 9, 1, 1).build());
    let mut few = run(1_000, records.collect());
    few.header.limits.connections_per_host = Some(2);
    opened(&mut few.records[7]);
    let findings = summarise(&few, &[]).findings;
    let said = &findings.iter().find(|finding| finding.kind == FindingKind::ColdConnections).unwrap().sentence;
    assert!(said.contains("those kept to each address were busy"), "{said}");
    let closed = |record: &mut RequestRecord| {
        (record.opened_connection, record.lost_connection) = (true, Some(LostConnection::Idle));
    };
    for (engine, named) in [("vllm", true), ("sglang", false)] {
        let said = found(engine, FindingKind::ColdConnections, closed).unwrap();
        assert!(said.contains("the server closes them") && said.contains("keep-alive timeout"), "{said}");
        assert_eq!(said.contains("VLLM_HTTP_TIMEOUT_KEEP_ALIVE"), named, "{said}");
    }
}

#[test]
fn failures_that_took_the_load_away_after_the_horizon_are_told() {
    let failed = |failed: u64| {
        let mut records = vec![record(0).sent_at(0, 0, 0).paced(100, 1, 1).build()];
        records.extend((1..=200).map(|i| {
            let request = record(i).phase(Phase::Cooldown).sent_at(1_000 + i, 1_000 + i, 1_000 + i);
            let failure = Failure::new(FailureKind::HttpStatus(503), "busy");
            if i <= failed { request.failed(1_300, failure).build() } else { request.censored(1_500).build() }
        }));
        summarise(&run(1_000, records), &[])
    };
    let said = sentence(&failed(3), FindingKind::CooldownFailures).unwrap();
    assert!(
        said.starts_with(
            "3 of 200 requests sent as cool-down failed (1.50 %), mostly http 503 (3), such as: busy; limit: 1 %"
        ),
        "{said}"
    );
    assert_eq!(failed(3).failures.error_rate, Some(0.0));
    assert_eq!(sentence(&failed(2), FindingKind::CooldownFailures), None);
}

#[test]
fn a_window_that_is_unlike_its_pattern_is_told() {
    let advice = |arrival: ArrivalPattern, window_ms: u64| {
        let mut log = run(window_ms, vec![record(0).sent_at(0, 0, 0).paced(100, 1, 1).build()]);
        log.header.workload.arrival = arrival;
        sentence(&summarise(&log, &[]), FindingKind::UnevenArrivals)
    };
    // 8 s at 2/s and 2 s at 20/s: 5.6/s over whole periods, (3 × 16 + 2 × 40) / 28 = 4.57/s until 28 s.
    let bursts = ArrivalPattern::Bursts { base_rate_per_s: 2.0, burst_rate_per_s: 20.0, base_s: 8.0, burst_s: 2.0 };
    assert_eq!(advice(bursts.clone(), 30_000), None);
    let said = advice(bursts, 28_000).unwrap();
    assert!(said.contains("4.57 requests/s, and the pattern's mean is 5.60; limit: 10 %"), "{said}");
    // A ramp from 0 to 10/s over 10 s: 5/s, but 2.5/s in its first half.
    let ramp = RateStage { duration_s: 10.0, from_rate_per_s: 0.0, to_rate_per_s: 10.0 };
    let ramp = ArrivalPattern::Stages { stages: vec![ramp] };
    assert_eq!(advice(ramp.clone(), 10_000), None);
    assert!(advice(ramp, 5_000).unwrap().contains("2.50 requests/s, and the pattern's mean is 5.00"));
    assert_eq!(advice(ArrivalPattern::Poisson { rate_per_s: 100.0 }, 28_000), None);
    // A spike is not like its base rate; but the window should hold the whole of it.
    let spike = Spike { at_s: 10.0, rate_per_s: 50.0, rise_s: 1.0, hold_s: 3.0, fall_s: 1.0 };
    let spikes = ArrivalPattern::Spikes { base_rate_per_s: 5.0, spikes: vec![spike] };
    assert_eq!(advice(spikes.clone(), 15_000), None);
    assert!(
        advice(spikes, 14_000).unwrap().contains("the spike from 10 s to 15 s is not completely inside the window")
    );
}

#[test]
fn a_window_that_is_unlike_the_pattern_of_a_class_names_the_class() {
    let advice = |window_ms: u64| {
        let mut log = run(window_ms, vec![record(0).sent_at(0, 0, 0).paced(100, 1, 1).build()]);
        let spike = Spike { at_s: 300.0, rate_per_s: 20.0, rise_s: 10.0, hold_s: 60.0, fall_s: 0.0 };
        let ramp = RateStage { duration_s: 370.0, from_rate_per_s: 1.0, to_rate_per_s: 19.0 };
        let classes = vec![
            ArrivalPattern::Poisson { rate_per_s: 2.0 },
            ArrivalPattern::Spikes { base_rate_per_s: 2.0, spikes: vec![spike] },
            ArrivalPattern::Stages { stages: vec![ramp] },
        ];
        log.header.workload.arrival = ArrivalPattern::ByClass { classes };
        log.header.workload.classes =
            ["chat", "nightly", "growing"].map(|name| class(name, &[(Priority::High, Slo::default())])).into();
        sentence(&summarise(&log, &[]), FindingKind::UnevenArrivals)
    };
    let said = advice(60_000).unwrap();
    assert!(
        said.starts_with("of the class \"nightly\": the spike from 5 min to 6 min 10 s is not completely"),
        "{said}"
    );
    assert!(said.ends_with("; the same holds for \"growing\""), "{said}");
    assert_eq!(advice(370_000), None);
}

#[test]
fn bounds_that_can_be_measured_are_not_complained_of() {
    let mut log = run(1_000, vec![record(0).sent_at(0, 0, 0).whole_answer(100, 1).build()]);
    log.header.engines[0].streamed = false;
    let bounds = Slo { e2e_ms: Some(500.0), ..Slo::default() };
    log.header.workload.classes = vec![class("chat", &[(Priority::High, bounds)])];
    let summary = summarise(&log, &[]);
    assert_eq!(sentence(&summary, FindingKind::UnmeasurableSlo), None);
    assert_eq!(summary.slo.slo_attainment, Some(1.0));
}

#[test]
fn a_warm_cache_has_another_cure_where_a_dataset_is_sent_as_it_stands() {
    let mut request = record(0).sent_at(0, 0, 0).paced(100, 10, 10).usage(100, 10).build();
    request.usage.as_mut().unwrap().cached_tokens = Some(50);
    let mut log = run(1_000, vec![request]);
    let said = sentence(&summarise(&log, &[]), FindingKind::WarmCache).unwrap();
    assert!(said.contains("although every prompt is salted"), "{said}");
    let found = DatasetFindings {
        sessions: None,
        bytes: 9,
        sha256: "ab".to_owned(),
        revision: None,
        files: Vec::new(),
        rows: 1,
        filtered_rows: 0,
        bad_rows: 0,
        mean_input_tokens: 100.0,
        mean_output_tokens: None,
        tags: Vec::new(),
    };
    let taken = |salt| {
        let dataset = Dataset::new("rows.csv".to_owned(), DatasetFormat::Csv);
        PromptSource::Dataset(Dataset { salt, found: Some(Box::new(found.clone())), ..dataset })
    };
    log.header.workload.classes[0].prompt = taken(false);
    let said = sentence(&summarise(&log, &[]), FindingKind::WarmCache).unwrap();
    assert!(said.contains("50 % of the prompt tokens") && said.contains("sent unchanged"), "{said}");
    log.header.workload.classes[0].prompt = taken(true);
    let said = sentence(&summarise(&log, &[]), FindingKind::WarmCache).unwrap();
    assert!(said.contains("although every prompt is salted"), "{said}");
}

#[test]
fn a_cache_that_does_not_do_as_planned_is_told() {
    // Ten requests of 100 tokens on one prefix of 48: nine of them find three blocks, 43.2 %.
    let records = (0..10).map(|i| {
        let mut record = record(i).sent_at(i, i, i).paced(100 + i, 1, 1).usage(100, 1).build();
        record.prefix = Some(SharedPrefix { number: 0, tokens: 48 });
        record
    });
    let mut log = run(1_000, records.collect());
    let tokens = Distribution::Constant { value: 48 };
    log.header.workload.classes[0].shared_prefix = Some(SharedPrefixes { count: 1, tokens, zipf: 0.0, warm: 0.0 });
    let mut advice = |hits| {
        let counters =
            ServerCounters { cache_queries: Some(1_000), cache_hits: Some(hits), ..ServerCounters::default() };
        log.footer.as_mut().unwrap().server = Some(counters);
        let summary = summarise(&log, &[]);
        (sentence(&summary, FindingKind::LostPrefixes), sentence(&summary, FindingKind::WarmCache))
    };
    assert_eq!(advice(432), (None, None));
    assert_eq!(advice(383), (None, None));
    assert_eq!(advice(481), (None, None));
    let lost = "38.1 % of the prompt tokens came from a prefix cache, and 43.2 % are shared; limit: 5 % less";
    assert_eq!(advice(381), (Some(lost.to_owned()), None));
    let warm = "48.3 % of the prompt tokens came from a prefix cache, and at most 43.2 % are shared; limit: 5 % more";
    assert_eq!(advice(483), (None, Some(warm.to_owned())));
}

#[test]
fn a_warm_cache_is_no_finding_where_nobody_knows_what_is_shared() {
    let mut request = record(0).sent_at(0, 0, 0).paced(100, 10, 10).usage(100, 10).build();
    request.usage.as_mut().unwrap().cached_tokens = Some(50);
    let mut log = run(1_000, vec![request]);
    let mut advice = |too_many_blocks| {
        let found = TraceFindings {
            format: TraceFormat::Mooncake,
            requests: 1,
            ends_s: 1.0,
            warmup_s: None,
            bin_s: 1.0,
            arrivals: vec![1],
            peak_per_s: 1,
            same_moment: 0,
            input_tokens: 100.0,
            output_tokens: 10.0,
            reusable_share: None,
            too_many_blocks,
            kinds: Vec::new(),
            skipped_lines: 0,
            nearest_drawn: 0,
            reordered: 0,
        };
        let trace = Trace { found: Some(found), ..Trace::whole("a.jsonl") };
        log.header.workload.arrival = ArrivalPattern::Trace(Box::new(trace));
        sentence(&summarise(&log, &[]), FindingKind::WarmCache)
    };
    assert!(advice(false).is_some(), "no prompt is like another");
    assert_eq!(advice(true), None);
}

#[test]
fn answers_of_other_lengths_are_laid_to_the_tokenizer_that_counted_them() {
    let mut answered = record(0).sent_at(0, 0, 0).paced(100, 10, 10).build();
    answered.output_tokens_asked = 10;
    let advice = |answered: &RequestRecord| {
        let summary = summarise(&run(1_000, vec![answered.clone()]), &[]);
        let finding = summary.findings.iter().find(|finding| finding.kind == FindingKind::OutputLength)?;
        Some((finding.sentence.clone(), finding.cure.clone()))
    };
    assert_eq!(advice(&answered), None);
    answered.count(13);
    let (sentence, cure) = advice(&answered).unwrap();
    assert!(sentence.contains("30 % longer than requested (13 tokens for 10, by the tokenizer)"), "{sentence}");
    assert!(cure.starts_with("check that the tokenizer"), "{cure}");
}

/// Summarises answers that came in gathered reads. The client's read loop was late by so much one time in a hundred.
fn gathered(late_ms: u64) -> Summary {
    let mut records: Vec<_> =
        (0..600).map(|i| record(i).sent_at(i * 100, i * 100, i * 100).paced(100, 10, 8).build()).collect();
    for record in &mut records {
        record.merged_reads = 3;
    }
    let mut log = run(60_000, records);
    log.header.stamps = StampSource::ReadReturned;
    let delay = Delays { n: 6_000, p50_ns: 1_000_000, p99_ns: late_ms * 1_000_000, max_ns: late_ms * 1_000_000 };
    log.footer.as_mut().unwrap().client = Some(ClientFacts { loop_delay: Some(delay), ..ClientFacts::default() });
    summarise(&log, &[])
}

#[test]
fn a_starved_client_blames_no_proxy() {
    let (sound, starved) = (gathered(2), gathered(90));
    assert!(sentence(&sound, FindingKind::MergedReads).is_some(), "{:?}", sound.findings);
    assert_eq!(sentence(&starved, FindingKind::MergedReads), None);
}

#[test]
fn prompts_counted_far_above_what_was_planned_are_named_with_what_may_explain_it() {
    let said = |prompt_tokens: u64, template: Option<u64>| {
        let answer = |index| record(index).sent_at(0, 0, 1).paced(100, 10, 4).usage(prompt_tokens, 4).build();
        let mut log = run(1_000, (0..9).map(answer).collect());
        log.header.prompts.template_tokens = template;
        let found = summarise(&log, &[]).findings;
        let found = found.into_iter().find(|finding| finding.kind == FindingKind::PromptLength)?;
        Some((found.sentence, found.cure))
    };
    let (sentence, cure) = said(50_000, None).unwrap();
    assert!(
        sentence.starts_with("the server counts 50,000 tokens in the median prompt, and 100 were planned"),
        "{sentence}"
    );
    assert!(cure.contains("a system prompt or tools that a gateway adds") && !cure.contains("--tokenizer"), "{cure}");
    // Twice as many, but not by a thousand; a thousand more, which the template is.
    for (tokens, template, is_far) in [(900, None, false), (1_101, None, true), (1_150, Some(1_000), false)] {
        let far = said(tokens, template).is_some_and(|(sentence, _)| sentence.contains("median prompt"));
        assert_eq!(far, is_far, "{tokens}");
    }
}
