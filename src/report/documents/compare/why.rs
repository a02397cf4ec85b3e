//! Why figures of one name differ between two tools: a row for each definition that is changed.

use crate::analysis::FigureKey;
use crate::experiment::compare::{DefinitionStep, ExplainedFigure, Explanation, FigureRange};
use crate::report::document::{ALWAYS, Note, Section, Table, TableColumn, cell};
use crate::units::{listed, three_digits};

/// Words for a rest.
const REST: &str = "not explained by definitions: other requests, another moment, or what a tool's method does to its \
    load (skyline audit FILE)";

/// Said where no figure can be counted again.
const WORDS_ALONE: &str = "neither file has its requests, which would say by how much";

/// Sections on an explanation: figures on the screen, and the definitions in words.
pub(super) fn sections(why: &Explanation) -> [Section; 2] {
    let Explanation { from, to, is_counted_again, steps, figures } = why;
    let words = Table::over(format!("Definitions of {from} and {to}"), steps)
        .column("", |step: &DefinitionStep| step.aspect.title())
        .left(from.as_str(), |step| step.from.words())
        .left(to.as_str(), |step| step.to.words());
    if !is_counted_again {
        let section = Section::summary("Why they differ: by definitions").table(words);
        return [section.notes([Note::info(WORDS_ALONE)]), Section::detail("")];
    }
    let idle = steps.iter().filter(|step| !step.figures.is_empty() && !has_effect(step)).map(|step| step.to.words());
    let missing = steps.iter().filter_map(|step| Some(format!("{}: {}", step.to.words(), step.missing?)));
    let ranges = steps.iter().filter_map(|step| Some(format!("{}: {}", step.to.words(), step.range?)));
    let heading = "Why they differ: definitions changed one by one";
    let counted = Section::summary(heading)
        .table(table(why))
        .notes(ranges.map(|text| Note::info(format!("ranges: {text}"))))
        .notes(listed(idle, ", ").map(|words| Note::info(format!("without effect here: {words}"))))
        .notes(missing.map(|text| Note::info(format!("not in {from}: {text}"))))
        .notes((!figures.is_empty()).then(|| Note::info(REST)));
    [counted, Section::detail(format!("Definitions of {from} and of {to}")).table(words)]
}

/// Whether a definition moves a figure.
fn has_effect(step: &DefinitionStep) -> bool {
    // Sums in another order differ in their last digits.
    let differ = |before: f64, after: f64| (before - after).abs() > 1e-9 * before.abs().max(after.abs());
    step.figures.iter().any(|moved| {
        let ends = [moved.before, moved.after].map(|range| (range.low, range.high));
        let [(low, high), (low_after, high_after)] = ends;
        differ(low, low_after)
            || match (high, high_after) {
                (Some(high), Some(high_after)) => differ(high, high_after),
                (high, high_after) => high != high_after,
            }
    })
}

/// A line of the table.
#[derive(Clone, Copy)]
enum Line<'a> {
    First,
    Step(&'a DefinitionStep),
    Reported,
    Unexplained,
}

fn table(why: &Explanation) -> Table {
    let steps = why.steps.iter().filter(|step| has_effect(step)).map(Line::Step);
    let lines = [Line::First].into_iter().chain(steps).chain([Line::Reported, Line::Unexplained]);
    let label = |line| match line {
        Line::First => format!("{} reports", why.from),
        Line::Step(step) => format!("+ {}", step.to.words()),
        Line::Reported => format!("{} reports", why.to),
        Line::Unexplained => "not explained".to_owned(),
    };
    let table = Table::over(format!("Figures of {} by definitions of {}", why.from, why.to), lines);
    let table = why.figures.iter().zip(WORTH).fold(table.column("", label), |table, (figure, worth)| {
        table.column(TableColumn::from((title(&figure.figure), worth)), |line| value(figure, line))
    });
    table.into()
}

/// Worth of the columns, in the order of the figures.
const WORTH: [u8; 7] = [5, ALWAYS, 6, 4, 7, 3, 2];

/// A figure as a heading, with its unit where that is not ms.
fn title(figure: &FigureKey) -> String {
    let name = figure.metric.title();
    figure.statistic.map_or_else(|| format!("{name}/s"), |statistic| format!("{statistic} {name}"))
}

fn value(of: &ExplainedFigure, line: Line<'_>) -> String {
    match line {
        Line::First => range(of.first),
        Line::Reported => range(of.reported),
        Line::Unexplained => of.unexplained.map_or_else(String::new, rest),
        Line::Step(step) => {
            let found = step.figures.iter().find(|counted| counted.figure == of.figure);
            found.map_or_else(String::new, |counted| range(counted.after))
        }
    }
}

fn range(FigureRange { low, high }: FigureRange) -> String {
    match high {
        None => format!("> {}", cell(low)),
        Some(high) if cell(low) == cell(high) => cell(high),
        Some(high) => format!("{}–{}", cell(low), cell(high)),
    }
}

/// A difference with its sign. The least of a range, and 0 where that holds it.
fn rest(FigureRange { low, high }: FigureRange) -> String {
    let least = match high {
        Some(high) if high < 0.0 => high,
        _ => low.max(0.0),
    };
    let sign = if least < 0.0 { "−" } else { "+" };
    if cell(least) == "0" { "0".to_owned() } else { format!("{sign}{}", three_digits(least.abs())) }
}
