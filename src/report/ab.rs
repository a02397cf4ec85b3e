//! An A/B experiment as a person reads it: the verdict, who was compared, the metrics that decide, the rounds.

use super::data::json::indented;
use super::grid::{ALWAYS, Grid, NOTHING, cell};
use super::page::{Page, Style, Tone};
use crate::analysis::wording::counted;
use crate::experiment::{AbMetric, AbOverall, AbTest, AbUnit, CompletedSide, DifferenceScale};
use crate::record::{DeploymentFacts, EngineFacts};
use crate::units::count;

/// The experiment as indented JSON with a line break at its end: `ab.json`, and what `--json` prints.
pub fn ab_json(found: &AbTest) -> serde_json::Result<String> {
    indented(found)
}

/// The experiment as text.
#[must_use]
pub fn ab_text(found: &AbTest, style: Style) -> String {
    let mut page = Page::new(style);
    verdict(&mut page, found);
    what_was_compared(&mut page, found);
    let tests = counted(found.metrics.len() as u64, "metric");
    page.heading(&format!("What decides: {tests}, chosen before the first round"));
    metrics(&mut page, &found.metrics);
    for class in &found.classes {
        page.heading(&format!("Of class {} alone: {}", class.class, class.verdict.word()));
        metrics(&mut page, &class.metrics);
    }
    if !found.explored.is_empty() {
        page.heading("Seen besides, without a verdict: of so many figures some differ by chance");
        metrics(&mut page, &found.explored);
    }
    rounds(&mut page, found);
    how_sure(&mut page, found);
    page.finish()
}

fn verdict(page: &mut Page, found: &AbTest) {
    let tone = match found.verdict {
        AbOverall::Better | AbOverall::Equivalent => Tone::Good,
        AbOverall::Worse | AbOverall::Mixed | AbOverall::Invalid => Tone::Bad,
        AbOverall::Inconclusive | AbOverall::Unfinished => Tone::Strong,
    };
    let word = found.verdict.word().to_uppercase();
    page.entry(tone, &format!("{word}: "), &found.sentence);
    for note in &found.notes {
        page.entry(Tone::Normal, "  • ", note);
    }
}

fn what_was_compared(page: &mut Page, found: &AbTest) {
    page.blank();
    let workload = format!("{}, first seed {}", found.workload, found.first_seed);
    page.entry(Tone::Normal, "  workload   ", &workload);
    let sides = &found.sides;
    page.entry(Tone::Normal, "  A          ", &server(&sides.a, &sides.a_deployment));
    page.entry(Tone::Normal, "  B          ", &server(&sides.b, &sides.b_deployment));
    for unlike in &sides.unlike {
        let text = format!("{}: A {}, B {}", unlike.what, unlike.a, unlike.b);
        page.entry(Tone::Normal, "  differ in  ", &text);
    }
    let rounds = format!(
        "{} of {} count; A B, B A, A B and so on; a verdict takes {} at least",
        count(found.counted_rounds),
        count(found.planned_rounds),
        count(found.fewest_rounds)
    );
    page.entry(Tone::Normal, "  rounds     ", &rounds);
    page.entry(Tone::Normal, "  margin     ", &found.margin_in_words());
}

fn server(engine: &EngineFacts, serves: &DeploymentFacts) -> String {
    let version = engine.server_version.as_deref().map_or(String::new(), |version| format!(" {version}"));
    let labels = serves.labels.iter().map(|(name, value)| format!(", {name} {value}"));
    let labels: String = labels.collect();
    format!("{}{version} at {}, {}{labels}", engine.engine, engine.url, engine.model)
}

fn metrics(page: &mut Page, metrics: &[AbMetric]) {
    let judged = metrics.iter().any(|metric| metric.verdict.is_some());
    let mut columns = vec![
        ("", ALWAYS),
        ("A", ALWAYS),
        ("B", ALWAYS),
        ("change", ALWAYS),
        ("95 % from", 5),
        ("to", 5),
        ("p", 3),
    ];
    if judged {
        columns.extend([("Holm's p", 4), ("verdict", ALWAYS)]);
    }
    let mut grid = Grid::new(&columns);
    for metric in metrics {
        let mut row = cells(metric);
        if judged {
            row.push(metric.adjusted_p.map_or(NOTHING.to_owned(), p_value));
            row.push(metric.verdict.map_or(NOTHING.to_owned(), |verdict| verdict.word().to_owned()));
        }
        grid.row(row);
    }
    page.grid(grid);
}

