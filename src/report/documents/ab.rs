//! An A/B test as a document: the verdict, what was compared, the metrics that decide, the rounds.

use super::parts::cells::{p_value, served_by, with_unit};
use crate::analysis::FigureKind;
use crate::analysis::wording::{counted, percent};
use crate::experiment::{
    AbMetric, AbOverall, AbPair, AbSide, AbTest, AbVerdict, CompletedRound, CompletedSide, DifferenceScale,
};
use crate::report::chart::{
    Axis, LineStyle, Palette, Plot, Point, ReferenceLine, Row, Series, Zone, ZoneKind,
};
use crate::report::document::{
    Chart, Document, Level, NOTHING, Note, Section, Table, TableColumn, Tone, VerdictLine, cell,
};
use crate::units::count;

/// Metrics that a screen has room for.
const MOST: usize = 10;

/// What the intervals and p-values are.
const METHOD: &str = "intervals and p are those of the exact signed-rank test over rounds (Hodges and Lehmann, Wilcoxon); Holm's p \
                      accounts for all metrics that decide; equivalent: the 90 % interval lies within the margin";

/// The A/B test as a document.
pub fn document(test: &AbTest) -> Document {
    let tone = match test.verdict {
        AbOverall::Better | AbOverall::Equivalent => Tone::Good,
        AbOverall::Worse | AbOverall::Mixed | AbOverall::Invalid => Tone::Bad,
        AbOverall::Inconclusive | AbOverall::Unfinished => Tone::Neutral,
    };
    let verdict = VerdictLine::new(tone, test.verdict.word().to_uppercase(), test.sentence.clone());
    let mut document = Document::new(format!("A/B test of {}", test.workload)).verdict(verdict);
    let chosen = counted(test.metrics.len() as u64, "metric");
    let decides = Section::summary(format!("B against A: {chosen}, chosen before the first round"))
        .with_table(metrics("B against A by metric", &test.metrics));
    let mut charts = Section::detail("Charts");
    charts.charts(forest(test, &test.metrics).into_iter().chain(test.metrics.iter().filter_map(by_round)));
    document.add([what_was_compared(test), conditions(test), decides, charts, rounds(test)]);
    document.add(test.classes.iter().map(|class| {
        let mut section = Section::detail(format!("Class {} alone: {}", class.class, class.verdict.word()))
            .with_table(metrics(&format!("B against A, class {}", class.class), &class.metrics));
        section.charts(forest(test, &class.metrics));
        section
    }));
    document.add([explored(test), power(test)]);
    document
}

fn what_was_compared(test: &AbTest) -> Section {
    let mut section = Section::continued(Level::Summary);
    section.notes(test.notes.iter().map(Note::info));
    let sides = &test.sides;
    section.fact("A", served_by(&sides.a, &sides.a_deployment));
    section.fact("B", served_by(&sides.b, &sides.b_deployment));
    let unlike = sides.unlike.iter();
    section.facts("differs", unlike.map(|unlike| format!("{}: A {}, B {}", unlike.what, unlike.a, unlike.b)));
    section.fact(
        "rounds",
        format!(
            "{} of {} counted, planned before the first; in the order A B, B A, A B, …; a verdict needs at least {}",
            count(test.counted_rounds),
            count(test.planned_rounds),
            count(test.fewest_rounds)
        ),
    );
    section
}

fn conditions(test: &AbTest) -> Section {
    let mut section = Section::continued(Level::Page);
    section.fact("workload", format!("{}, first seed {}", test.workload, test.first_seed));
    section.fact("margin", test.margin_in_words());
    section.more(["ab"]);
    section
}

fn explored(test: &AbTest) -> Section {
    let mut section = Section::detail("Other metrics (exploratory)");
    if !test.explored.is_empty() {
        section.remark("without a verdict: among many figures some differ by chance");
        section.table(metrics("Other metrics", &test.explored));
    }
    section
}

