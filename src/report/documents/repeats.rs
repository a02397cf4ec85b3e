//! Several runs of one workload: the joint verdict, the runs, and their figures with intervals.

use super::parts::diagnosis;
use crate::analysis::wording::{counted, percent, seconds};
use crate::analysis::{
    AcrossRuns, Figure, FigureKey, FigureKind, Metric, Quantile, SampleWarning, Statistic, TARGET_PRECISION,
};
use crate::experiment::{RepeatedRun, Repeats};
use crate::report::document::{
    Document, Level, NOTHING, Note, Section, Table, TableCell, TableColumn, Tone, VerdictLine, figure, known,
    mark,
};
use crate::units::count;

const LATENCIES: [Metric; 4] = [Metric::Ttft, Metric::Tpot, Metric::Itl, Metric::E2e];

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

/// What the runs say together.
pub fn document(repeats: &Repeats) -> Document {
    let engine = &repeats.engine;
    let title = format!("{} on {}, {}", repeats.workload, engine.model, counted(repeats.planned_runs, "run"));
    let runs = counted(repeats.planned_runs, "run");
    let sentence = format!("{} of {runs} counted", count(repeats.counted_runs));
    let verdict = if repeats.verdict.valid {
        VerdictLine::new(Tone::Good, "VALID", sentence)
    } else {
        VerdictLine::new(Tone::Bad, "INVALID", sentence)
    };
    let mut document = Document::new(title).verdict(verdict).about(about(repeats));
    let mut reasons = Section::continued(Level::Summary);
    let broken = repeats.verdict.reasons.iter();
    reasons.notes(broken.map(|reason| Note::error(reason.in_words()).cure(&reason.cure)));
    let mut objectives = Section::summary("Objectives");
    objectives.notes(
        repeats.objectives.iter().map(|judgement| Note::new(judgement.status.into(), &judgement.line)),
    );
    document.add([reasons, objectives, latencies(repeats), flows(repeats), precision(repeats)]);
    document.add([runs_one_by_one(&repeats.runs), what_was_run(repeats)]);
    document.add(repeats.diagnosis.as_ref().map(diagnosis::joint_section));
    document
}

fn about(repeats: &Repeats) -> String {
    let engine = &repeats.engine;
    format!("{} · window {}", engine.engine, window(repeats))
}

fn window(repeats: &Repeats) -> String {
    let warm_up = repeats.load_s - repeats.window_s;
    let warm_up =
        if warm_up > 0.0 { format!("{} of warm-up", seconds(warm_up)) } else { "no warm-up".to_owned() };
    format!("{} in each run, after {warm_up}", seconds(repeats.window_s))
}

fn what_was_run(repeats: &Repeats) -> Section {
    let engine = &repeats.engine;
    let mut section = Section::detail("What was run");
    section.fact("workload", format!("{}, first seed {}", repeats.workload, repeats.first_seed));
    section.fact("model", engine.model.as_str());
    let server = if engine.modelled.is_empty() {
        format!("{} at {}", engine.engine, engine.url)
    } else {
        format!("{}, in virtual time", engine.engine)
    };
    section.fact("server", server);
    section.fact("window", window(repeats));
    section
}

fn runs_one_by_one(runs: &[RepeatedRun]) -> Section {
    let mut section = Section::detail("Runs, ms");
    let column = |title: &str, worth: u8| TableColumn::new(title).worth(worth);
    let columns = [
        "run".into(),
        column("seed", 1),
        "verdict".into(),
        column("completed", 3),
        "TTFT p50".into(),
        "p99".into(),
        column("goodput/s", 2),
    ];
    let mut table = Table::new("Runs", columns);
    for run in runs {
        let verdict = match (run.counted, run.valid) {
            (false, _) => "broken off",
            (true, true) => "VALID",
            (true, false) => "INVALID",
        };
        table.row([
            count(run.number),
            run.seed.to_string(),
            verdict.to_owned(),
            format!("{} of {}", count(run.completed), count(run.planned)),
            known(run.ttft_p50_ms),
            known(run.ttft_p99_ms),
            known(run.goodput_per_s),
        ]);
    }
    section.table(table);
    section
}

fn table(caption: &str) -> Table {
    let column = |title: &str, worth: u8| TableColumn::new(title).worth(worth);
    let columns = [
        "".into(),
        "mean".into(),
        "95 % from".into(),
        "to".into(),
        column("± %", 2),
        column("min", 1).detail(),
        column("max", 1).detail(),
        column("for ±10 %", 3).detail(),
    ];
    Table::new(caption, columns)
}

/// The percentiles of the summary level.
const HEADLINE: [Quantile; 3] = [Quantile::P50, Quantile::P95, Quantile::P99];

