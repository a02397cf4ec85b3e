//! Several runs of one workload: the joint verdict, the runs, and their figures with intervals.

use super::parts::cells::{INDICATIVE, server};
use super::parts::diagnosis;
use crate::analysis::{
    AcrossRuns, FigureKey, Metric, Quantile, Statistic, TARGET_PRECISION, Unresolvable, VerdictOutcome,
};
use crate::experiment::{RepeatedRun, Repeats};
use crate::report::document::{
    Document, Level, NOTHING, Note, Section, Table, TableColumn, TableOf, Tone, VerdictLine, mean,
};
use crate::units::{count, counted, listed, percent, seconds};

/// The rates and shares, each under its name with its unit.
static FLOWS: [(FigureKey, &str); 7] = [
    (FigureKey::from_metric(Metric::RequestRate), "requests/s"),
    (FigureKey::from_metric(Metric::OutputTokens), "output tokens/s"),
    (FigureKey::from_metric(Metric::OutputTokensPerGpu), "output tokens/s per GPU"),
    (FigureKey::from_metric(Metric::Goodput), "goodput/s"),
    (FigureKey::from_metric(Metric::SloAttainment), "SLO attainment, %"),
    (FigureKey::from_metric(Metric::ErrorRate), "errors, %"),
    (FigureKey::from_metric(Metric::CostPerAcceptableAnswer), "cost of an acceptable answer"),
];

/// Runs from which on an interval is worth having.
const ADVISED: u64 = 5;

/// Returns the document of what the runs say together.
pub fn document(repeats: &Repeats) -> Document {
    let runs = counted(repeats.planned_runs, "run");
    let title = format!("{} on {}, {runs}", repeats.workload, repeats.engine.model);
    let outcome = repeats.verdict.outcome;
    let tone = if outcome == VerdictOutcome::Valid { Tone::Good } else { Tone::Bad };
    let verdict = VerdictLine::new(tone, outcome.word(), format!("{} of {runs} counted", count(repeats.counted_runs)));
    let broken = &repeats.verdict.reasons;
    let reasons = Section::continued(Level::Summary)
        .notes(broken.iter().map(|reason| Note::error(reason.in_words()).cure(&reason.cure)))
        .more((!broken.is_empty()).then_some("validity"))
        .notes(repeats.spoiled.iter().map(Note::info));
    let judged = repeats.objectives.iter();
    let objectives =
        Section::summary("Objectives").notes(judged.map(|judgement| Note::new(judgement.status, &judgement.line)));
    let flows = Section::summary("Rates and shares: over the same runs").table(flows(repeats));
    let precision = Section::detail("Precision").text(precision(repeats));
    Document::new(title)
        .verdict(verdict)
        .about(format!("{} · window {}", repeats.engine.engine, window(repeats)))
        .with([reasons, objectives, latencies(repeats), flows, precision])
        .with([runs_one_by_one(&repeats.runs), what_was_run(repeats)])
        .with(repeats.diagnosis.as_ref().map(diagnosis::section))
}

fn window(repeats: &Repeats) -> String {
    let warm_up = repeats.load_s - repeats.window_s;
    let warm_up = if warm_up > 0.0 { format!("{} of warm-up", seconds(warm_up)) } else { "no warm-up".to_owned() };
    format!("{} in each run, after {warm_up}", seconds(repeats.window_s))
}

fn what_was_run(repeats: &Repeats) -> Section {
    Section::detail("What was run")
        .fact("workload", format!("{}, first seed {}", repeats.workload, repeats.first_seed))
        .fact("model", repeats.engine.model.as_str())
        .fact("server", server(&repeats.engine))
        .fact("window", window(repeats))
}

fn runs_one_by_one(runs: &[RepeatedRun]) -> Section {
    let table = Table::over("Runs", runs)
        .column("run", |run| run.number)
        .column(("seed", 1), |run| run.seed.to_string())
        .column("verdict", |run| match (run.counted, run.replaced) {
            (true, _) => run.outcome.word(),
            (false, true) => "replaced",
            (false, false) => "broken off",
        })
        .column(("completed", 3), |run| format!("{} of {}", count(run.completed), count(run.planned)))
        .column("TTFT p50", |run| run.ttft_p50_ms)
        .column("p99", |run| run.ttft_p99_ms)
        .column(("goodput/s", 2), |run| run.goodput_per_s);
    Section::detail("Runs, ms").table(table)
}