fn cells(metric: &AbMetric) -> Vec<String> {
    let figure = |value| figure(metric, value);
    // A ratio as a change in percent, a difference in the metric's own unit.
    let (estimate, shown): (_, fn(f64) -> f64) = match metric.scale {
        DifferenceScale::Ratio => (metric.ratio, |ratio| (ratio - 1.0) * 100.0),
        DifferenceScale::Difference if metric.unit == AbUnit::Share => {
            (metric.difference, |share| share * 100.0)
        }
        DifferenceScale::Difference => (metric.difference, |difference| difference),
    };
    let suffix = match (metric.scale, metric.unit) {
        (DifferenceScale::Ratio, _) => " %",
        (DifferenceScale::Difference, AbUnit::Share) => " pt",
        (DifferenceScale::Difference, AbUnit::Ms | AbUnit::PerS) => "",
    };
    let change = |value: Option<f64>| value.map_or(NOTHING.to_owned(), |value| signed(shown(value), suffix));
    vec![
        titled(metric),
        figure(metric.a),
        figure(metric.b),
        change(estimate.map(|estimate| estimate.value)),
        change(estimate.and_then(|estimate| estimate.low)),
        change(estimate.and_then(|estimate| estimate.high)),
        metric.p.map_or(NOTHING.to_owned(), p_value),
    ]
}

/// A metric's name with the unit of its figures.
fn titled(metric: &AbMetric) -> String {
    let unit = match metric.unit {
        AbUnit::Ms => ", ms",
        AbUnit::PerS => "",
        AbUnit::Share => ", %",
    };
    format!("{}{unit}", metric.metric)
}

/// A figure in this unit.
fn figure(metric: &AbMetric, value: Option<f64>) -> String {
    let times = if metric.unit == AbUnit::Share { 100.0 } else { 1.0 };
    value.map_or(NOTHING.to_owned(), |value| cell(value * times))
}

fn signed(value: f64, suffix: &str) -> String {
    let sign = if value > 0.0 {
        "+"
    } else if value < 0.0 {
        "−"
    } else {
        ""
    };
    format!("{sign}{}{suffix}", cell(value.abs()))
}

fn p_value(p: f64) -> String {
    if p < 0.001 { "<0.001".to_owned() } else { format!("{p:.3}") }
}

fn rounds(page: &mut Page, found: &AbTest) {
    page.heading("Rounds");
    let first = found.metrics.first();
    let title = first.map_or(String::new(), |metric| match metric.unit {
        AbUnit::Share => titled(metric),
        AbUnit::Ms | AbUnit::PerS => metric.metric.clone(),
    });
    let (of_a, of_b) = (format!("A {title}"), format!("B {title}"));
    let mut grid = Grid::new(&[
        ("round", ALWAYS),
        ("order", ALWAYS),
        ("seed", 1),
        ("A completed", 4),
        ("B completed", 4),
        (&of_a, ALWAYS),
        (&of_b, ALWAYS),
        ("counts", ALWAYS),
    ]);
    for round in &found.rounds {
        let figures = first.and_then(|metric| metric.figures.iter().find(|pair| pair.round == round.number));
        let figure = |value| first.map_or(NOTHING.to_owned(), |metric| figure(metric, value));
        let [one, other] = round.order;
        grid.row([
            count(round.number),
            format!("{one} {other}"),
            round.seed.to_string(),
            completed(&round.a),
            completed(&round.b),
            figure(figures.and_then(|pair| pair.a)),
            figure(figures.and_then(|pair| pair.b)),
            if round.counted { "yes" } else { "INVALID" }.to_owned(),
        ]);
    }
    page.grid(grid);
}

fn completed(side: &CompletedSide) -> String {
    format!("{} of {}", count(side.completed), count(side.planned))
}

