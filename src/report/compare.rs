//! Stored runs against a baseline as a person reads them.

use super::data::json::indented;
use super::diagnosis::{self, Detail};
use super::document::mark;
use super::grid::{ALWAYS, Grid, NOTHING, cell};
use super::page;
use super::page::{Page, Style, Tone};
use crate::analysis::FigureKey;
use crate::analysis::wording::{counted, percent};
use crate::experiment::compare::{
    AgainstBaseline, ChangeStanding, Compared, ComparedFigure, ComparedRow, Difference, Interval, Pairing,
    Role, RunTrend, SideDescription, TrendLine,
};
use crate::units::{count, three_digits};

/// What the table over time says of each figure.
pub(crate) const DRIFTS: &str = "each step: least squares from one folder to the next, as a share of the mean; drifts where its p-value, \
                                 corrected for all figures (Holm), is at most 0.05";
/// Heights of a sparkline.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The comparison as indented JSON with a line break at its end.
pub fn compared_json(compared: &Compared) -> serde_json::Result<String> {
    indented(compared)
}

/// The comparison as text.
#[must_use]
pub fn compared_text(compared: &Compared, style: Style) -> String {
    let mut page = Page::new(style);
    sides(&mut page, compared);
    differences(&mut page, &compared.differences);
    for against in &compared.against {
        against_baseline(&mut page, compared, against);
    }
    if let Some(trend) = &compared.trend {
        over_time(&mut page, trend);
    }
    page.finish()
}

fn sides(page: &mut Page, compared: &Compared) {
    page.line(Tone::Strong, &format!("Compared: {}", counted(compared.sides.len() as u64, "folder")));
    for (place, side) in compared.sides.iter().enumerate() {
        let label = if place == 0 { "  baseline   " } else { "  against    " };
        page.entry(Tone::Normal, label, &side_in_words(side));
    }
}

/// A side in a sentence: what it is called, when it was flown, and how much of it there is.
pub(crate) fn side_in_words(side: &SideDescription) -> String {
    let version = side.server_version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
    let runs = match side.counted_runs {
        1 => String::new(),
        runs => format!("{}, ", counted(runs, "run")),
    };
    let verdict = if side.valid { "" } else { "; INVALID" };
    format!(
        "{}: {}, seed {}, {runs}{}, {} on {}{version}, {}{verdict}",
        side.name,
        side.workload,
        side.seed,
        counted(side.requests, "request"),
        side.model,
        side.engine,
        side.started_at.strftime("%Y-%m-%d %H:%M UTC"),
    )
}

/// What the sides were flown under that is not the same.
pub(super) fn differences(page: &mut Page, differences: &[Difference]) {
    for difference in differences {
        let label = if difference.role == Role::Varied { "  on purpose " } else { "  differs    " };
        let values: Vec<_> =
            difference.values.iter().map(|value| value.as_deref().unwrap_or("not said")).collect();
        page.entry(Tone::Normal, label, &format!("{}: {}", difference.fact, values.join(" → ")));
    }
}

/// How the runs of both sides belong together, and what follows.
pub(crate) const fn pairing_in_words(pairing: Pairing) -> &'static str {
    match pairing {
        Pairing::OneRunEach => "one run a side",
        Pairing::Independent => "repeats of plans of their own, Welch's t",
        Pairing::Paired => "repeats of the same plans, paired t",
    }
}

fn against_baseline(page: &mut Page, compared: &Compared, against: &AgainstBaseline) {
    page.heading(&format!("{} against the baseline: {}", against.side, pairing_in_words(against.pairing)));
    page.grid(grid(against));
    notes(page, compared, against);
    page::judgements(page, against.gates.iter().map(|gate| (gate.status, gate.line.as_str())));
}

/// A figure of both sides: what it was with its interval, and by how much it changed.
pub(crate) const COLUMNS: [(&str, u8); 6] =
    [("", ALWAYS), ("baseline", ALWAYS), ("95 %", 3), ("here", ALWAYS), ("95 %", 3), ("change", ALWAYS)];

/// Every figure on both sides, and what is to be thought of the difference.
pub(crate) fn grid(against: &AgainstBaseline) -> Grid {
    let several = against.pairing != Pairing::OneRunEach;
    let mut columns = COLUMNS.to_vec();
    if several {
        columns.extend([("95 %", 6), ("p, Holm", 5), ("seen from", 4)]);
    }
    columns.push(("", ALWAYS));
    let mut grid = Grid::new(&columns);
    for row in &against.rows {
        grid.row(cells(row, several));
    }
    grid
}

