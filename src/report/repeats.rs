//! Several runs of one workload as a person reads them: the joint verdict, the runs, their figures with intervals.

use super::data::json::indented;
use super::grid::{ALWAYS, Grid, NOTHING, cell};
use super::page::{Page, Style, Tone};
use super::{diagnosis, latency, promises};
use crate::analysis::wording::{counted, percent, seconds};
use crate::analysis::{Figure, FigureKey, FigureKind, Metric, Quantile, SampleWarning, Statistic};
use crate::experiment::{AcrossRuns, RepeatedRun, Repeats, TARGET_PRECISION};
use crate::units::count;

const LATENCIES: [(Metric, &str); 4] =
    [(Metric::Ttft, "TTFT"), (Metric::Tpot, "TPOT"), (Metric::Itl, "ITL"), (Metric::E2e, "e2e")];

/// The rows that are neither latencies nor, with their unit, of one another's kind; a share is shown in percent.
const FLOWS: [(FigureKey, &str); 5] = [
    (FigureKey::of(Metric::RequestRate), "requests/s"),
    (FigureKey::of(Metric::OutputTokens), "output tokens/s"),
    (FigureKey::of(Metric::Goodput), "goodput/s"),
    (FigureKey::of(Metric::SloAttainment), "SLO attainment, %"),
    (FigureKey::of(Metric::ErrorRate), "errors, %"),
];

/// Runs from which on an interval is worth having.
const ADVISED: u64 = 5;

/// The runs together as indented JSON with a line break at its end.
pub fn repeats_json(repeats: &Repeats) -> serde_json::Result<String> {
    indented(repeats)
}

/// The runs together as text.
#[must_use]
pub fn repeats_text(repeats: &Repeats, style: Style) -> String {
    let mut page = Page::new(style);
    verdict(&mut page, repeats);
    what_was_run(&mut page, repeats);
    runs(&mut page, &repeats.runs);
    latencies(&mut page, repeats);
    flows(&mut page, repeats);
    notes(&mut page, repeats);
    precision(&mut page, repeats);
    let judgements = repeats.objectives.iter().map(|judgement| (judgement.status, judgement.line.as_str()));
    promises::judgements(&mut page, judgements);
    if let Some(diagnosis) = &repeats.diagnosis {
        diagnosis::joint_section(&mut page, diagnosis);
    }
    page.finish()
}

fn verdict(page: &mut Page, repeats: &Repeats) {
    let runs = counted(repeats.planned_runs, "run");
    let line = format!("{} of {runs} counted", count(repeats.counted_runs));
    let (tone, word) = if repeats.verdict.valid { (Tone::Good, "VALID") } else { (Tone::Bad, "INVALID") };
    page.line(tone, &format!("{word}: {line}"));
    for reason in &repeats.verdict.reasons {
        page.entry(Tone::Bad, "  ✗ ", &reason.in_words());
        page.entry(Tone::Normal, "    → ", &reason.cure);
    }
}

fn what_was_run(page: &mut Page, repeats: &Repeats) {
    let engine = &repeats.engine;
    page.blank();
    page.entry(
        Tone::Normal,
        "  workload   ",
        &format!("{}, first seed {}", repeats.workload, repeats.first_seed),
    );
    page.entry(Tone::Normal, "  model      ", &engine.model);
    let server = if engine.modelled.is_empty() {
        format!("{} at {}", engine.engine, engine.url)
    } else {
        format!("{}, in virtual time", engine.engine)
    };
    page.entry(Tone::Normal, "  server     ", &server);
    let warm_up = repeats.load_s - repeats.window_s;
    let warm_up =
        if warm_up > 0.0 { format!("{} of warm-up", seconds(warm_up)) } else { "no warm-up".to_owned() };
    let window = format!("{} in each run, after {warm_up}", seconds(repeats.window_s));
    page.entry(Tone::Normal, "  window     ", &window);
}

fn runs(page: &mut Page, runs: &[RepeatedRun]) {
    page.heading("Runs, ms");
    let mut grid = Grid::new(&[
        ("run", ALWAYS),
        ("seed", 1),
        ("verdict", ALWAYS),
        ("completed", 3),
        ("TTFT p50", ALWAYS),
        ("p99", ALWAYS),
        ("goodput/s", 2),
    ]);
    for run in runs {
        let verdict = match (run.counted, run.valid) {
            (false, _) => "broken off",
            (true, true) => "VALID",
            (true, false) => "INVALID",
        };
        grid.row([
            count(run.number),
            run.seed.to_string(),
            verdict.to_owned(),
            format!("{} of {}", count(run.completed), count(run.planned)),
            known(run.ttft_p50_ms),
            known(run.ttft_p99_ms),
            known(run.goodput_per_s),
        ]);
    }
    page.grid(grid);
}

