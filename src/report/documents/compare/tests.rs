//! Comparisons in every form, with hostile names in them.

use std::collections::BTreeMap;

use super::{compared, compared_sweeps};
use crate::analysis::test_runs::{record, run};
use crate::analysis::{FigureKey, FigureLevel, Metric, summarise};
use crate::experiment::compare::{
    AnswerOfSide, Compared, ComparedSide, ComparedSweeps, Condition, DefinitionStep, Difference, ExplainedFigure,
    Explanation, FigureRange, Gate, RecountedFigure, Role,
};
use crate::experiment::{ArrivalUnit, HighestLoad, Load, Regime, Symptom};
use crate::foreign::{Aspect, Definition};
use crate::report::Style;
use crate::report::document::Document;
use crate::report::render::{self, Extent, assert_page};
use crate::report::sample_runs::HOSTILE as HOSTILE_MARKDOWN;

const HOSTILE: &str = "</title><script src=https://evil.example/x.js></script>\u{202e}<img onerror=alert(1)>";

/// Forty requests of this TTFT or a little more, by a server of this name.
fn side(name: &str, ttft_ms: u64) -> ComparedSide {
    let records = (0..40).map(|i| {
        let at = i * 20;
        record(i).sent_at(at, at, at).paced(at + ttft_ms + i * 3 % 7, 10, 11).build()
    });
    let mut log = run(1_000, records.collect());
    log.header.engines[0].server_version = Some(name.to_owned());
    log.header.engines[0].model = format!("model of {name}");
    let summary = summarise(&log, &[]);
    ComparedSide::of_run(name.to_owned(), &log, summary, [].iter())
}

fn gates() -> [Gate; 2] {
    let margin = |text: &str| text.parse().unwrap();
    [Gate::MaxRegression(margin("p50 ttft 10%")), Gate::MaxRegression(margin("error_rate 20%"))]
}

#[test]
fn a_page_escapes_what_servers_call_themselves() {
    let sides = [side("a", 100), side(HOSTILE, 120), side("c", 110)];
    let of = Compared::new(&sides, &[Condition::Model], &[]).unwrap();
    let page = render::html(&compared(&of));
    assert_page(&page);
    assert!(page.contains("&lt;script src=https://evil.example/x.js&gt;"), "{page}");
    assert!(page.contains("Over time") && page.matches("<svg").count() > 4);
    assert!(page.contains("drifts where its 95 % interval is without 0"), "drifts as in the text");
}

#[test]
fn a_warm_cache_that_did_not_help_is_a_symptom() {
    let mut of = Compared::new(&[side("a", 100), side("b", 100)], &[Condition::Model], &[]).unwrap();
    of.against[0].warm_like_cold = Some(Symptom {
        regime: Regime::CacheMiss,
        symptom: format!("as slow as cold {HOSTILE}"),
        likely: "the cache is not hit".to_owned(),
        confirm: "its counters".to_owned(),
        first_response: "look at the prefixes".to_owned(),
        figures: BTreeMap::new(),
        counters: None,
        in_runs: Vec::new(),
    });
    let page = render::html(&compared(&of));
    assert_page(&page);
    assert!(page.contains("as slow as cold") && page.contains("look at the prefixes"), "{page}");
}

#[test]
fn a_comparison_with_demands() {
    let of = Compared::new(&[side("before", 100), side("after", 120)], &[Condition::Model], &gates()).unwrap();
    let document = compared(&of);
    let markdown = render::markdown(&document);
    // 103 ms become 123: 19.4 % worse.
    assert!(markdown.starts_with("## ❌ FAILED: 1 of 2 demands met; p95 TTFT +"), "{markdown}");
    assert!(
        markdown.contains(
            "missed: p50 ttft at most 10 % worse (was 19.4 % worse; 95 % interval 19.4 % worse to \
        19.4 % worse)"
        ),
        "{markdown}"
    );
    insta::assert_snapshot!(render::text(&document, Style::PLAIN, Extent::Full));
}

/// Names that tell when a run was say nothing of what differs. Names that a user gave stay.
#[test]
fn sides_have_names_that_tell_them_apart() {
    let (one, other) = ("chat-vllm-20261123T175843Z", "chat-vllm-20261123T175845Z");
    let of = Compared::new(&[side(one, 100), side(other, 400)], &[Condition::Model], &[]).unwrap();
    let page = render::html(&compared(&of));
    let (one, other) = (format!("model of {one}"), format!("model of {other}"));
    assert!(!page.contains(&format!("{other} against {one}")), "a value that is too long names nothing");
    let mut short = of.clone();
    for difference in &mut short.differences {
        difference.fact = "modelled.max_num_seqs".to_owned();
        difference.values = ["256", "24"].map(|value| Some(value.to_owned())).into();
    }
    let page = render::html(&compared(&short));
    assert!(page.contains("max_num_seqs 24 against max_num_seqs 256</p>"), "{page}");
    assert!(page.contains("max_num_seqs 24: in chat-vllm-20261123T175845Z, "), "{page}");
    let headline = page.split("class=\"headline\"").nth(1).unwrap();
    assert!(headline.contains("×<") && headline.contains("of max_num_seqs 24 against max_num_seqs 256"));
    assert!(page.contains(" worse, 0 better"), "{page}");
    for side in &mut short.sides {
        side.name = side.name.replace("20261123T1758", "night-");
    }
    assert!(render::html(&compared(&short)).contains("chat-vllm-night-45Z against chat-vllm-night-43Z"));
}