/// A figure on both sides in cells; of several runs a side with what they say together.
pub(super) fn cells(row: &ComparedRow, several: bool) -> Vec<String> {
    let level = |level: &ComparedFigure| {
        let range = |low: String, high: String| format!("{low}–{high}");
        let ends = level.low.zip(level.high).map(|(low, high)| range(scaled(row, low), scaled(row, high)));
        [value(row, level), ends.unwrap_or(NOTHING.to_owned())]
    };
    let mut cells = vec![label(row.subject)];
    cells.extend(level(&row.baseline));
    cells.extend(level(&row.other));
    cells.push(change(row));
    if several {
        cells.push(change_interval(row).unwrap_or(NOTHING.to_owned()));
        cells.push(row.p_holm.map_or(NOTHING.to_owned(), p_value));
        cells.push(detectable(row));
    }
    cells.push(standing_in_words(row.standing).to_owned());
    cells
}

/// The smallest change that so many runs show, in the unit of the change.
pub(crate) fn detectable(row: &ComparedRow) -> String {
    match (row.detectable, row.subject) {
        (None, _) => NOTHING.to_owned(),
        (Some(least), FigureKey::Share(_)) => format!("{} pt", three_digits(least * 100.0)),
        (Some(least), FigureKey::Latency(..) | FigureKey::Rate(_)) => percent(least),
    }
}

/// A figure's name and unit.
pub(crate) fn label(subject: FigureKey) -> String {
    match subject {
        FigureKey::Latency(..) => format!("{subject}, ms"),
        FigureKey::Rate(_) => format!("{subject}, /s"),
        FigureKey::Share(_) => format!("{subject}, %"),
    }
    .replace("_per_s, /s", ", /s")
}

pub(crate) fn scaled(row: &ComparedRow, value: f64) -> String {
    cell(if matches!(row.subject, FigureKey::Share(_)) { value * 100.0 } else { value })
}

pub(crate) fn value(row: &ComparedRow, level: &ComparedFigure) -> String {
    let text = match (level.value, level.at_least) {
        (Some(value), _) => scaled(row, value),
        (None, Some(least)) => format!("> {}", scaled(row, least)),
        (None, None) => return NOTHING.to_owned(),
    };
    format!("{text}{}", mark(level.mark))
}

/// A p-value: as small as anybody cares for.
pub(crate) fn p_value(p: f64) -> String {
    if p < 0.001 { "<0.001".to_owned() } else { format!("{p:.3}") }
}

/// A share of the baseline with its sign; of a figure that is a share, points.
fn signed(value: f64, unit: &str) -> String {
    let value = value * 100.0;
    let sign = if value < 0.0 { "−" } else { "+" };
    let size = value.abs();
    let digits = if size < 10.0 { format!("{size:.2}") } else { three_digits(size) };
    if digits == "0.00" { format!("0 {unit}") } else { format!("{sign}{digits} {unit}") }
}

/// The change of a figure.
pub(crate) fn change(row: &ComparedRow) -> String {
    row_change(row).map_or(NOTHING.to_owned(), |(change, unit)| signed(change.value, unit))
}

/// Its interval.
pub(crate) fn change_interval(row: &ComparedRow) -> Option<String> {
    let (change, unit) = row_change(row)?;
    Some(format!("{} to {}", signed(change.low?, unit), signed(change.high?, unit)))
}

fn row_change(row: &ComparedRow) -> Option<(Interval, &'static str)> {
    match row.subject {
        FigureKey::Share(_) => Some((row.difference?, "pt")),
        FigureKey::Latency(..) | FigureKey::Rate(_) => Some((row.change?, "%")),
    }
}

/// What is to be thought of a difference, in a word or two.
pub(crate) const fn standing_in_words(standing: ChangeStanding) -> &'static str {
    match standing {
        ChangeStanding::Better => "better",
        ChangeStanding::Worse => "worse",
        ChangeStanding::NotShown => "not shown",
        ChangeStanding::Overlap => "overlap",
        ChangeStanding::Apart => "apart",
        ChangeStanding::Unknown => NOTHING,
    }
}

/// What a reader must know of the figures.
pub(crate) fn advice(compared: &Compared, against: &AgainstBaseline) -> Vec<&'static str> {
    let mut advice = Vec::new();
    if against.pairing == Pairing::OneRunEach {
        advice.push(
            "one run a side cannot tell a small difference: its intervals know what varies inside a run, not between \
             runs. Fly both sides with --repeats 5 and compare their folders, or let skyline ab interleave them",
        );
    } else {
        let short = compared.sides.iter().any(|side| side.counted_runs < 5);
        if short {
            advice.push("few runs make wide intervals: 5 or more a side are advised (--repeats 5)");
        }
        advice.push(
            "seen from: the change that so many runs would have shown four times in five; one that is not shown may be \
             smaller, and is not shown to be none",
        );
    }
    advice
}