/// A figure over the runs: its name, its key and its values.
type Row<'a> = (String, &'a FigureKey, &'a AcrossRuns);

fn table<'a>(caption: &str, rows: &'a [Row<'a>], runs: u64) -> TableOf<&'a Row<'a>> {
    let detail = |title: &str, worth| TableColumn::new(title).worth(worth).detail();
    let scaled = |key: &FigureKey, value: Option<f64>| value.map(|value| value * key.kind().display_scale());
    Table::over(caption, rows)
        .column("", |(name, ..)| name.clone())
        .column("mean", |(_, key, across)| mean(across, key.kind().display_scale()))
        .column("95 % from", |(_, key, across)| scaled(key, across.interval_low))
        .column("to", |(_, key, across)| scaled(key, across.interval_high))
        .column(("± %", 2), |(.., across)| across.relative_half_width().map(|width| width * 100.0))
        .column(detail("min", 1), |(_, key, across)| scaled(key, across.min))
        .column(detail("max", 1), |(_, key, across)| scaled(key, across.max))
        .column(detail("for ±10 %", 3), |(.., across)| {
            across.relative_half_width().map(|_| match across.runs_for_ten_percent {
                None => "no end".to_owned(),
                Some(needed) if needed <= runs => "enough".to_owned(),
                Some(needed) => format!("+{}", count(needed - runs)),
            })
        })
}

/// The percentiles of the summary level, besides those that the user asked for.
const HEADLINE: [Quantile; 2] = [Quantile::P50, Quantile::P99];

fn is_headline(key: &FigureKey) -> bool {
    match key.statistic {
        Some(Statistic::Percentile(quantile)) => HEADLINE.contains(&quantile) || !quantile.is_usual(),
        _ => false,
    }
}

/// Returns the figures of latencies that users feel, and of the gaps between tokens. They are the mean and the
/// percentiles of each.
fn latency_figures(repeats: &Repeats) -> impl Iterator<Item = (&FigureKey, &AcrossRuns)> {
    repeats.figures.iter().filter(|(key, _)| Metric::MAIN_AND_ITL.contains(&key.metric))
}

fn latencies(repeats: &Repeats) -> Section {
    let heading = format!("Latency over {}, ms", counted(repeats.counted_runs, "run"));
    let rows = latency_figures(repeats)
        .filter_map(|(key, figure)| Some((format!("{} {}", key.metric.title(), key.statistic?), key, figure)));
    let rows: Vec<Row<'_>> = rows.collect();
    let table = table(&heading, &rows, repeats.counted_runs).detail_rows(|_, (_, key, _)| !is_headline(key));
    let advice = (2..ADVISED).contains(&repeats.counted_runs).then(|| {
        Note::advice(format!(
            "{} give wide intervals, as Student's t has few degrees of freedom: {ADVISED} or more are advised",
            counted(repeats.counted_runs, "run")
        ))
    });
    Section::summary(heading).table(explain(table, repeats)).notes(advice)
}

fn flows(repeats: &Repeats) -> Table {
    // Of one GPU it is the rate itself.
    let mean = |metric| repeats.figures.metric(metric).and_then(|figure| figure.mean);
    let is_shared = mean(Metric::OutputTokensPerGpu) != mean(Metric::OutputTokens);
    let is_shown = |key: &FigureKey| is_shared || key.metric != Metric::OutputTokensPerGpu;
    let rows = FLOWS.iter().filter(|(key, _)| is_shown(key));
    let rows = rows.filter_map(|(key, name)| Some(((*name).to_owned(), key, repeats.figures.get(key)?)));
    table("Rates and shares", &rows.collect::<Vec<_>>(), repeats.counted_runs).into()
}