fn latencies(repeats: &Repeats) -> Section {
    let heading = format!("Latency over {}, ms", counted(repeats.counted_runs, "run"));
    let mut table = table(&heading);
    for metric in LATENCIES {
        let name = metric.title();
        let percentiles = Quantile::ALL.map(Statistic::Percentile);
        for statistic in [Statistic::Mean].into_iter().chain(percentiles) {
            let Some(figure) = repeats.figures.get(&FigureKey::latency(statistic, metric)) else {
                continue;
            };
            let label = match statistic {
                Statistic::Percentile(quantile) => format!("{name} {quantile}"),
                _ => format!("{name} mean"),
            };
            let cells = cells(label, figure, 1.0, repeats.counted_runs);
            match statistic {
                Statistic::Percentile(quantile) if HEADLINE.contains(&quantile) => table.row(cells),
                _ => table.detail_row(cells),
            }
        }
    }
    explain(&mut table, repeats);
    let mut section = Section::summary(heading);
    section.table(table);
    if (2..ADVISED).contains(&repeats.counted_runs) {
        section.note(Note::advice(format!(
            "{} give wide intervals, as Student's t has few degrees of freedom: {ADVISED} or more are advised",
            counted(repeats.counted_runs, "run")
        )));
    }
    section
}

fn flows(repeats: &Repeats) -> Section {
    let mut table = table("Rates and shares");
    for (subject, name) in FLOWS {
        let scale = if subject.kind() == FigureKind::Share { 100.0 } else { 1.0 };
        if let Some(figure) = repeats.figures.get(&subject) {
            table.row(cells(name.to_owned(), figure, scale, repeats.counted_runs));
        }
    }
    let mut section = Section::summary("Rates and shares over the same runs");
    section.table(table);
    section
}

fn cells(name: String, across: &AcrossRuns, scale: f64, runs: u64) -> [TableCell; 8] {
    let shown = |value: Option<f64>| TableCell::known(value.map(|value| value * scale));
    let mean = across.mean_figure().map_or(NOTHING.to_owned(), |mean| {
        figure(match mean {
            Figure::Exact(mean) => Figure::Exact(mean * scale),
            Figure::Between { low, high } => Figure::Between { low: low * scale, high: high * scale },
            Figure::AtLeast(low) => Figure::AtLeast(low * scale),
        })
    });
    let more = match (across.relative_half_width(), across.runs_for_ten_percent) {
        (None, _) => NOTHING.to_owned(),
        (Some(_), None) => "no end".to_owned(),
        (Some(_), Some(needed)) if needed <= runs => "enough".to_owned(),
        (Some(_), Some(needed)) => format!("+{}", count(needed - runs)),
    };
    [
        name.into(),
        format!("{mean}{}", mark(across.mark)).into(),
        shown(across.interval_low),
        shown(across.interval_high),
        TableCell::known(across.relative_half_width().map(|share| share * 100.0)),
        shown(across.min),
        shown(across.max),
        more.into(),
    ]
}

/// Says what the marks mean that the rows use.
fn explain(table: &mut Table, repeats: &Repeats) {
    let shown = || {
        let subjects = LATENCIES.into_iter().flat_map(|metric| {
            Quantile::ALL.map(|quantile| FigureKey::latency(Statistic::Percentile(quantile), metric))
        });
        subjects.filter_map(|subject| repeats.figures.get(&subject))
    };
    if shown().any(|figure| figure.mark == Some(SampleWarning::TooFewSamples)) {
        let meaning = format!(
            "too few samples in a run for this percentile: every run may err to the same side, which no interval \
             across runs can show; longer runs cure it, more runs do not{}",
            longer(repeats)
        );
        table.explain("*", meaning);
    }
    if shown().any(|figure| figure.mark == Some(SampleWarning::Indicative)) {
        table.explain("~", "indicative: in a run, fewer than ten samples lie above it");
    }
    if shown().any(|figure| figure.unresolvable.is_some()) {
        table.explain(
            NOTHING,
            "unresolvable: there is one run only, or requests that were cut off, at the end of a run or by a time limit, \
             hide its figure",
        );
    }
    let open = |figure: &AcrossRuns| figure.mean.is_none() && figure.mean_at_least.is_some();
    if shown().any(|figure| open(figure) && figure.mean_at_most.is_some()) {
        let meaning = "depends on how long requests took that were cut off: the mean is at most this, and the interval \
                       holds all that it can be";
        table.explain("≤", meaning);
    }
    if shown().any(|figure| open(figure) && figure.mean_at_most.is_none()) {
        table.explain(">", "among requests that were cut off: known only to exceed this");
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
fn precision(repeats: &Repeats) -> Section {
    let p = |quantile, metric| FigureKey::latency(Statistic::Percentile(quantile), metric);
    let headline = [
        (p(Quantile::P50, Metric::Ttft), "TTFT p50"),
        (p(Quantile::P99, Metric::Ttft), "TTFT p99"),
        (p(Quantile::P99, Metric::E2e), "e2e p99"),
        (FigureKey::of(Metric::Goodput), "goodput"),
    ];
    let lines: Vec<_> = headline
        .into_iter()
        .filter_map(|(subject, name)| {
            let figure = repeats.figures.get(&subject)?;
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
        .collect();
    let mut section = Section::detail("Precision");
    for line in lines {
        section.text(line);
    }
    section
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::summarise;
    use crate::analysis::test_runs::{record, run};
    use crate::experiment::seed_of_run;
    use crate::record::Repeat;
    use crate::report::render::text;
    use crate::report::{Colour, Extent, Style};

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
        let text =
            text(&document(&joined(&[100, 120, 110, 90, 80], "p50 ttft < 110ms")), style, Extent::Full);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        insta::assert_snapshot!(text);
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