fn notes(page: &mut Page, compared: &Compared, against: &AgainstBaseline) {
    if let Some(symptom) = &against.warm_like_cold {
        diagnosis::symptom(page, symptom, Detail::WithCures);
    }
    for line in advice(compared, against) {
        page.entry(Tone::Faint, "  → ", line);
    }
    for (sign, meaning) in marks(&against.rows) {
        page.entry(Tone::Faint, &format!("  {sign} "), meaning);
    }
}

/// The marks that figures of these rows have, and what they mean.
pub(crate) fn marks(rows: &[ComparedRow]) -> impl Iterator<Item = (&'static str, &'static str)> {
    let all = [
        ("*", "too few samples in a run for this percentile"),
        ("~", "indicative: in a run, fewer than ten samples lie above it"),
    ];
    all.into_iter().filter(|(sign, _)| {
        let levels = rows.iter().flat_map(|row| [row.baseline, row.other]);
        levels.into_iter().any(|level| mark(level.mark) == *sign)
    })
}

fn over_time(page: &mut Page, trend: &RunTrend) {
    page.heading(&format!("Over time: {} from the earliest to the latest", count(trend.order.len() as u64)));
    let columns = [
        ("", ALWAYS),
        ("course", ALWAYS),
        ("first", 3),
        ("last", ALWAYS),
        ("each step", ALWAYS),
        ("95 %", 2),
        ("", ALWAYS),
    ];
    let mut grid = Grid::new(&columns);
    for line in &trend.lines {
        grid.row(trend_cells(line));
    }
    page.grid(grid);
    page.entry(Tone::Faint, "  → ", DRIFTS);
}

/// A figure over time in cells: name, course, first, last, change for each step, its interval, whether it drifts.
pub(crate) fn trend_cells(line: &TrendLine) -> [String; 7] {
    let scale = if matches!(line.subject, FigureKey::Share(_)) { 100.0 } else { 1.0 };
    let shown = |level: Option<&ComparedFigure>| {
        level.and_then(|level| level.value).map_or(NOTHING.to_owned(), |value| cell(value * scale))
    };
    let interval = line.change_low.zip(line.change_high);
    [
        label(line.subject),
        sparkline(&line.levels),
        shown(line.levels.first()),
        shown(line.levels.last()),
        line.change_per_step.map_or(NOTHING.to_owned(), |change| signed(change, "%")),
        interval.map_or(NOTHING.to_owned(), |(low, high)| {
            format!("{} to {}", signed(low, "%"), signed(high, "%"))
        }),
        if line.drifts { "drifts" } else { "" }.to_owned(),
    ]
}

/// The course of a figure in bars between its least and its most; a gap where it is not known.
fn sparkline(levels: &[ComparedFigure]) -> String {
    let known = || levels.iter().filter_map(|level| level.value);
    let (Some(low), Some(high)) = (known().reduce(f64::min), known().reduce(f64::max)) else {
        return NOTHING.to_owned();
    };
    let bar = |value: f64| {
        let height = if high > low { (value - low) / (high - low) } else { 0.5 };
        BARS[(height * (BARS.len() - 1) as f64).round() as usize]
    };
    levels.iter().map(|level| level.value.map_or(' ', bar)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_course_is_drawn_between_its_ends() {
        let level = |value| ComparedFigure { value, at_least: None, low: None, high: None, mark: None };
        let course = [Some(1.0), Some(4.5), None, Some(8.0)].map(level);
        assert_eq!(sparkline(&course), "▁▅ █");
        assert_eq!(sparkline(&[level(Some(3.0)), level(Some(3.0))]), "▅▅");
        assert_eq!(sparkline(&[level(None)]), NOTHING);
    }

    #[test]
    fn what_would_be_seen_has_the_unit_of_the_change() {
        let level = ComparedFigure { value: Some(0.9), at_least: None, low: None, high: None, mark: None };
        let row = |subject: FigureKey| ComparedRow {
            figure: subject.to_string(),
            subject,
            baseline: level,
            other: level,
            difference: None,
            change: None,
            p: None,
            p_holm: None,
            detectable: Some(0.0903),
            standing: ChangeStanding::NotShown,
        };
        let share = FigureKey::Share(crate::analysis::Share::SloAttainment);
        assert_eq!(detectable(&row(share)), "9.03 pt");
        assert_eq!(detectable(&row(FigureKey::Rate(crate::analysis::Flow::Goodput))), "9.03 %");
    }

    #[test]
    fn changes_have_a_sign_and_a_unit() {
        assert_eq!((signed(0.123, "%"), signed(-0.05, "%")), ("+12.3 %".into(), "−5.00 %".into()));
        assert_eq!((signed(0.0, "pt"), p_value(0.000_2)), ("0 pt".into(), "<0.001".into()));
    }
}