/// Says what the marks mean that the rows use.
fn explain<R: Copy>(table: TableOf<R>, repeats: &Repeats) -> TableOf<R> {
    let shown = || {
        let percentiles = latency_figures(repeats).filter(|(key, _)| key.statistic != Some(Statistic::Mean));
        percentiles.map(|(_, figure)| figure)
    };
    let too_few = format!(
        "too few samples in a run for this percentile: every run may err to the same side, which no interval across \
         runs can show; longer runs cure it, more runs do not{}",
        longer(repeats)
    );
    let why = |reason: Unresolvable| shown().any(|figure| figure.unresolvable == Some(reason));
    let reasons = [
        (Unresolvable::TooFewRuns, "there is one run only"),
        (
            Unresolvable::UnknownInSomeRun,
            "requests that were cut off, at the end of a run or by a time limit, hide its figure",
        ),
        (
            Unresolvable::TooFewBeyond,
            "the runs are too short for it, as requests depend on one another: all may err to the same side; longer \
             runs cure it, more runs do not",
        ),
    ];
    let reasons = reasons.into_iter().filter(|(reason, _)| why(*reason)).map(|(_, words)| words);
    let reasons = listed(reasons, "; or ").map(|reasons| (NOTHING, format!("unresolvable: {reasons}")));
    let open = |bounded: bool| {
        let open = |figure: &AcrossRuns| figure.mean.is_none() && figure.mean_at_least.is_some();
        shown().any(|figure| open(figure) && figure.mean_at_most.is_some() == bounded)
    };
    let most = "depends on requests that were cut off: the mean is at most this, and the interval covers all possible \
        values";
    let least = "among requests that were cut off: known only to exceed this";
    table
        .explain_marks(shown().map(|figure| figure.mark), [&too_few, INDICATIVE])
        .explain(reasons)
        .explain(open(true).then_some(("≤", most)))
        .explain(open(false).then_some((">", least)))
}

/// Says how long windows must be for the next percentile. It is the one that the runs' requests are too few for.
fn longer(repeats: &Repeats) -> String {
    let counted = repeats.runs.iter().filter(|run| run.counted);
    let fewest = counted.map(|run| run.planned).min().filter(|&requests| requests > 0);
    let next = fewest
        .and_then(|requests| Some(Quantile::ALL.into_iter().find(|quantile| requests < quantile.floor())?.need(None)));
    next.map_or(String::new(), |need| format!(": in a run {need}"))
}

