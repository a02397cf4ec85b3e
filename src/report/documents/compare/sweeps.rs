//! Stored sweeps against a baseline.

use super::rows::{
    change, change_interval, demands, differences, label, p_value, sides, value, verdict, verdict_line,
};
use crate::analysis::FigureLevel;
use crate::experiment::Load;
use crate::experiment::compare::{AnswerOfSide, ComparedSweeps, Pairing, SweepAgainst};
use crate::report::chart::{Axis, LineStyle, Palette, Plot, Point, Series};
use crate::report::document::{ALWAYS, Chart, Document, Level, NOTHING, Note, Section, Table, cell, known};
use crate::units::three_digits;

/// Curves that a chart distinguishes: four colours, solid and dashed.
const MOST_CURVES: usize = 8;

/// The comparison of sweeps as a document.
pub fn compared_sweeps(compared: &ComparedSweeps) -> Document {
    let gates = compared.against.iter().flat_map(|against| &against.gates);
    let names: Vec<_> = compared.answers.iter().map(|answer| answer.side.as_str()).collect();
    let mut document =
        Document::new("Sweeps compared with a baseline").verdict(verdict_line(gates, Vec::new(), &names));
    let mut setup = Section::continued(Level::Summary);
    sides(&mut setup, compared.answers.iter().map(in_words));
    differences(&mut setup, &compared.differences);
    document.add([setup, answers(&compared.answers), curves(compared)]);
    for against in &compared.against {
        document.add([one(against), by_load(against)]);
    }
    document
}

/// A sweep in a sentence.
fn in_words(answer: &AnswerOfSide) -> String {
    let verdict = if answer.valid { "" } else { "; INVALID" };
    let started = answer.started_at.strftime("%Y-%m-%d %H:%M UTC");
    let found = answer.answer.as_ref().map_or("no objectives were set", |answer| answer.sentence.as_str());
    format!("{}, {started}: {found}{verdict}", answer.side)
}

fn answers(answers: &[AnswerOfSide]) -> Section {
    let mut section = Section::summary("Highest load that meets the objectives");
    let mut table = Table::new("Highest load by side", ["", "passed", "failed", "estimate", "95 %"]);
    let load = |load: Option<Load>| load.map_or(NOTHING.to_owned(), |load| load.to_string());
    for answer in answers {
        let cells = answer.answer.as_ref().map_or([NOTHING; 4].map(str::to_owned), |found| {
            let known = |value: Option<f64>| value.map_or(NOTHING.to_owned(), three_digits);
            let interval = match (found.interval_low, found.interval_high) {
                (None, None) => NOTHING.to_owned(),
                (low, high) => format!("{}–{}", known(low), known(high)),
            };
            [load(found.passed), load(found.failed), known(found.estimate), interval]
        });
        table.row([answer.side.clone()].into_iter().chain(cells));
    }
    section.table(table);
    section
}

fn one(against: &SweepAgainst) -> Section {
    let mut section = Section::summary(format!("{} against the baseline", against.side));
    demands(&mut section, &against.gates);
    section.text(against.sentence.clone());
    if against.loads.is_empty() {
        section.note(Note::advice(
            "the two measured no load in common: run the second sweep with --rates and the baseline's loads to compare them \
             load by load",
        ));
    }
    section
}

/// Every figure at every load that both measured.
fn by_load(against: &SweepAgainst) -> Section {
    let mut section = Section::detail(format!("{} against the baseline, load by load", against.side));
    let columns = [
        ("", ALWAYS),
        ("baseline", ALWAYS),
        ("here", ALWAYS),
        ("change", ALWAYS),
        ("95 %", 5),
        ("p, Holm", 4),
    ];
    let columns = columns.into_iter().chain([("verdict", ALWAYS)]);
    let mut table = Table::new(format!("{}, load by load", against.side), columns);
    for (at, row) in against.loads.iter().flat_map(|at| at.rows.iter().map(move |row| (at, row))) {
        table.row([
            format!("{} {}", at.load, label(&row.figure)),
            value(row, &row.baseline),
            value(row, &row.other),
            change(row),
            change_interval(row),
            p_value(row),
            verdict(row.standing).to_owned(),
        ]);
    }
    section.table(table);
    if against.loads.iter().any(|at| at.pairing == Pairing::OneRunEach) {
        let text =
            "one run of a load cannot show a small difference: run the sweeps with --repeats 3 or more";
        section.note(Note::advice(text));
    }
    section
}

