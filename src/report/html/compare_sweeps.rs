//! The page of sweeps against a baseline.

use maud::{Markup, html};

use super::parts::{Table, facts, figure, held_against, judgement};
use super::shell;
use crate::experiment::Load;
use crate::experiment::compare::{AnswerOfSide, ComparedFigure, ComparedSweeps, SweepAgainst};
use crate::report::chart::{Axis, Line, Palette, Plot, Point, Series};
use crate::report::compare_sweeps::{answer_cells, cells, in_words};
use crate::report::grid::cell;
use crate::report::printable;

/// Curves that are told apart in one picture: four colours, solid and dashed.
const MOST_CURVES: usize = 8;

/// The comparison as a page.
#[must_use]
pub fn compared_sweeps_page(compared: &ComparedSweeps) -> String {
    let said = held_against(compared.answers.iter().map(in_words), &compared.differences);
    let mut answers = Table::new("Highest load by side", ["", "passed", "failed", "estimate", "95 %"]);
    for answer in &compared.answers {
        answers.row([answer.side.clone()].into_iter().chain(answer_cells(answer)));
    }
    let body = html! {
        h1 { "Sweeps compared with a baseline" }
        (facts(&said))
        h2 { "Highest load that meets the objectives" }
        (answers.draw())
        @for against in &compared.against { p { b { (printable(&against.side)) } ": " (printable(&against.sentence)) } }
        h2 { "The curves" }
        @let left_out = match compared.answers.len().checked_sub(MOST_CURVES) {
            None | Some(0) => String::new(),
            Some(more) => format!("; {more} more not drawn"),
        };
        div.charts {
            @if let Some(picture) = curves(compared, "p99 TTFT, ms", |side| &side.ttft_p99_ms) {
                (figure("p99 TTFT over load", &format!("whiskers: 95 % intervals over runs{left_out}"), &picture, None))
            }
            @if let Some(picture) = curves(compared, "tokens/s", |side| &side.output_tokens_per_s) {
                (figure("Output tokens over load", left_out.trim_start_matches("; "), &picture, None))
            }
        }
        @for against in &compared.against { (by_load(against)) }
    };
    shell::page("Sweeps compared", &body)
}

/// One figure of all sweeps over their loads; nothing where no sweep has it.
fn curves(
    compared: &ComparedSweeps,
    title: &str,
    read: fn(&AnswerOfSide) -> &Vec<(Load, ComparedFigure)>,
) -> Option<Markup> {
    let lines = [Line::Solid, Line::Dashed];
    let looks = lines.into_iter().flat_map(|line| Palette::SERIES.map(|palette| (palette, line)));
    let series: Vec<Series> = compared
        .answers
        .iter()
        .zip(looks)
        .map(|(side, (palette, line))| {
            let points = read(side).iter().filter_map(|(load, level)| {
                let y = level.value.or(level.at_least)?;
                Some(Point {
                    x: load.amount(),
                    y,
                    low: level.low,
                    high: level.high,
                    at_least: level.value.is_none(),
                    words: format!("{}, {load}: {}", side.side, cell(y)),
                })
            });
            let dashed = if line == Line::Dashed { " (dashed)" } else { "" };
            Series::points(format!("{}{dashed}", side.side), palette, line, points.collect())
        })
        .collect();
    if series.iter().all(|series| series.marked().is_empty()) {
        return None;
    }
    let points = || series.iter().flat_map(Series::marked);
    let loads: Vec<f64> = points().map(|point| point.x).collect();
    let heights: Vec<f64> = points().flat_map(|point| [Some(point.y), point.high]).flatten().collect();
    let unit = match compared.answers.first().and_then(|side| read(side).first()) {
        Some((Load::Users(_), _)) => "users".to_owned(),
        Some((Load::Rate(_), _)) | None => {
            format!("{}/s asked", compared.answers.first().map_or("requests", |side| side.begun.name()))
        }
    };
    let description = format!("{title} over load of {} sweeps", compared.answers.len());
    Some(Plot::new(description, Axis::fitting(&unit, loads), Axis::fitting(title, heights), series).draw())
}

fn by_load(against: &SweepAgainst) -> Markup {
    let caption = format!("{}, load by load", against.side);
    let mut table = Table::new(&caption, ["", "baseline", "here", "change", "95 %", "p, Holm", "verdict"]);
    for at in &against.loads {
        for row in &at.rows {
            table.row(cells(at, row));
        }
    }
    html! {
        h2 { (printable(&against.side)) ", load by load" }
        @for gate in &against.gates {
            (judgement(gate))
        }
        @if against.loads.is_empty() { p { "The two measured no load in common." } } @else { (table.draw()) }
    }
}