#[test]
fn invalid_sides_open_every_form_with_a_banner() {
    let mut of = Compared::new(&[side("before", 100), side("after", 100)], &[Condition::Model], &gates()).unwrap();
    of.sides[1].valid = false;
    let banner = "INVALID: 1 of 2 sides is INVALID and counts because of --allow-invalid; 2 of 2 demands met";
    let document = compared(&of);
    let style = Style { width: 200, ..Style::PLAIN };
    assert!(render::text(&document, style, Extent::Summary).starts_with(banner));
    assert!(render::markdown(&document).starts_with(&format!("## ❌ {banner}")));
    assert!(render::html(&document).contains(&banner["INVALID: ".len()..]));
}

#[test]
fn foreign_text_stays_text_in_markdown() {
    let sides = [side("a", 100), side(HOSTILE_MARKDOWN, 120), side("c", 110)];
    let markdown = render::markdown(&compared(&Compared::new(&sides, &[Condition::Model], &gates()).unwrap()));
    assert!(markdown.lines().all(|line| !line.starts_with("# EOF")), "{markdown}");
    let ours = ["<br>", "<!-- -->", "<details>", "</details>", "<summary>", "</summary>"];
    let rest = ours.iter().fold(markdown.clone(), |text, tag| text.replace(tag, ""));
    assert!(!rest.contains('<'), "{markdown}");
    assert!(!markdown.contains(['\u{1b}', '\u{202e}', '\0']), "{markdown}");
    assert!(markdown.contains("### Over time: 3 from the earliest to the latest"), "{markdown}");
    let mut bars = None;
    for line in markdown.lines() {
        let here = line.starts_with('|').then(|| line.matches('|').count());
        assert!(bars.is_none() || here.is_none() || bars == here, "{line}");
        bars = here;
    }
}

/// The lines and the widest line of a screen.
fn screen(document: &Document) -> (String, usize, usize) {
    let text = render::text(document, Style { width: 80, ..Style::PLAIN }, Extent::Summary);
    let widest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    let lines = text.lines().count();
    (text, lines, widest)
}

#[test]
fn many_sides_fit_a_screen() {
    let names: Vec<String> =
        (0..9).map(|night| format!("results/nightly/run-2026-11-{:02}T040000Z", night + 1)).collect();
    let sides: Vec<_> = names.iter().zip(100..).map(|(name, ttft_ms)| side(name, ttft_ms)).collect();
    let (text, lines, widest) = screen(&compared(&Compared::new(&sides, &[Condition::Model], &gates()).unwrap()));
    assert!(lines <= 24 && widest <= 80, "{lines} lines, {widest} columns\n{text}");
    assert!(text.starts_with("PASSED: 16 of 16 demands met; 8 others against"), "{text}");
    let full =
        render::text(&compared(&Compared::new(&sides, &[Condition::Model], &[]).unwrap()), Style::PLAIN, Extent::Full);
    assert!(names.iter().all(|name| full.contains(name.as_str())), "{full}");
}

/// A fault of one of many sides is on the screen.
#[test]
fn a_demand_that_one_of_many_sides_missed_is_named() {
    let sides = [side("a", 100), side("b", 101), side("c", 150)];
    let (text, lines, _) = screen(&compared(&Compared::new(&sides, &[Condition::Model], &gates()).unwrap()));
    assert!(text.starts_with("FAILED: 3 of 4 demands met; b, c against a") && lines <= 24, "{text}");
    assert!(text.contains("  ✗ c: missed: p50 ttft at most 10 % worse"), "{text}");
}

/// The ends of an interval, where there is one.
type Interval = Option<(f64, f64)>;

/// Sweeps of servers with so many slots. The servers answer so many requests a second within the objective.
fn sweeps(highest: &[(u64, f64, Interval)]) -> ComparedSweeps {
    let level = |value| FigureLevel { value: Some(value), ..FigureLevel::default() };
    let answers = highest.iter().map(|(slots, rate, interval)| AnswerOfSide {
        side: format!("chat-sweep-vllm-20261123T1758{slots:02}Z"),
        started_at: jiff::Timestamp::UNIX_EPOCH,
        objectives: vec!["p95 ttft < 1s".parse().unwrap()],
        answer: Some(HighestLoad {
            passed: Some(Load::Rate(rate - 1.0)),
            failed: Some(Load::Rate(rate + 1.0)),
            estimate: Some(*rate),
            interval_low: interval.map(|(low, _)| low),
            interval_high: interval.map(|(_, high)| high),
            tightest: None,
            limits: Vec::new(),
            agents_per_gpu: None,
            agents_per_kw: None,
            monotone: true,
            sentence: String::new(),
        }),
        valid: true,
        ttft_p99_ms: vec![
            (Load::Rate(4.0), level(100.0)),
            (Load::Rate(8.0), level(300.0)),
            (Load::Rate(16.0), level(9e4)),
        ],
        output_tokens_per_s: [4.0, 8.0, 16.0].map(|rate| (Load::Rate(rate), level(rate * *slots as f64))).into(),
        saturated: vec![Load::Rate(16.0)],
        begun: ArrivalUnit::Requests,
    });
    let values = highest.iter().map(|(slots, ..)| Some(format!("--dtype bf16 --max-num-seqs {slots}")));
    let differs = Difference {
        condition: Condition::Labels,
        fact: "label.flags".to_owned(),
        role: Role::Reported,
        values: values.collect(),
    };
    ComparedSweeps { schema: 3, answers: answers.collect(), differences: vec![differs], against: Vec::new() }
}

