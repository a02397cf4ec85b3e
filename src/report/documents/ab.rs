//! An A/B test as a document: the verdict, what was compared, the metrics that decide, the rounds.

use super::compare::label;
use super::parts::cells::{p_value, served_by};
use crate::analysis::FigureKind;
use crate::analysis::statistics::Estimate;
use crate::experiment::{AbMetric, AbPair, AbSide, AbTest, AbVerdict, CompletedRound, CompletedSide, DifferenceScale};
use crate::report::chart::{Axis, LineStyle, Palette, Plot, Point, ReferenceLine, Row, Series, Zone, ZoneKind};
use crate::report::document::{
    Chart, Document, KeyFigure, Level, NOTHING, Note, Section, Table, Tone, VerdictLine, cell, known,
};
use crate::units::{count, counted, joined, percent, span};

/// Metrics that a screen has room for.
const MOST: usize = 10;

/// Explanation of the intervals and p-values.
const METHOD: &str = "intervals and p are those of the exact signed-rank test over rounds (Hodges and Lehmann, \
    Wilcoxon); Holm's p accounts for all metrics that decide; equivalent: the 90 % interval lies within the margin";

/// The A/B test as a document.
pub fn document(test: &AbTest) -> Document {
    let tone = match test.verdict {
        _ if test.caution.is_some() => Tone::Bad,
        AbVerdict::Better | AbVerdict::Equivalent => Tone::Good,
        AbVerdict::Worse | AbVerdict::Mixed | AbVerdict::Invalid => Tone::Bad,
        AbVerdict::Inconclusive | AbVerdict::Unfinished => Tone::Neutral,
    };
    let verdict = if test.caution.is_some() { AbVerdict::Invalid } else { test.verdict };
    let verdict = VerdictLine::new(tone, verdict.word().to_uppercase(), test.sentence.clone());
    let chosen = counted(test.metrics.len() as u64, "metric");
    let decides = Section::summary(format!("B against A: {chosen}, chosen before the first round"))
        .table(metrics("B against A by metric", &test.metrics));
    let charts = forest(test, &test.metrics).into_iter().chain(test.metrics.iter().filter_map(by_round));
    let classes = test.classes.iter().map(|class| {
        Section::detail(format!("Class {} alone: {}", class.class, class.verdict.word()))
            .table(metrics(&format!("B against A, class {}", class.class), &class.metrics))
            .charts(forest(test, &class.metrics))
    });
    Document::new(format!("A/B test of {}", test.workload))
        .verdict(verdict)
        .headline(headline(test))
        .with([what_was_compared(test), conditions(test), decides])
        .with([Section::page("Charts").charts(charts), rounds(test)])
        .with(classes)
        .with([explored(test), power(test)])
}

/// The change of the first metric that shows a difference. If none does, it is that of the one that was chosen first.
fn headline(test: &AbTest) -> Option<KeyFigure> {
    let differs = |metric: &&AbMetric| matches!(metric.verdict, Some(AbVerdict::Better | AbVerdict::Worse));
    let metric = test.metrics.iter().find(differs).or(test.metrics.first())?;
    let by = change(metric)?;
    let interval = interval(metric, by).map(|ends| format!("95 % interval {ends}"));
    let name = format!("{} of B against A in rounds", metric.metric);
    Some(KeyFigure::new(name, in_words(metric, by.value), "").below(interval))
}

fn what_was_compared(test: &AbTest) -> Section {
    let sides = &test.sides;
    let unlike = sides.unlike.iter();
    let rounds = format!(
        "{} of {} counted, planned before the first; {}; a verdict needs at least {}",
        count(test.counted_rounds),
        count(test.planned_rounds),
        test.order.in_words(),
        count(test.fewest_rounds)
    );
    Section::continued(Level::Summary)
        .notes(test.notes.iter().map(Note::info))
        .fact("A", served_by(&sides.a, &sides.a_deployment))
        .fact("B", served_by(&sides.b, &sides.b_deployment))
        .facts("differs", unlike.map(|unlike| format!("{}: A {}, B {}", unlike.what, unlike.a, unlike.b)))
        .fact("rounds", rounds)
}

fn conditions(test: &AbTest) -> Section {
    Section::continued(Level::Page)
        .fact("workload", format!("{}, first seed {}", test.workload, test.first_seed))
        .fact("margin", test.margin_in_words())
        .more(["ab"])
}

fn explored(test: &AbTest) -> Section {
    let any = !test.explored.is_empty();
    Section::detail("Other metrics (exploratory)")
        .remark(any.then_some("without a verdict: among many figures some differ by chance"))
        .table(metrics("Other metrics", &test.explored))
}

