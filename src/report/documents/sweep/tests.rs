//! Whole sweeps in every form.

mod limits;

use super::document;
use super::loads::table;
use crate::analysis::test_runs::{record, run};
use crate::analysis::{AcrossRuns, Figure, FigureKey, Metric, Quantile, SampleWarning, Tier, summarise};
use crate::experiment::{
    Load, LoadAxis, LoadClass, Search, SearchStep, StopReason, Sustained, Sweep, SweepPlan, Swept, Trial,
};
use crate::record::{DeploymentFacts, Failure, FailureKind, RunEnding, RunLog};
use crate::report::Style;
use crate::report::render::{self, Extent};
use crate::workload::{ArrivalPattern, Conversation, Distribution, ThinkTime};

/// A minute of so many requests a second, evenly. Their first tokens take from 100 ms up to `slowest`.
fn minute(per_s: u64, slowest: u64) -> RunLog {
    let records = (0..60 * per_s).map(|i| {
        let at = i * 1_000 / per_s;
        let first = at + 100 + (i * 37) % (slowest - 100);
        record(i).sent_at(at, at, at).paced(first, 20 + i % 5, 40).usage(112, 40).build()
    });
    let mut log = run(60_000, records.collect());
    log.header.workload.arrival = ArrivalPattern::Constant { rate_per_s: per_s as f64 };
    log.header.deployment = DeploymentFacts { gpus: Some(2), ..DeploymentFacts::default() };
    log
}

/// Loads of 4, 8 and 20 a second, two runs each. They have these slowest first tokens in milliseconds.
fn swept(slowest: [u64; 3], objectives: &[&str], spoil: impl Fn(u64, &mut RunLog)) -> (Sweep, Trial) {
    swept_by(slowest, objectives, &[], spoil)
}