#[test]
fn sweeps_are_named_by_the_flag_that_varies_and_the_best_is_named() {
    let sure = [(64, 60.0, Some((58.0, 62.0))), (12, 20.0, Some((18.0, 22.0))), (99, 71.2, Some((69.0, 73.0)))];
    let document = compared_sweeps(&sweeps(&sure));
    let (text, lines, widest) = screen(&document);
    assert!(lines <= 24 && widest <= 80, "{text}");
    assert!(text.contains("  the best within the objectives: max_num_seqs 99, 71.2/s\n"), "{text}");
    let unsure = [(64, 70.0, Some((66.0, 72.0))), (99, 71.2, Some((69.0, 73.0)))];
    for highest in [unsure, [(64, 70.0, None), (99, 71.2, None)]] {
        let (text, ..) = screen(&compared_sweeps(&sweeps(&highest)));
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("max_num_seqs 99, 71.2/s; not surely more than max_num_seqs 64"), "{text}");
    }
    let page = render::html(&document);
    assert_page(&page);
    assert!(page.contains("Output tokens against p99 TTFT"), "{page}");
    assert!(page.contains("max_num_seqs 64, 8.00/s: 512 tokens/s at p99 TTFT 300 ms"), "{page}");
    assert!(!page.contains("16.0/s: 1,024 tokens/s at p99"), "what overloads a server is not drawn");
}

/// A run that is counted again as another tool counts.
fn explained() -> Explanation {
    use Definition::{
        CompletedOnly, CutOffAtLeast, FirstEvent, FirstText, FromSchedule, FromSend, OwnTokenizer, Usage,
    };
    let range = |low, high| FigureRange { low, high };
    let once = |value| range(value, Some(value));
    let p99: FigureKey = "p99 ttft".parse().unwrap();
    let requests = FigureKey::from_metric(Metric::RequestRate);
    let step = |aspect, from, to, figures: &[[FigureRange; 2]], missing, range| {
        let moved = |[before, after]: &[FigureRange; 2]| RecountedFigure {
            figure: p99.clone(),
            before: *before,
            after: *after,
        };
        DefinitionStep { aspect, from, to, figures: figures.iter().map(moved).collect(), missing, range }
    };
    let [first, completed, sent, role] = [range(6_620.0, None), once(6_610.0), once(190.0), range(12.0, Some(190.0))];
    Explanation {
        from: "run".to_owned(),
        to: "vllm.json".to_owned(),
        is_counted_again: true,
        steps: vec![
            step(Aspect::CutOff, CutOffAtLeast, CompletedOnly, &[[first, completed]], None, None),
            step(Aspect::Slot, Definition::SlotCounts, Definition::SlotLeftOut, &[[completed, completed]], None, None),
            step(Aspect::Origin, FromSchedule, FromSend, &[[completed, sent]], None, None),
            step(Aspect::First, FirstText, FirstEvent, &[[sent, role]], None, FirstEvent.range()),
            step(Aspect::Tokens, Usage, OwnTokenizer, &[], Some("its file has another count"), None),
        ],
        figures: vec![
            ExplainedFigure {
                figure: p99.clone(),
                first,
                counted: role,
                reported: once(192.0),
                unexplained: Some(range(2.0, Some(180.0))),
            },
            ExplainedFigure {
                figure: requests,
                first: once(20.0),
                counted: once(20.0),
                reported: once(19.7),
                unexplained: Some(once(-0.3)),
            },
        ],
    }
}

#[test]
fn why_two_tools_differ_is_one_table() {
    let mut why = explained();
    let document = |why: &Explanation| Document::new("compared").with(super::why::sections(why));
    let text = render::text(&document(&why), Style::PLAIN, Extent::Full);
    insta::assert_snapshot!(text);
    let (screen, _, widest) = screen(&document(&why));
    assert!(widest <= 80 && screen.contains("> 6,620") && screen.contains("12.0–190"), "{screen}");
    assert_page(&render::html(&document(&why)));
    (why.to, why.is_counted_again) = (HOSTILE.to_owned(), false);
    assert_page(&render::html(&document(&why)));
    let words = render::text(&document(&why), Style::PLAIN, Extent::Summary);
    assert!(words.contains("neither file has its requests") && !words.contains("6,620"), "{words}");
}