/// Returns the figures of both sides with their difference. A metric that was chosen before the rounds has a verdict.
fn metrics(caption: &str, metrics: &[AbMetric]) -> Table {
    let is_judged = metrics.iter().any(|metric| metric.verdict.is_some());
    let other = metrics.iter().find_map(medians_apart).unwrap_or_default();
    let meaning = "B against A of the same round (Hodges–Lehmann over all), not of the medians A and B";
    Table::over(caption, metrics)
        .column("", |metric| label(&metric.metric))
        .column("A", |metric| figure(metric, metric.a))
        .column("B", |metric| figure(metric, metric.b))
        .column("in rounds", |metric| Some(in_words(metric, change(metric)?.value)))
        .column(("95 % from", 5), |metric| Some(in_words(metric, change(metric)?.ends().0?)))
        .column(("to", 5), |metric| Some(in_words(metric, change(metric)?.ends().1?)))
        .column(("p", 3), |metric| metric.p.map(p_value))
        .column_if(is_judged, ("Holm's p", 4), |metric| metric.adjusted_p.map(p_value))
        .column_if(is_judged, "verdict", |metric| metric.verdict.map(AbVerdict::word))
        .in_brief(&(0..MOST), "metric")
        .explain([("in rounds", format!("{meaning}{other}"))])
        .into()
}

/// Returns the change between the medians of both sides, in words. `None` where it is the same as that in rounds.
fn medians_apart(metric: &AbMetric) -> Option<String> {
    let (a, b) = metric.a.zip(metric.b).filter(|_| metric.scale == DifferenceScale::Ratio)?;
    let changes = [change(metric)?.value, (b / a - 1.0) * 100.0];
    let [in_a_round, of_medians] = changes.map(|change| in_words(metric, change));
    (in_a_round != of_medians).then(|| format!(", which give {} {of_medians}", metric.metric))
}

/// Returns the change of B against A. It is in percent where the metric has a ratio, else in its own unit.
fn change(metric: &AbMetric) -> Option<Estimate> {
    let (estimate, scaled): (_, fn(f64) -> f64) = match metric.scale {
        DifferenceScale::Ratio => (metric.ratio, |ratio| (ratio - 1.0) * 100.0),
        DifferenceScale::Difference if metric.unit == FigureKind::Share => (metric.difference, |share| share * 100.0),
        DifferenceScale::Difference => (metric.difference, |difference| difference),
    };
    Some(estimate?.map(scaled))
}

/// Interval of a difference in words.
fn interval(metric: &AbMetric, change: Estimate) -> Option<String> {
    span(change.ends(), " to ", |end| in_words(metric, end))
}

fn in_words(metric: &AbMetric, value: f64) -> String {
    let unit = match (metric.scale, metric.unit) {
        (DifferenceScale::Ratio, _) => " %",
        (DifferenceScale::Difference, FigureKind::Share) => " pt",
        (DifferenceScale::Difference, _) => "",
    };
    let sign = match value {
        more if more > 0.0 => "+",
        less if less < 0.0 => "−",
        _ => "",
    };
    format!("{sign}{}{unit}", cell(value.abs()))
}

/// A figure in this unit.
fn figure(metric: &AbMetric, value: Option<f64>) -> String {
    known(value.map(|value| value * metric.unit.display_scale()))
}

/// The differences of metrics that have a ratio; nothing where none has.
fn forest(test: &AbTest, metrics: &[AbMetric]) -> Option<Chart> {
    let drawn: Vec<_> = metrics.iter().filter(|metric| metric.scale == DifferenceScale::Ratio).collect();
    let marked = drawn.iter().map(|metric| {
        let palette = match metric.verdict {
            Some(AbVerdict::Better | AbVerdict::Equivalent) => Palette::Third,
            Some(AbVerdict::Worse) => Palette::Second,
            _ => Palette::First,
        };
        let by = change(metric);
        let shown = by.map_or(NOTHING.to_owned(), |by| in_words(metric, by.value));
        let ends = by.and_then(|by| interval(metric, by)).map_or(String::new(), |ends| format!(" ({ends})"));
        let verdict = metric.verdict.map_or("", AbVerdict::word);
        let words = format!("{}: {shown}{ends}, {verdict}", metric.metric);
        let point = by.map(|by| {
            let (low, high) = by.ends();
            Point { low, high, ..Point::at(by.value, 0.0, String::new()) }
        });
        (Row::new(metric.metric.to_string(), words), palette, point)
    });
    let margin = test.margin * 100.0;
    let axis = |ends: Vec<f64>| Axis::around("B against A, %", ends.into_iter().chain([-margin, margin]));
    let description = format!("Differences of {} metrics between B and A", drawn.len());
    let label = format!("± {}", percent(test.margin));
    let plot = Plot::marked_rows(description, axis, marked)?
        .with_rules([ReferenceLine::Place(0.0, "no difference".to_owned())])
        .with_zones([Zone { from: -margin, to: margin, kind: ZoneKind::Marked, label }]);
    Some(Chart::new("Difference by metric", plot).hint("whiskers: 95 % intervals; shaded: within the margin"))
}