/// Figures of both sides with their difference; a verdict where the metric was chosen before the rounds.
fn metrics(caption: &str, metrics: &[AbMetric]) -> Table {
    let is_judged = metrics.iter().any(|metric| metric.verdict.is_some());
    let end = |end: usize| move |metric: &AbMetric| in_words(metric, change(metric)[end]);
    let mut table = Table::of(caption, metrics)
        .column("", titled)
        .column("A", |metric| figure(metric, metric.a))
        .column("B", |metric| figure(metric, metric.b))
        .column("change", end(0))
        .column(("95 % from", 5), end(1))
        .column(("to", 5), end(2))
        .column(("p", 3), |metric| metric.p.map(p_value))
        .column_if(is_judged, ("Holm's p", 4), |metric| metric.adjusted_p.map(p_value))
        .column_if(is_judged, "verdict", |metric| metric.verdict.map(AbVerdict::word))
        .table();
    table.rows_in_brief(&(0..MOST), "metric");
    table
}

/// The change of B against A with the ends of its interval: in percent where the metric has a ratio, else in its own unit.
fn change(metric: &AbMetric) -> [Option<f64>; 3] {
    let (estimate, scaled): (_, fn(f64) -> f64) = match metric.scale {
        DifferenceScale::Ratio => (metric.ratio, |ratio| (ratio - 1.0) * 100.0),
        DifferenceScale::Difference if metric.unit == FigureKind::Share => {
            (metric.difference, |share| share * 100.0)
        }
        DifferenceScale::Difference => (metric.difference, |difference| difference),
    };
    let Some(estimate) = estimate else { return [None; 3] };
    [Some(estimate.value), estimate.low, estimate.high].map(|value| value.map(scaled))
}

fn in_words(metric: &AbMetric, change: Option<f64>) -> String {
    let unit = match (metric.scale, metric.unit) {
        (DifferenceScale::Ratio, _) => " %",
        (DifferenceScale::Difference, FigureKind::Share) => " pt",
        (DifferenceScale::Difference, _) => "",
    };
    let Some(value) = change else { return NOTHING.to_owned() };
    let sign = match value {
        more if more > 0.0 => "+",
        less if less < 0.0 => "−",
        _ => "",
    };
    format!("{sign}{}{unit}", cell(value.abs()))
}

/// A metric's name with the unit of its figures.
fn titled(metric: &AbMetric) -> String {
    with_unit(&metric.metric, metric.unit)
}

/// A figure in this unit.
fn figure(metric: &AbMetric, value: Option<f64>) -> String {
    value.map_or(NOTHING.to_owned(), |value| cell(value * metric.unit.display_scale()))
}

/// The differences of metrics that have a ratio; nothing where none has.
fn forest(test: &AbTest, metrics: &[AbMetric]) -> Option<Chart> {
    let mut rows = Vec::new();
    let mut series = Vec::new();
    for metric in metrics.iter().filter(|metric| metric.scale == DifferenceScale::Ratio) {
        let palette = match metric.verdict {
            Some(AbVerdict::Better | AbVerdict::Equivalent) => Palette::Third,
            Some(AbVerdict::Worse) => Palette::Second,
            Some(AbVerdict::Inconclusive) | None => Palette::First,
        };
        let [value, low, high] = change(metric);
        let [shown, from, to] = [value, low, high].map(|end| in_words(metric, end));
        let ends = if low.is_some() { format!(" ({from} to {to})") } else { String::new() };
        let verdict = metric.verdict.map_or("", AbVerdict::word);
        series.extend(value.map(|value| {
            let point = Point { low, high, ..Point::at(value, rows.len() as f64, String::new()) };
            Series::points("", palette, LineStyle::None, vec![point])
        }));
        let words = format!("{}: {shown}{ends}, {verdict}", metric.metric);
        rows.push(Row { name: metric.metric.clone(), words });
    }
    if series.is_empty() {
        return None;
    }
    let margin = test.margin * 100.0;
    let ends = Series::extent(&series, |point| point.x).into_iter().chain([-margin, margin]);
    let axis = Axis::around("B against A, %", ends.collect::<Vec<_>>());
    let description = format!("Differences of {} metrics between B and A", rows.len());
    let label = format!("± {}", percent(test.margin));
    let plot = Plot::rows(description, axis, rows, series)
        .with_rules([ReferenceLine::Place(0.0, "no difference".to_owned())])
        .with_zones([Zone { from: -margin, to: margin, kind: ZoneKind::Marked, label }]);
    let hint = "whiskers: 95 % intervals; shaded: within the margin";
    Some(Chart::new("Difference by metric", plot).hint(hint))
}