fn curves(compared: &ComparedSweeps) -> Section {
    let mut section = Section::detail("The curves");
    let left_out = match compared.answers.len().saturating_sub(MOST_CURVES) {
        0 => String::new(),
        more => format!("; {more} more not drawn"),
    };
    if let Some(plot) = curve(compared, "p99 TTFT, ms", |side| &side.ttft_p99_ms) {
        let hint = format!("whiskers: 95 % intervals over runs{left_out}");
        section.chart(
            Chart::new("p99 TTFT over load", plot)
                .hint(hint)
                .behind(levels(compared, |side| &side.ttft_p99_ms)),
        );
    }
    if let Some(plot) = curve(compared, "tokens/s", |side| &side.output_tokens_per_s) {
        let hint = left_out.trim_start_matches("; ");
        let table = levels(compared, |side| &side.output_tokens_per_s);
        section.chart(Chart::new("Output tokens over load", plot).hint(hint).behind(table));
    }
    section
}

type Read = fn(&AnswerOfSide) -> &Vec<(Load, FigureLevel)>;

/// The figures behind a chart, side by side.
fn levels(compared: &ComparedSweeps, read: Read) -> Table {
    let mut table = Table::new("Figures by load", ["side", "load", "figure", "95 % from", "to"]);
    for side in &compared.answers {
        for (load, level) in read(side) {
            let value = level.value.map(cell).or(level.at_least.map(|least| format!("> {}", cell(least))));
            let value = value.unwrap_or_else(|| NOTHING.to_owned());
            table.row([side.side.clone(), load.to_string(), value, known(level.low), known(level.high)]);
        }
    }
    table
}

/// One figure of all sweeps over their loads; nothing where no sweep has it.
fn curve(compared: &ComparedSweeps, title: &str, read: Read) -> Option<Plot> {
    let lines = [LineStyle::Solid, LineStyle::Dashed];
    let looks = lines.into_iter().flat_map(|line| Palette::SERIES.map(|palette| (palette, line)));
    let series: Vec<Series> = compared
        .answers
        .iter()
        .zip(looks)
        .map(|(side, (palette, line))| {
            let points = read(side).iter().filter_map(|(load, level)| {
                let y = level.value.or(level.at_least)?;
                let words = format!("{}, {load}: {}", side.side, cell(y));
                let (low, high, at_least) = (level.low, level.high, level.value.is_none());
                Some(Point { low, high, at_least, ..Point::at(load.amount(), y, words) })
            });
            let dashed = if line == LineStyle::Dashed { " (dashed)" } else { "" };
            Series::points(format!("{}{dashed}", side.side), palette, line, points.collect())
        })
        .collect();
    if series.iter().all(|series| series.marked().is_empty()) {
        return None;
    }
    let points = || series.iter().flat_map(Series::marked);
    let loads: Vec<f64> = points().map(|point| point.x).collect();
    let heights: Vec<f64> = points().flat_map(|point| [Some(point.y), point.high]).flatten().collect();
    let first = compared.answers.first();
    let unit = match first.and_then(|side| read(side).first()) {
        Some((Load::Users(_), _)) => "users".to_owned(),
        Some((Load::Rate(_), _)) | None => {
            format!("{}/s requested", first.map_or("requests", |side| side.begun.name()))
        }
    };
    let description = format!("{title} over load of {} sweeps", compared.answers.len());
    Some(Plot::new(description, Axis::fitting(&unit, loads), Axis::fitting(title, heights), series))
}