fn by_round(metric: &AbMetric) -> Option<Chart> {
    let side = |side: AbSide, palette, read: fn(&AbPair) -> Option<f64>| {
        let points = metric.figures.iter().filter_map(|pair| {
            let words = format!("round {}, {side}: {}", pair.round, figure(metric, read(pair)));
            Some(Point::at(pair.round as f64, read(pair)? * metric.unit.display_scale(), words))
        });
        Series::points(side.to_string(), palette, LineStyle::Solid, points.collect())
    };
    let series = vec![side(AbSide::A, Palette::First, |pair| pair.a), side(AbSide::B, Palette::Second, |pair| pair.b)];
    let values: Vec<f64> = series.iter().flat_map(Series::marked).map(|point| point.y).collect();
    if values.iter().all(|value| *value == 0.0) {
        return None;
    }
    let last = metric.figures.iter().map(|pair| pair.round).max().unwrap_or(1);
    let title = label(&metric.metric);
    let description = format!("{} of A and B round by round", metric.metric);
    let plot = Plot::new(description, Axis::counted("round", last), Axis::from_zero(&title, values), series);
    let heading = format!("{title}, round by round");
    let behind = Table::over(&heading, &metric.figures)
        .column("round", |pair| pair.round.to_string())
        .column("A", |pair| figure(metric, pair.a))
        .column("B", |pair| figure(metric, pair.b));
    Some(Chart::new(&heading, plot).behind(behind))
}

fn rounds(test: &AbTest) -> Section {
    let first = test.metrics.first();
    let title = first.map_or(String::new(), |metric| label(&metric.metric));
    let shown = |round: &CompletedRound, read: fn(&AbPair) -> Option<f64>| {
        let pair = first?.figures.iter().find(|pair| pair.round == round.number);
        Some(figure(first?, pair.and_then(read)))
    };
    let completed = |side: &CompletedSide| format!("{} of {}", count(side.completed), count(side.planned));
    let is_any_left_out = test.rounds.iter().any(|round| !round.left_out.is_empty());
    let table = Table::over("Rounds", &test.rounds)
        .column("round", |round| round.number)
        .column("order", |round| joined(round.order, " "))
        .column(("seed", 1), |round| round.seed.to_string())
        .column(("A completed", 4), |round| completed(&round.a))
        .column(("B completed", 4), |round| completed(&round.b))
        .column(format!("A {title}"), |round| shown(round, |pair| pair.a))
        .column(format!("B {title}"), |round| shown(round, |pair| pair.b))
        .column("counts", |round| if round.counted { "yes" } else { "INVALID" });
    let table = if is_any_left_out { table.left("why not", |round| why_not(&round.left_out)) } else { table };
    Section::detail("Rounds").table(table)
}

/// Says why a round does not count. It gives the first reason, and how many more there are.
fn why_not(reasons: &[String]) -> String {
    match reasons {
        [] => String::new(),
        [only] => only.clone(),
        [first, more @ ..] => {
            format!("{first} (and {} in ab.json)", counted(more.len() as u64, "more reason"))
        }
    }
}

/// Lists the differences that such rounds can detect, given their spread.
fn power(test: &AbTest) -> Section {
    let section = Section::detail(format!("Detectable differences ({:.0} % power)", test.power * 100.0));
    let spreading: Vec<_> =
        test.metrics.iter().filter(|metric| metric.spread.is_some_and(|spread| spread > 0.0)).collect();
    if !spreading.iter().any(|metric| metric.detectable.is_some()) {
        return section;
    }
    let length = |metric: &AbMetric, length: Option<f64>| length.map(|length| metric.length_in_words(length));
    let table = Table::over("Detectable differences", spreading)
        .column("", |metric| metric.metric.to_string())
        .column("spread over rounds", |metric| length(metric, metric.spread))
        .column("detectable difference", |metric| length(metric, metric.detectable))
        .column("rounds for margin", |metric| match metric.rounds_for_margin {
            Some(rounds) if rounds <= metric.rounds => "enough".to_owned(),
            Some(rounds) => format!("about {}", count(rounds)),
            None => "no number is enough".to_owned(),
        });
    section.table(table).remark([METHOD])
}

#[cfg(test)]
mod tests;
