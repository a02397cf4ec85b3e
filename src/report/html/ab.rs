//! The page of an A/B test.

use maud::{Markup, html};

use super::parts::{Table, facts, figure, notes};
use super::shell;
use crate::analysis::wording::{counted, percent};
use crate::experiment::{AbMetric, AbOverall, AbSide, AbTest, AbUnit, AbVerdict, DifferenceScale};
use crate::record::{DeploymentFacts, EngineFacts};
use crate::report::chart::{Axis, Line, Palette, Plot, Point, Row, Rule, Series, Zone, ZoneKind};
use crate::report::compare::p_value;
use crate::report::grid::{NOTHING, cell};

/// The test as a page.
#[must_use]
pub fn ab_page(test: &AbTest) -> String {
    let title = format!("A/B test of {}", test.workload);
    let class = match test.verdict {
        AbOverall::Better | AbOverall::Equivalent => "good",
        AbOverall::Worse | AbOverall::Invalid => "bad",
        AbOverall::Mixed | AbOverall::Inconclusive | AbOverall::Unfinished => "",
    };
    let body = html! {
        h1 { (title) }
        p.lead { span class=(class) { (crate::report::printable(&test.sentence)) } }
        (asked(test))
        h2 { "B against A" }
        (differences(test, &test.metrics, "B against A by metric"))
        h2 { "Round by round" }
        div.charts { @for metric in &test.metrics { (by_round(metric)) } }
        @for class in &test.classes {
            h2 { "Class " (crate::report::printable(&class.class)) }
            (differences(test, &class.metrics, &format!("B against A, class {}", class.class)))
        }
        @if !test.explored.is_empty() {
            h2 { "Other metrics" }
            p.muted { "Without a verdict: who looks at many finds some that differ by chance." }
            (table("Other metrics", &test.explored).draw())
        }
        h2 { "The rounds" }
        (rounds(test).draw())
        (notes(&test.notes))
    };
    shell::page(&title, &body)
}

fn asked(test: &AbTest) -> Markup {
    let sides = &test.sides;
    let mut said =
        vec![("A", server(&sides.a, &sides.a_deployment)), ("B", server(&sides.b, &sides.b_deployment))];
    for unlike in &sides.unlike {
        said.push(("differs", format!("{}: {} → {}", unlike.what, unlike.a, unlike.b)));
    }
    said.push((
        "rounds",
        format!(
            "{} counted of {} that were decided on before the first",
            test.counted_rounds, test.planned_rounds
        ),
    ));
    said.push(("margin", test.margin_in_words()));
    facts(&said)
}

fn server(engine: &EngineFacts, deployment: &DeploymentFacts) -> String {
    let version = engine.server_version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
    let hardware = deployment.hardware.as_ref().map(|name| format!(", on {name}")).unwrap_or_default();
    format!("{} on {}{version} at {}{hardware}", engine.model, engine.engine, engine.url)
}

/// The change of B against A as a share, with its interval, where the metric has a ratio.
fn change(metric: &AbMetric) -> Option<[Option<f64>; 3]> {
    let ratio = metric.ratio?;
    let share = |ratio: f64| (ratio - 1.0) * 100.0;
    Some([Some(share(ratio.value)), ratio.low.map(share), ratio.high.map(share)])
}

/// The differences in a picture and in a table; where there is none yet, the table alone.
fn differences(test: &AbTest, metrics: &[AbMetric], caption: &str) -> Markup {
    let (hint, table) =
        ("whiskers: 95 % intervals; shaded: differences that do not matter", table(caption, metrics));
    html! {
        @if metrics.iter().any(|metric| change(metric).is_some()) {
            div.charts { (figure("Difference by metric", hint, &forest(test, metrics), None)) }
        }
        (table.draw())
    }
}

fn forest(test: &AbTest, metrics: &[AbMetric]) -> Markup {
    let mut rows = Vec::new();
    let mut series = Vec::new();
    for metric in metrics.iter().filter(|metric| metric.scale == DifferenceScale::Ratio) {
        let [value, low, high] = change(metric).unwrap_or([None, None, None]);
        let palette = match metric.verdict {
            Some(AbVerdict::Better | AbVerdict::Equivalent) => Palette::Third,
            Some(AbVerdict::Worse) => Palette::Second,
            Some(AbVerdict::Inconclusive) | None => Palette::First,
        };
        let point =
            value.map(|value| Point { low, high, ..Point::at(value, rows.len() as f64, String::new()) });
        series.extend(point.map(|point| Series::points("", palette, Line::None, vec![point])));
        let words = format!("{}: {}, {}", metric.metric, shown_change(metric), word(metric));
        rows.push(Row { name: metric.metric.clone(), words });
    }
    let margin = test.margin * 100.0;
    let points = series.iter().flat_map(Series::marked);
    let ends = points.flat_map(|point| [Some(point.x), point.low, point.high]).flatten();
    let axis = Axis::around("B against A, %", ends.chain([-margin, margin]).collect::<Vec<_>>());
    let description = format!("Differences of {} metrics between B and A", rows.len());
    let label = format!("± {}", percent(test.margin));
    Plot::rows(description, axis, rows, series)
        .with_rules([Rule::Place(0.0, "no difference".to_owned())])
        .with_zones([Zone { from: -margin, to: margin, kind: ZoneKind::Marked, label }])
        .draw()
}

fn word(metric: &AbMetric) -> &'static str {
    metric.verdict.map_or("", AbVerdict::word)
}

fn shown(metric: &AbMetric, value: f64) -> String {
    match metric.unit {
        AbUnit::Ms | AbUnit::PerS => cell(value),
        AbUnit::Share => percent(value).replace('-', "−"),
    }
}