fn known(value: Option<f64>) -> String {
    value.map_or(NOTHING.to_owned(), cell)
}

fn grid() -> Grid {
    Grid::new(&[
        ("", ALWAYS),
        ("mean", ALWAYS),
        ("95 % from", ALWAYS),
        ("to", ALWAYS),
        ("± %", 2),
        ("min", 1),
        ("max", 1),
        ("for ±10 %", 3),
    ])
}

fn latencies(page: &mut Page, repeats: &Repeats) {
    page.heading(&format!("Latency over {}, ms", counted(repeats.counted_runs, "run")));
    let mut grid = grid();
    for (metric, name) in LATENCIES {
        let percentiles =
            Quantile::ALL.map(|quantile| (quantile.to_string(), Statistic::Percentile(quantile)));
        for (statistic, subject) in [("mean".to_owned(), Statistic::Mean)].into_iter().chain(percentiles) {
            if let Some(figure) = repeats.figures.figure(&FigureKey::latency(subject, metric)) {
                grid.row(cells(format!("{name} {statistic}"), figure, 1.0, repeats.counted_runs));
            }
        }
    }
    page.grid(grid);
}

fn flows(page: &mut Page, repeats: &Repeats) {
    page.heading("Rates and shares over the same runs");
    let mut grid = grid();
    for (subject, name) in FLOWS {
        let scale = if subject.kind() == FigureKind::Share { 100.0 } else { 1.0 };
        if let Some(figure) = repeats.figures.figure(&subject) {
            grid.row(cells(name.to_owned(), figure, scale, repeats.counted_runs));
        }
    }
    page.grid(grid);
}

fn cells(name: String, figure: &AcrossRuns, scale: f64, runs: u64) -> [String; 8] {
    let shown = |value: Option<f64>| known(value.map(|value| value * scale));
    let mean = figure.mean_figure().map_or(NOTHING.to_owned(), |mean| {
        latency::figure(match mean {
            Figure::Exact(mean) => Figure::Exact(mean * scale),
            Figure::Between { low, high } => Figure::Between { low: low * scale, high: high * scale },
            Figure::AtLeast(low) => Figure::AtLeast(low * scale),
        })
    });
    let sign = latency::sign(figure.mark);
    let more = match (figure.relative_half_width(), figure.runs_for_ten_percent) {
        (None, _) => NOTHING.to_owned(),
        (Some(_), None) => "no end".to_owned(),
        (Some(_), Some(needed)) if needed <= runs => "enough".to_owned(),
        (Some(_), Some(needed)) => format!("+{}", count(needed - runs)),
    };
    [
        name,
        format!("{mean}{sign}"),
        shown(figure.interval_low),
        shown(figure.interval_high),
        known(figure.relative_half_width().map(|share| share * 100.0)),
        shown(figure.min),
        shown(figure.max),
        more,
    ]
}

fn notes(page: &mut Page, repeats: &Repeats) {
    let shown = || {
        let subjects = LATENCIES.into_iter().flat_map(|(metric, _)| {
            Quantile::ALL.map(|quantile| FigureKey::latency(Statistic::Percentile(quantile), metric))
        });
        subjects.filter_map(|subject| repeats.figures.figure(&subject))
    };
    let note = |page: &mut Page, sign: &str, text: &str| page.entry(Tone::Faint, sign, text);
    if shown().any(|figure| figure.mark == Some(SampleWarning::TooFewSamples)) {
        let text = format!(
            "too few samples in a run for this percentile: every run may err to the same side, which no interval \
             across runs can show; longer runs cure it, more runs do not{}",
            longer(repeats)
        );
        note(page, "  * ", &text);
    }
    if shown().any(|figure| figure.mark == Some(SampleWarning::Indicative)) {
        note(page, "  ~ ", "indicative: in a run, fewer than ten samples lie above it");
    }
    if shown().any(|figure| figure.unresolvable.is_some()) {
        note(
            page,
            "  – ",
            "unresolvable: there is one run only, or requests that were cut off, at the end of a run or by a time limit, \
             hide its figure",
        );
    }
    let open = |figure: &AcrossRuns| figure.mean.is_none() && figure.mean_at_least.is_some();
    if shown().any(|figure| open(figure) && figure.mean_at_most.is_some()) {
        let text = "depends on how long requests took that were cut off: the mean is at most this, and the interval holds \
                    all that it can be";
        note(page, "  ≤ ", text);
    }
    if shown().any(|figure| open(figure) && figure.mean_at_most.is_none()) {
        note(page, "  > ", "among requests that were cut off: known only to exceed this");
    }
    if (2..ADVISED).contains(&repeats.counted_runs) {
        let text = format!(
            "{} make wide intervals, as Student's t has few degrees of freedom: {ADVISED} or more are advised",
            counted(repeats.counted_runs, "run")
        );
        note(page, "  → ", &text);
    }
}