/// Says what it would take to know the figures that matter most within a tenth.
fn precision(repeats: &Repeats) -> impl Iterator<Item = String> {
    let headline = [
        (FigureKey::percentile(Quantile::P50, Metric::Ttft), "TTFT p50"),
        (FigureKey::percentile(Quantile::P99, Metric::Ttft), "TTFT p99"),
        (FigureKey::percentile(Quantile::P99, Metric::E2e), "e2e p99"),
        (FigureKey::from_metric(Metric::Goodput), "goodput"),
    ];
    headline.into_iter().filter_map(|(key, name)| {
        let figure = repeats.figures.get(&key)?;
        let width = figure.relative_half_width().filter(|&width| width > TARGET_PRECISION)?;
        let (width, target) = (percent(width), format!("{:.0} %", TARGET_PRECISION * 100.0));
        Some(match figure.runs_for_ten_percent {
            Some(needed) => {
                let more = needed.saturating_sub(repeats.counted_runs).max(1);
                let length = seconds(more as f64 * repeats.load_s);
                let more = counted(more, "more repeat");
                format!("{name} is known to ±{width}; ±{target} takes about {more}, {length} of load")
            }
            None => format!("{name} is known to ±{width}; no feasible number of repeats gives ±{target}"),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::test_runs::{record, run};
    use crate::analysis::{Reason, Rule, Summary, Verdict, summarise};
    use crate::experiment::seed_of_run;
    use crate::record::Repeat;
    use crate::report::render::{self, text};
    use crate::report::{Colour, Extent, Style};

    /// Runs of four requests, each with its first token after the time given.
    fn joined(ttfts_ms: &[u64], objective: &str) -> Repeats {
        asking(&[], ttfts_ms, objective)
    }

    /// Returns runs like those of `joined`, run to show these percentiles.
    fn asking(percentiles: &[f64], ttfts_ms: &[u64], objective: &str) -> Repeats {
        Repeats::new(&summaries(percentiles, ttfts_ms), &[objective.parse().unwrap()]).unwrap()
    }

    fn summaries(percentiles: &[f64], ttfts_ms: &[u64]) -> Vec<Summary> {
        let summary = |(&ttft, number): (&u64, u64)| {
            let records = (0..4).map(|i| {
                let at = i * 100;
                record(i).sent_at(at, at, at).paced(at + ttft, 10, 11).build()
            });
            let mut log = run(1_000, records.collect());
            log.header.repeat = Some(Repeat { number, of: 5, first_seed: 7 });
            log.header.percentiles = percentiles.to_vec();
            log.header.workload.seed = seed_of_run(7, number);
            summarise(&log, &[])
        };
        ttfts_ms.iter().zip(1..).map(summary).collect()
    }

    fn summary(ttfts_ms: &[u64], objective: &str) -> String {
        let style = Style { colour: Colour::Plain, width: 80 };
        text(&document(&joined(ttfts_ms, objective)), style, Extent::Summary)
    }

    #[test]
    fn five_runs_fit_eighty_columns() {
        let style = Style { colour: Colour::Plain, width: 80 };
        let text = text(&document(&joined(&[100, 120, 110, 90, 80], "p50 ttft < 110ms")), style, Extent::Full);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        insta::assert_snapshot!(text);
        let summary = summary(&[100, 120, 110, 90, 80], "p50 ttft < 110ms");
        assert!(summary.lines().count() <= 24 && summary.starts_with("VALID: "), "{summary}");
        insta::assert_snapshot!("five_runs_fit_a_screen", summary);
    }

    #[test]
    fn percentiles_that_were_asked_for_have_rows() {
        let repeats = asking(&[75.0], &[100, 120, 110, 90, 80], "p50 ttft < 110ms");
        let style = Style { colour: Colour::Plain, width: 80 };
        let text = text(&document(&repeats), style, Extent::Summary);
        assert!(text.contains("  TTFT p75 ") && text.contains("  e2e p75 "), "{text}");
        let stored = serde_json::to_value(&repeats).unwrap();
        assert_eq!(stored["figures"]["latency"]["ttft"]["p75_ms"]["mean"], 100.0);
    }

    #[test]
    fn a_run_that_is_replaced_is_named_in_every_format_and_does_not_count() {
        let mut runs = summaries(&[], &[100, 120, 110, 90, 80, 105]);
        let (rule, outcome) = (Rule::ScheduleLag, VerdictOutcome::Invalid);
        let reason = Reason { rule, outcome, runs: None, sentence: "it was late".to_owned(), cure: String::new() };
        runs[2].verdict = Verdict::new(vec![reason], Vec::new());
        let document = document(&Repeats::new(&runs, &[]).unwrap());
        let style = Style { colour: Colour::Plain, width: 80 };
        let text = text(&document, style, Extent::Summary);
        let said = "1 of 6 runs was spoiled and replaced: run-3 (it was late)";
        assert!(text.starts_with("VALID: 5 of 5 runs counted") && text.contains(said), "{text}");
        for shown in [render::markdown(&document), render::html(&document)] {
            assert!(shown.contains("was spoiled and replaced: run") && shown.contains("replaced"), "{shown}");
        }
    }

    #[test]
    fn one_run_of_five_has_no_interval_and_says_so() {
        let style = Style { colour: Colour::Plain, width: 80 };
        let text = text(&document(&joined(&[100], "p50 ttft < 110ms")), style, Extent::Full);
        let row = text.lines().find(|line| line.starts_with("  TTFT p50")).unwrap();
        assert_eq!(
            row.split_whitespace().collect::<Vec<_>>(),
            ["TTFT", "p50", "100", "–", "–", "–", "100", "100", "–"]
        );
        assert!(text.contains("unresolvable: there is one run only"), "{text}");
        assert!(text.contains("1 of 5 runs counted") && !text.contains("Precision"), "{text}");
    }
}