const fn unit(unit: AbUnit) -> &'static str {
    match unit {
        AbUnit::Ms => ", ms",
        AbUnit::PerS => ", /s",
        AbUnit::Share => "",
    }
}

/// A metric's name with its unit, said once.
fn titled(metric: &AbMetric) -> String {
    format!("{}{}", metric.metric, unit(metric.unit)).replace("_per_s, /s", ", /s")
}

fn shown_change(metric: &AbMetric) -> String {
    match (change(metric), metric.difference) {
        (Some([Some(value), low, high]), _) => {
            let share = |value: f64| format!("{value:+.2} %").replace('-', "−");
            let ends = low.zip(high).map(|(low, high)| format!(" ({} to {})", share(low), share(high)));
            format!("{}{}", share(value), ends.unwrap_or_default())
        }
        (_, Some(difference)) => {
            let ends = difference.low.zip(difference.high);
            let ends =
                ends.map(|(low, high)| format!(" ({} to {})", shown(metric, low), shown(metric, high)));
            format!("{}{}", shown(metric, difference.value), ends.unwrap_or_default())
        }
        _ => NOTHING.to_owned(),
    }
}

/// A column by its title and what it says of a metric.
type Column<'a> = (&'static str, &'a dyn Fn(&AbMetric) -> Option<String>);

/// Figures of both sides. What is known of no metric, such as a verdict on those that were not chosen before the rounds, has
/// no column.
fn table(caption: &str, metrics: &[AbMetric]) -> Table {
    let known = |metric: &AbMetric, value: Option<f64>| value.map(|value| shown(metric, value));
    let columns: [Column<'_>; 8] = [
        ("", &|metric| Some(titled(metric))),
        ("A", &|metric| known(metric, metric.a)),
        ("B", &|metric| known(metric, metric.b)),
        ("B against A (95 %)", &|metric| Some(shown_change(metric))),
        ("p", &|metric| metric.p.map(p_value)),
        ("p, Holm", &|metric| metric.adjusted_p.map(p_value)),
        ("found from", &|metric| Some(metric.length_in_words(metric.detectable?))),
        ("verdict", &|metric| Some(metric.verdict?.word().to_owned())),
    ];
    let told: Vec<_> =
        columns.iter().filter(|(_, read)| metrics.iter().any(|metric| read(metric).is_some())).collect();
    let mut table = Table::new(caption, told.iter().map(|(title, _)| *title));
    for metric in metrics {
        table.row(told.iter().map(|(_, read)| read(metric).unwrap_or(NOTHING.to_owned())));
    }
    table
}

fn by_round(metric: &AbMetric) -> Markup {
    let side = |side: AbSide, palette| {
        let points = metric.figures.iter().filter_map(|pair| {
            let y = match side {
                AbSide::A => pair.a,
                AbSide::B => pair.b,
            }?;
            let words = format!("round {}, {side}: {}", pair.round, shown(metric, y));
            Some(Point::at(pair.round as f64, y, words))
        });
        Series::points(side.to_string(), palette, Line::Solid, points.collect())
    };
    let series = vec![side(AbSide::A, Palette::First), side(AbSide::B, Palette::Second)];
    let values: Vec<f64> = series.iter().flat_map(Series::marked).map(|point| point.y).collect();
    if values.iter().all(|value| *value == 0.0) {
        return html! {};
    }
    let title = titled(metric);
    let last = metric.figures.iter().map(|pair| pair.round).max().unwrap_or(1);
    let description = format!("{} of A and B round by round", metric.metric);
    let plot = Plot::new(description, Axis::counted("round", last), Axis::from_zero(&title, values), series);
    figure(&title, "", &plot.draw(), Some(&figures(metric)))
}

/// Both figures of every round.
fn figures(metric: &AbMetric) -> Table {
    let mut table = Table::new(&format!("{}, round by round", titled(metric)), ["round", "A", "B"]);
    let known = |value: Option<f64>| value.map_or(NOTHING.to_owned(), |value| shown(metric, value));
    for pair in &metric.figures {
        table.row([pair.round.to_string(), known(pair.a), known(pair.b)]);
    }
    table
}

fn rounds(test: &AbTest) -> Table {
    let mut table =
        Table::new("Rounds", ["round", "order", "seed", "A completed", "B completed", "counts", "why not"]);
    for round in &test.rounds {
        let [first, second] = round.order;
        let completed =
            |side: &crate::experiment::CompletedSide| format!("{} of {}", side.completed, side.planned);
        table.row([
            round.number.to_string(),
            format!("{first} {second}"),
            round.seed.to_string(),
            completed(&round.a),
            completed(&round.b),
            if round.counted { "yes" } else { "no" }.to_owned(),
            why_not(&round.left_out),
        ]);
    }
    table
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found_has_the_unit_of_the_difference() {
        let metric = AbMetric {
            metric: "goodput".to_owned(),
            unit: AbUnit::PerS,
            less_is_better: false,
            scale: DifferenceScale::Difference,
            rounds: 8,
            figures: Vec::new(),
            a: Some(4.0),
            b: Some(4.0),
            difference: None,
            ratio: None,
            bootstrap: None,
            equivalence: None,
            margin: 0.2,
            spread: Some(1.0),
            detectable: Some(1.5),
            rounds_for_margin: None,
            p: None,
            adjusted_p: None,
            verdict: None,
        };
        let drawn = table("Goodput", &[metric]).draw().into_string();
        assert!(drawn.contains("<td>1.50/s</td>") && !drawn.contains("150"), "{drawn}");
        assert!(
            !drawn.contains("verdict") && !drawn.contains("Holm"),
            "of no metric is there a verdict: {drawn}"
        );
    }
}