fn by_round(metric: &AbMetric) -> Option<Chart> {
    let side = |side: AbSide, palette| {
        let points = metric.figures.iter().filter_map(|pair| {
            let value = match side {
                AbSide::A => pair.a,
                AbSide::B => pair.b,
            };
            let words = format!("round {}, {side}: {}", pair.round, figure(metric, value));
            Some(Point::at(pair.round as f64, value? * metric.unit.display_scale(), words))
        });
        Series::points(side.to_string(), palette, LineStyle::Solid, points.collect())
    };
    let series = vec![side(AbSide::A, Palette::First), side(AbSide::B, Palette::Second)];
    let values: Vec<f64> = series.iter().flat_map(Series::marked).map(|point| point.y).collect();
    if values.iter().all(|value| *value == 0.0) {
        return None;
    }
    let last = metric.figures.iter().map(|pair| pair.round).max().unwrap_or(1);
    let title = titled(metric);
    let plot = Plot::new(
        format!("{} of A and B round by round", metric.metric),
        Axis::counted("round", last),
        Axis::from_zero(&title, values),
        series,
    );
    let heading = format!("{title}, round by round");
    Some(
        Chart::new(&heading, plot).behind(
            Table::of(&heading, &metric.figures)
                .column("round", |pair| pair.round.to_string())
                .column("A", |pair| figure(metric, pair.a))
                .column("B", |pair| figure(metric, pair.b))
                .table(),
        ),
    )
}

fn rounds(test: &AbTest) -> Section {
    let first = test.metrics.first();
    let title = first.map_or(String::new(), titled);
    let shown = |round: &CompletedRound, read: fn(&AbPair) -> Option<f64>| {
        let pair = first?.figures.iter().find(|pair| pair.round == round.number);
        Some(figure(first?, pair.and_then(read)))
    };
    let is_any_left_out = test.rounds.iter().any(|round| !round.left_out.is_empty());
    Section::detail("Rounds").with_table(
        Table::of("Rounds", &test.rounds)
            .column("round", |round| round.number)
            .column("order", |round| round.order.map(|side| side.to_string()).join(" "))
            .column(("seed", 1), |round| round.seed.to_string())
            .column(("A completed", 4), |round| completed(&round.a))
            .column(("B completed", 4), |round| completed(&round.b))
            .column(format!("A {title}"), |round| shown(round, |pair| pair.a))
            .column(format!("B {title}"), |round| shown(round, |pair| pair.b))
            .column("counts", |round| if round.counted { "yes" } else { "INVALID" })
            .column_if(is_any_left_out, TableColumn::new("why not").left(), |round| why_not(&round.left_out))
            .table(),
    )
}

fn completed(side: &CompletedSide) -> String {
    format!("{} of {}", count(side.completed), count(side.planned))
}

/// Why a round does not count: the first reason, and how many more there are.
fn why_not(reasons: &[String]) -> String {
    match reasons {
        [] => String::new(),
        [only] => only.clone(),
        [first, more @ ..] => {
            format!("{first} (and {} in ab.json)", counted(more.len() as u64, "more reason"))
        }
    }
}