/// How long windows must be for the next percentile that the runs' requests are too few for.
fn longer(repeats: &Repeats) -> String {
    let counted = repeats.runs.iter().filter(|run| run.counted);
    let fewest = counted.map(|run| run.planned).min().filter(|&requests| requests > 0);
    let next = fewest.and_then(|requests| {
        let next = Quantile::ALL.into_iter().find(|quantile| quantile.floor() > requests)?;
        Some((next, next.floor() as f64 * repeats.window_s / requests as f64))
    });
    next.map_or(String::new(), |(quantile, window_s)| {
        let length = seconds(window_s.ceil());
        format!(": {quantile} of requests needs windows of about {length} at this rate")
    })
}

/// What it would take to know the figures that matter most within a tenth.
fn precision(page: &mut Page, repeats: &Repeats) {
    let p = |quantile, metric| FigureKey::percentile(quantile, metric);
    let headline = [
        (p(Quantile::P50, Metric::Ttft), "TTFT p50"),
        (p(Quantile::P99, Metric::Ttft), "TTFT p99"),
        (p(Quantile::P99, Metric::E2e), "e2e p99"),
        (FigureKey::of(Metric::Goodput), "goodput"),
    ];
    let lines: Vec<_> = headline
        .into_iter()
        .filter_map(|(subject, name)| {
            let figure = repeats.figures.figure(&subject)?;
            let width = figure.relative_half_width().filter(|&width| width > TARGET_PRECISION)?;
            let (width, target) = (percent(width), format!("{:.0} %", TARGET_PRECISION * 100.0));
            Some(match figure.runs_for_ten_percent {
                Some(needed) => {
                    let more = needed.saturating_sub(repeats.counted_runs).max(1);
                    let length = seconds(more as f64 * repeats.load_s);
                    let more = counted(more, "more repeat");
                    format!("{name} is known to ±{width}; ±{target} takes about {more}, {length} of load")
                }
                None => format!(
                    "{name} is known to ±{width}; no number of repeats that could be flown gives ±{target}"
                ),
            })
        })
        .collect();
    if lines.is_empty() {
        return;
    }
    page.heading("How sure");
    for line in &lines {
        page.entry(Tone::Normal, "  ", line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::summarise;
    use crate::analysis::test_runs::{record, run};
    use crate::experiment::seed_of_run;
    use crate::record::Repeat;
    use crate::report::Colour;

    /// Runs of four requests, each with its first token after the time given.
    fn joined(ttfts_ms: &[u64], objective: &str) -> Repeats {
        let summary = |(&ttft, number): (&u64, u64)| {
            let records = (0..4).map(|i| {
                let at = i * 100;
                record(i).sent_at(at, at, at).paced(at + ttft, 10, 11).build()
            });
            let mut log = run(1_000, records.collect());
            log.header.repeat = Some(Repeat { number, of: 5, first_seed: 7 });
            log.header.workload.seed = seed_of_run(7, number);
            summarise(&log, &[])
        };
        let summaries: Vec<_> = ttfts_ms.iter().zip(1..).map(summary).collect();
        Repeats::of(&summaries, &[objective.parse().unwrap()]).unwrap()
    }

    #[test]
    fn five_runs_fit_eighty_columns() {
        let style = Style { colour: Colour::Plain, width: 80 };
        let text = repeats_text(&joined(&[100, 120, 110, 90, 80], "p50 ttft < 110ms"), style);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn one_run_of_five_has_no_interval_and_says_so() {
        let style = Style { colour: Colour::Plain, width: 80 };
        let text = repeats_text(&joined(&[100], "p50 ttft < 110ms"), style);
        let row = text.lines().find(|line| line.starts_with("  TTFT p50")).unwrap();
        assert_eq!(
            row.split_whitespace().collect::<Vec<_>>(),
            ["TTFT", "p50", "100", "–", "–", "–", "100", "100", "–"]
        );
        assert!(text.contains("unresolvable: there is one run only"), "{text}");
        assert!(text.contains("1 of 5 runs counted") && !text.contains("How sure"), "{text}");
    }
}