/// Runs as above, judged by tiers too, of which all `objectives` are part.
fn swept_by(
    slowest: [u64; 3],
    objectives: &[&str],
    tiers: &[&str],
    spoil: impl Fn(u64, &mut RunLog),
) -> (Sweep, Trial) {
    let common: Vec<_> = objectives.iter().map(|text| text.parse().unwrap()).collect();
    let tiers: Vec<Tier> = tiers.iter().map(|text| text.parse().unwrap()).collect();
    let plan = SweepPlan {
        axis: LoadAxis::List { rates_per_s: vec![4.0, 8.0, 20.0] },
        objectives: Tier::objectives_of(&tiers, &common),
        tiers: Tier::all_with(&tiers, &common),
        repeats: 2,
        samples: 130,
        first_samples: None,
        requests_per_arrival: None,
        shortest_s: None,
        longest_s: 60.0,
        fewest_users_per_s: None,
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
    let mut last = None;
    while let SearchStep::Measure(wanted) = search.next() {
        let place = [4.0, 8.0, 20.0].iter().position(|rate| Load::Rate(*rate) == wanted.load).unwrap();
        let mut log = minute([4, 8, 20][place], slowest[place] + wanted.repeat);
        spoil(wanted.number, &mut log);
        let trial = Trial::new(&wanted, &summarise(&log, &objectives));
        last = Some(trial.clone());
        search.record(trial);
    }
    let header = minute(4, 200).header;
    let swept = Swept {
        started_at: jiff::Timestamp::UNIX_EPOCH,
        engine: header.engine().clone(),
        workload: header.workload,
        deployment: header.deployment,
    };
    (Sweep::new(&search, swept, StopReason::AllMeasured), last.unwrap())
}

fn shown(sweep: &Sweep) -> String {
    render::text(&document(sweep), Style { width: 1_000, ..Style::PLAIN }, Extent::Full)
}

fn sweep_page(sweep: &Sweep) -> String {
    render::html(&document(sweep))
}

#[test]
fn an_answer_with_its_curve() {
    let (sweep, _) = swept([300, 350, 900], &["p95 ttft < 500ms", "p50 tpot < 50ms"], |_, _| {});
    insta::assert_snapshot!(render::text(&document(&sweep), Style::PLAIN, Extent::Full));
    let narrow = render::text(&document(&sweep), Style { width: 80, ..Style::PLAIN }, Extent::Full);
    assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
}

/// A minute at 4 or 8 a second has too few requests for a p99. It has 240 or 480. At 20 it has 1,200, worth fewer
/// independent ones.
#[test]
fn marks_are_those_of_each_figure_in_every_form() {
    let (sweep, _) = swept([300, 350, 900], &[], |_, _| {});
    let marks: Vec<_> =
        sweep.points.iter().map(|point| point.figures.percentile(Quantile::P99, Metric::Ttft).unwrap().mark).collect();
    assert_eq!(
        marks,
        [SampleWarning::TooFewSamples, SampleWarning::TooFewSamples, SampleWarning::Indicative].map(Some)
    );
    assert!(
        sweep.points.iter().all(|point| point.figures.percentile(Quantile::P50, Metric::Ttft).unwrap().mark.is_none())
    );
    let mut table = Vec::new();
    crate::report::data::points_csv(&sweep, &mut table).unwrap();
    let table = String::from_utf8(table).unwrap();
    let marked = |line: &&str| line.ends_with(",too_few_samples");
    assert_eq!(table.lines().filter(marked).count(), 6, "{table}");
    assert!(table.lines().filter(marked).all(|line| line.contains("_p99_ms,")), "{table}");
    assert_eq!(
        SampleWarning::gravest([SampleWarning::Indicative, SampleWarning::TooFewSamples].into_iter()),
        Some(SampleWarning::TooFewSamples)
    );
}

#[test]
fn no_objective_and_no_load_that_passes() {
    let (curve, _) = swept([300, 350, 900], &[], |_, _| {});
    let text = shown(&curve);
    assert!(!text.contains("objectives") && !text.contains("passed"), "{text}");
    assert!(text.contains("p99 TTFT by load, ms\n"), "{text}");
    let (nothing, _) = swept([300, 350, 900], &["p95 ttft < 20ms"], |_, _| {});
    let text = shown(&nothing);
    assert!(text.contains("no measured load meets") && text.contains("failed"), "{text}");
}

/// Four of a hundred requests are over a bound that allows five. A few hundred requests cannot tell.
#[test]
fn a_load_that_cannot_be_told_has_not_passed() {
    let objectives = ["p95 ttft < 292ms"];
    let (sweep, _) = swept([300, 300, 900], &objectives, |_, _| {});
    let classes: Vec<_> = sweep.points.iter().map(|point| point.class).collect();
    assert_eq!(classes, [LoadClass::Undecided, LoadClass::Undecided, LoadClass::Failed]);
    assert_eq!(sweep.answer.as_ref().unwrap().passed, None);
    let text = shown(&sweep);
    assert!(text.starts_with("UNDECIDED: ") && text.contains("and no lower load surely passed"), "{text}");
    let (mut sweep, trial) = swept([300, 300, 300], &objectives, |_, _| {});
    sweep.sustained = Some(Sustained::from_trial(&trial));
    let said = "? nothing grew in 1 min at 20.0/s, which cannot tell p95 ttft < 292ms: sustain it for longer";
    assert!(shown(&sweep).contains(said), "{}", shown(&sweep));
}

#[test]
fn runs_that_do_not_count_are_told() {
    // The first of all runs was stopped in its window.
    let broken = |number: u64, log: &mut RunLog| {
        if number == 1 {
            log.footer.as_mut().unwrap().ending = RunEnding::Interrupted;
            log.records.truncate(100);
        }
    };
    let (sweep, _) = swept([300, 350, 900], &["p95 ttft < 500ms"], broken);
    let text = shown(&sweep);
    assert!(sweep.valid && text.contains("1 of 7 runs are INVALID and do not count"), "{text}");
    let (sweep, _) = swept([300, 350, 900], &["p95 ttft < 500ms"], |_, log| broken(1, log));
    let text = shown(&sweep);
    assert!(text.starts_with("INVALID: ") && text.contains("12 of 12 runs are INVALID"), "{text}");
    assert!(text.contains("All reasons") || text.contains("unknown"), "{text}");
}

/// Answers of one token have no TPOT. That is no failure of any load, and no search for the load that meets it ends.
#[test]
fn what_no_run_has_a_figure_for_is_unknown() {
    let whole = |_: u64, log: &mut RunLog| {
        let apart = 60_000 / log.records.len() as u64;
        for (i, one) in (0..).zip(&mut log.records) {
            let at = i * apart;
            *one = record(i).sent_at(at, at, at).paced(at + 100, 0, 1).usage(112, 1).build();
        }
    };
    let (sweep, _) = swept([300, 350, 900], &["p50 tpot < 50ms"], whole);
    assert!(sweep.points.iter().all(|point| point.class == LoadClass::Unknown), "{:?}", sweep.points);
    let text = shown(&sweep);
    assert!(text.contains("is unknown: no run has a figure for `p50 tpot < 50ms`"), "{text}");

    let objectives = ["p50 tpot < 50ms".parse().unwrap()];
    let axis = LoadAxis::search_from(4.0);
    let mut search = Search::new(SweepPlan { axis, ..sweep.plan }).unwrap();
    let SearchStep::Measure(wanted) = search.next() else { panic!("nothing is searched for") };
    let mut log = minute(4, 200);
    whole(1, &mut log);
    search.record(Trial::new(&wanted, &summarise(&log, &objectives)));
    assert_eq!(search.next(), SearchStep::Done(StopReason::NoFigure));
}

/// A crash is neither overload nor a bound.
#[test]
fn a_server_that_is_gone_bounds_nothing() {
    let refused = || Failure::new(FailureKind::Connect, "127.0.0.1:8000 refused the connection");
    let gone_from = |first: u64| {
        move |_: u64, log: &mut RunLog| {
            for (i, one) in (0..).zip(&mut log.records).filter(|(i, _)| *i >= first) {
                let at = i * 250;
                *one = record(i).sent_at(at, at, at).failed(at + 1, refused()).build();
            }
        }
    };
    for first in [0, 100] {
        let (sweep, trial) = swept([300, 350, 900], &["p95 ttft < 500ms"], gone_from(first));
        assert_eq!(trial.saturated, None);
        assert!(!sweep.valid && sweep.answer.as_ref().unwrap().failed.is_none(), "{}", shown(&sweep));
        assert!(trial.invalid.iter().any(|reason| reason.contains("refused the connection")), "{trial:?}");
    }
    // Those that an overloaded server fails otherwise still say that it is overloaded.
    let busy = |_: u64, log: &mut RunLog| {
        for (i, one) in (0..).zip(&mut log.records).filter(|(i, _)| i % 2 == 0) {
            let (at, failure) = (i * 250, Failure::new(FailureKind::HttpStatus(503), "busy"));
            *one = record(i).sent_at(at, at, at).failed(at + 1, failure).build();
        }
    };
    let (_, trial) = swept([300, 350, 900], &["p95 ttft < 500ms"], busy);
    assert!(trial.saturated.is_some(), "{trial:?}");
}

#[test]
fn whether_it_held_is_not_known_where_the_run_does_not_count() {
    let broken = |_: u64, log: &mut RunLog| {
        log.footer.as_mut().unwrap().ending = RunEnding::Interrupted;
        log.records.truncate(100);
    };
    let (mut sweep, trial) = swept([300, 350, 450], &["p95 ttft < 500ms"], broken);
    sweep.sustained = Some(Sustained::from_trial(&trial));
    let sustained = sweep.sustained.as_ref().unwrap();
    assert!(sustained.unknown.is_some() && !sustained.held && !sustained.judged.is_empty());
    assert!(shown(&sweep).contains("? unknown whether 20.0/s can be sustained for 1 min"), "{}", shown(&sweep));
}

/// Answers of the drain count as well beyond saturation. No server gives so many a second.
#[test]
fn saturated_loads_show_no_goodput() {
    let (mut sweep, _) = swept([300, 350, 900], &["p95 ttft < 500ms"], |_, _| {});
    let goodputs = |sweep: &Sweep| -> Option<Vec<String>> {
        let table = crate::report::document::Table::from(table(sweep));
        let place = table.columns.iter().position(|column| column.title == "goodput")?;
        Some(table.rows.iter().map(|row| row.cells[place].text.clone()).collect())
    };
    assert!(goodputs(&sweep).is_none(), "nothing was promised");
    let figures = &mut sweep.points[0].figures;
    let known = figures.metric(Metric::RequestRate).cloned();
    *figures = figures.clone().with(&FigureKey::from_metric(Metric::Goodput), known.as_ref());
    assert_ne!(goodputs(&sweep).unwrap()[0], crate::report::document::NOTHING);
    sweep.points[0].class = LoadClass::Saturated;
    assert!(goodputs(&sweep).is_none(), "only this load had one");
}

#[test]
fn an_objective_that_no_load_meets_leaves_no_highest_load() {
    let objectives = ["p99 ttft < 50ms", "p95 ttft < 500ms"];
    let (sweep, _) = swept([300, 300, 900], &objectives, |_, _| {});
    let answer = sweep.answer.unwrap();
    assert_eq!((answer.passed, answer.failed), (None, Some(Load::Rate(4.0))));
    assert_eq!((answer.estimate, answer.interval_low, answer.interval_high), (None, None, None));
    assert_eq!(answer.tightest.as_deref(), Some(objectives[0]));
    assert!(answer.sentence.starts_with("no measured load meets the objectives"), "{answer:?}");
    assert!(sweep.points.iter().all(|point| point.class == LoadClass::Failed), "{:?}", sweep.points);

    let (sweep, _) = swept([300, 300, 900], &objectives[1..], |_, _| {});
    let answer = sweep.answer.unwrap();
    assert_eq!(answer.passed, Some(Load::Rate(8.0)));
    let sentence = answer.sentence;
    assert!(sentence.contains("loads are too far apart") && sentence.contains("add rates such as "), "{sentence}");
}

#[test]
fn rates_of_conversations_count_sessions() {
    let (mut sweep, _) = swept([300, 300, 900], &[], |_, _| {});
    assert!(shown(&sweep).contains("4.00, 8.00, 20.0 requests/s"));
    let session = crate::workload::WorkloadSpec::from_toml(SESSIONS, "sessions").unwrap();
    sweep.workload = session;
    assert!(shown(&sweep).contains("4.00, 8.00, 20.0 sessions/s"));
}

const SESSIONS: &str = r#"
    name = "sessions"
    horizon_s = 60
    seed = 1
    arrival = { kind = "poisson", rate_per_s = 1 }
    [[classes]]
    name = "talk"
    input_tokens = { kind = "constant", value = 10 }
    output_tokens = { kind = "constant", value = 2 }
    [classes.conversation]
    turns = 5
    think_time_s = 1
"#;

/// The line that an objective is about is drawn against its bound.
#[test]
fn a_page_draws_the_percentile_that_decides() {
    let legend = |page: &str, chart: &str, name: &str| {
        let chart = page.split(&format!("aria-label=\"{chart} over load")).nth(1).unwrap();
        chart.split("</svg>").next().unwrap().contains(&format!(">{name}</text>"))
    };
    let (sweep, _) = swept([300, 350, 900], &["p95 ttft < 500ms", "p99 e2e of chat < 5s"], |_, _| {});
    let page = sweep_page(&sweep);
    assert!(legend(&page, "TTFT", "p95") && legend(&page, "TTFT", "p99") && !legend(&page, "e2e", "p95"));
    assert!(page.contains("not drawn, for it is about some requests alone: p99 e2e of chat &lt; 5s"));
    let (sweep, _) = swept([300, 350, 900], &[], |_, _| {});
    assert!(!legend(&sweep_page(&sweep), "TTFT", "p95"));
}

/// The answer stands on an axis from 0. What passes is green and what fails is red.
#[test]
fn a_page_answers_at_a_glance() {
    let (mut sweep, _) = swept([300, 350, 9_000], &["p95 ttft < 500ms"], |_, _| {});
    let answer = sweep.answer.as_mut().unwrap();
    (answer.estimate, answer.interval_low, answer.interval_high) = (Some(14.0), Some(13.0), Some(15.5));
    let page = sweep_page(&sweep);
    assert!(page.contains("<div class=\"value\">14.0<span class=\"unit\"> requests/s</span>"), "{page}");
    assert!(page.contains("is the highest load that meets p95 ttft &lt; 500ms") && page.contains("13.0 to 15.5"));
    assert!(page.find("TTFT over load") < page.rfind("Loads, low to high"), "the picture comes first");
    let chart = page.split("aria-label=\"TTFT over load").nth(1).unwrap().split("</svg>").next().unwrap();
    for part in ["\"met\"", "\"missed\"", "\"shade\"", ">14.0 (13.0–15.5)<", ">0</text>", "hollow"] {
        assert!(chart.contains(part), "no {part} in {chart}");
    }
    assert!(!page.contains("requested (log)") && page.contains("arrows: above the axis"));
}

#[test]
fn a_page_says_which_loads_cannot_be_trusted() {
    let broken = |log: &mut RunLog| {
        log.footer.as_mut().unwrap().ending = RunEnding::Interrupted;
        log.records.truncate(100);
    };
    let (sweep, _) = swept([300, 350, 900], &["p95 ttft < 500ms"], |_, _| {});
    assert!(!sweep_page(&sweep).contains("not trusted"));
    let (sweep, _) = swept([300, 350, 900], &[], |_, log| {
        if log.records.len() == 480 {
            broken(log);
        }
    });
    let page = sweep_page(&sweep);
    assert!(page.contains("8.00/s: p50") && page.contains("ms, not trusted") && page.contains(">not trusted</text>"));
    let (mut sweep, _) = swept([300, 350, 900], &["p95 ttft < 500ms"], |_, _| {});
    sweep.valid = false;
    let page = sweep_page(&sweep);
    let lead = page.split("class=\"lead\"").nth(1).unwrap();
    assert!(lead.starts_with("><span class=\"bad\">✗ INVALID"), "{}", &lead[..60]);
}

#[test]
fn every_page_begins_with_what_was_found() {
    let (mut sweep, _) = swept([300, 350, 900], &[], |_, _| {});
    sweep.knee = None;
    assert!(sweep_page(&sweep).contains("3 loads; the curve has no knee"));
    assert!(shown(&sweep).starts_with("MEASURED: 3 loads; the curve has no knee\n"));
}

/// Half a conversation a second asks for two and a half requests. Each conversation has five turns.
#[test]
fn conversations_ask_for_all_their_turns() {
    let (mut sweep, _) = swept([300, 350, 900], &["p95 ttft < 500ms"], |_, _| {});
    assert!(sweep_page(&sweep).contains("requested: 4.00 requests/s"));
    sweep.workload.classes[0].conversation = Some(Conversation {
        turns: Distribution::Constant { value: 5 },
        think_time_s: ThinkTime::Constant { value: 1.0 },
        first_input_tokens: None,
        max_context_tokens: None,
    });
    assert!(sweep_page(&sweep).contains("requested: 4.00 sessions/s, 20.0 requests/s"));
}

/// The chart shows the most that a figure can be, as the table does.
#[test]
fn a_figure_within_bounds_is_drawn_at_the_most_that_it_can_be() {
    let (mut sweep, _) = swept([300, 350, 900], &[], |_, _| {});
    let p99 = FigureKey::percentile(Quantile::P99, Metric::Ttft);
    let bounds = [Some(Figure::Between { low: 100.0, high: 120.0 })];
    let figures = sweep.points[0].figures.clone();
    sweep.points[0].figures = figures.with(&p99, Some(&AcrossRuns::of_figures(&bounds, f64::INFINITY)));
    let page = sweep_page(&sweep);
    assert!(page.contains("p99 ≤ 120 ms") && page.contains("<td>≤ 120</td>"), "{page}");
    assert!(!page.contains("p99 &gt; 100 ms"), "{page}");
}