/// Which differences such rounds can detect, given their spread.
fn power(test: &AbTest) -> Section {
    let mut section = Section::detail(format!("Detectable differences ({:.0} % power)", test.power * 100.0));
    let spreading: Vec<_> =
        test.metrics.iter().filter(|metric| metric.spread.is_some_and(|spread| spread > 0.0)).collect();
    if !spreading.iter().any(|metric| metric.detectable.is_some()) {
        return section;
    }
    let length = |metric: &AbMetric, length: Option<f64>| length.map(|length| metric.length_in_words(length));
    section.table(
        Table::of("Detectable differences", spreading)
            .column("", |metric| metric.metric.clone())
            .column("spread over rounds", |metric| length(metric, metric.spread))
            .column("detectable difference", |metric| length(metric, metric.detectable))
            .column("rounds for margin", |metric| match metric.rounds_for_margin {
                Some(rounds) if rounds <= metric.rounds => "enough".to_owned(),
                Some(rounds) => format!("about {}", count(rounds)),
                None => "no number is enough".to_owned(),
            })
            .table(),
    );
    section.remark(METHOD);
    section
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::test_runs::{record, run};
    use crate::analysis::{Summary, summarise};
    use crate::experiment::{AbDesign, AbRound, InvalidRuns};
    use crate::record::Repeat;
    use crate::report::render::{self, Extent, assert_page};
    use crate::report::{Colour, Style};

    const HOSTILE: &str =
        "</title><script src=https://evil.example/x.js></script>\u{202e}<img onerror=alert(1)>";

    /// A run of four requests whose first tokens take about as long as given.
    fn side(round: u64, ttft: u64, url: &str) -> Summary {
        let records = (0..4)
            .map(|i| record(i).sent_at(i * 100, i * 100, i * 100).paced(i * 101 + ttft, 10, 11).build());
        let mut log = run(1_000, records.collect());
        log.header.repeat = Some(Repeat { number: round, of: 8, first_seed: 7 });
        log.header.engine.url = url.to_owned();
        summarise(&log, &[])
    }

    fn test_of(rounds: u64, new: &str) -> AbTest {
        let runs: Vec<_> = (1..=rounds)
            .map(|round| {
                let jitter = round * round % 7;
                (round, side(round, 100 + jitter, "http://old:8000"), side(round, 130 + 2 * jitter, new))
            })
            .collect();
        let rounds: Vec<_> = runs.iter().map(|(number, a, b)| AbRound { number: *number, a, b }).collect();
        let metrics = ["p50 ttft", "p50 tpot"].map(|metric| metric.parse().unwrap());
        let design = AbDesign::new(8, metrics.into(), 0.05).unwrap();
        AbTest::of(&design, &rounds, InvalidRuns::LeftOut).unwrap()
    }

    fn test(rounds: u64) -> AbTest {
        test_of(rounds, "http://new:8000")
    }

    fn text(test: &AbTest, width: usize) -> String {
        render::text(&document(test), Style { colour: Colour::Plain, width }, Extent::Full)
    }

    #[test]
    fn eight_rounds_fit_eighty_columns() {
        let text = text(&test(8), 80);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn the_list_of_rounds_has_shares_in_percent_as_the_table_has() {
        let mut found = test(8);
        found.metrics.reverse();
        let pair = &mut found.metrics[0].figures[0];
        (pair.a, pair.b) = (Some(0.95), Some(0.975));
        let text = text(&found, 120);
        let round = text.lines().find(|line| line.starts_with("  1 ")).unwrap();
        assert!(
            text.contains("A error_rate, %") && round.contains("95.0") && round.contains("97.5"),
            "{text}"
        );
        // The axis of its chart is in percent too.
        assert!(render::html(&document(&found)).contains(">80</text>"));
    }

    #[test]
    fn a_test_that_stopped_early_gets_no_verdict() {
        let stopped = test(7);
        let text = text(&stopped, 100);
        assert!(text.starts_with("UNFINISHED: so far, 7 of 8 rounds: no verdict"), "{text}");
        assert!(stopped.metrics.iter().all(|metric| metric.verdict.is_none()));
        assert!(!text.contains("better") && !text.contains("worse"), "{text}");
    }

    #[test]
    fn a_detectable_difference_has_the_unit_of_the_difference() {
        let mut found = test(8);
        let metric = &mut found.metrics[0];
        (metric.unit, metric.scale, metric.spread) =
            (FigureKind::Rate, DifferenceScale::Difference, Some(1.0));
        metric.detectable = Some(1.5);
        assert!(text(&found, 100).contains("1.50/s"));
    }

    /// The page has the verdict, the metrics with intervals in charts and in a table, and every round; what servers call
    /// themselves is text.
    #[test]
    fn a_page_holds_the_verdict_its_figures_and_its_rounds() {
        let test = test_of(8, HOSTILE);
        let page = render::html(&document(&test));
        assert_page(&page);
        assert!(page.contains("<span class=\"bad\">"), "{page}");
        for part in ["p50 ttft", "p50 tpot", "round by round", "95 % intervals", "± 5 %", "8 of 8 counted"] {
            assert!(page.contains(part), "no {part} in {page}");
        }
        assert!(page.contains("&lt;script src=https://evil.example/x.js&gt;"), "{page}");
        // One chart of differences and one of the rounds of each metric; a row for each round.
        assert!(page.matches("<svg").count() >= 3, "{}", page.matches("<svg").count());
        let rounds = page.split(">Rounds</h2>").nth(1).unwrap();
        assert_eq!(rounds.matches("4 of 4").count(), 16, "both sides of every round");
        let stopped = render::html(&document(&self::test(5)));
        assert_page(&stopped);
        assert!(
            stopped.contains("so far, 5 of 8 rounds: no verdict") && !stopped.contains("class=\"bad\""),
            "{stopped}"
        );
    }
}