/// What the rounds could have found, by the spread that they turned out to have.
fn how_sure(page: &mut Page, found: &AbTest) {
    let spreading: Vec<_> =
        found.metrics.iter().filter(|metric| metric.spread.is_some_and(|spread| spread > 0.0)).collect();
    if !spreading.iter().any(|metric| metric.detectable.is_some()) {
        return;
    }
    page.heading(&format!("How sure: what such rounds find with {:.0} % power", found.power * 100.0));
    let mut grid = Grid::new(&[
        ("", ALWAYS),
        ("spread over rounds", ALWAYS),
        ("difference found", ALWAYS),
        ("rounds for margin", ALWAYS),
    ]);
    for metric in spreading {
        let length =
            |length: Option<f64>| length.map_or(NOTHING.to_owned(), |length| metric.length_in_words(length));
        let rounds = match metric.rounds_for_margin {
            Some(rounds) if rounds <= metric.rounds => "enough".to_owned(),
            Some(rounds) => format!("about {}", count(rounds)),
            None => "no end".to_owned(),
        };
        grid.row([metric.metric.clone(), length(metric.spread), length(metric.detectable), rounds]);
    }
    page.grid(grid);
    let text = "intervals and p are those of the exact signed-rank test over rounds (Hodges and Lehmann, Wilcoxon); Holm's p \
                accounts for all metrics that decide; equivalent: the 90 % interval lies within the margin";
    page.entry(Tone::Faint, "  ", text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::test_runs::{record, run};
    use crate::analysis::{Summary, summarise};
    use crate::experiment::{AbDesign, AbRound, InvalidRuns};
    use crate::record::Repeat;
    use crate::report::Colour;

    /// A run of four requests whose first tokens take about as long as given.
    fn flown(round: u64, ttft: u64, url: &str) -> Summary {
        let records = (0..4)
            .map(|i| record(i).sent_at(i * 100, i * 100, i * 100).paced(i * 101 + ttft, 10, 11).build());
        let mut log = run(1_000, records.collect());
        log.header.repeat = Some(Repeat { number: round, of: 8, first_seed: 7 });
        log.header.engine.url = url.to_owned();
        summarise(&log, &[])
    }

    fn test(rounds: u64) -> AbTest {
        let runs: Vec<_> = (1..=rounds)
            .map(|round| {
                let jitter = round * round % 7;
                (
                    round,
                    flown(round, 100 + jitter, "http://old:8000"),
                    flown(round, 130 + 2 * jitter, "http://new:8000"),
                )
            })
            .collect();
        let rounds: Vec<_> = runs.iter().map(|(number, a, b)| AbRound { number: *number, a, b }).collect();
        let metrics = ["p50 ttft", "p50 tpot"].map(|metric| metric.parse().unwrap());
        let design = AbDesign::new(8, metrics.into(), 0.05).unwrap();
        AbTest::of(&design, &rounds, InvalidRuns::LeftOut).unwrap()
    }

    #[test]
    fn eight_rounds_fit_eighty_columns() {
        let text = ab_text(&test(8), Style { colour: Colour::Plain, width: 80 });
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn the_list_of_rounds_has_shares_in_percent_as_the_table_has() {
        let mut found = test(8);
        found.metrics.reverse();
        let pair = &mut found.metrics[0].figures[0];
        (pair.a, pair.b) = (Some(0.95), Some(0.975));
        let text = ab_text(&found, Style { colour: Colour::Plain, width: 120 });
        let round = text.lines().find(|line| line.starts_with("  1 ")).unwrap();
        assert!(
            text.contains("A error_rate, %") && round.contains("95.0") && round.contains("97.5"),
            "{text}"
        );
    }

    #[test]
    fn who_stopped_early_gets_no_verdict() {
        let stopped = test(7);
        let text = ab_text(&stopped, Style::PLAIN);
        assert!(text.starts_with("UNFINISHED: so far, 7 of 8 rounds: no verdict"), "{text}");
        assert!(stopped.metrics.iter().all(|metric| metric.verdict.is_none()));
        assert!(!text.contains("verdict\n") && !text.contains("better") && !text.contains("worse"), "{text}");
    }
}
