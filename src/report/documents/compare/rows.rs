//! What every comparison shows: its sides, their differences, the demands, and each figure with its change.

use crate::analysis::wording::percent;
use crate::analysis::{FigureKey, FigureKind, FigureLevel, Metric, Quantile};
use crate::experiment::compare::{ChangeStanding, ComparedRow, Difference, GateJudgement, Interval, Role};
use crate::report::document::{
    Document, Level, NOTHING, Note, Section, Table, Tone, VerdictLine, cell, mark,
};
use crate::report::documents::parts::cells::{INDICATIVE, p_value};
use crate::units::three_digits;

/// How many runs a side has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Runs {
    One,
    Several,
}

/// The figures of a screen.
const HEADLINE: [FigureKey; 8] = [
    FigureKey::percentile(Quantile::P50, Metric::Ttft),
    FigureKey::percentile(Quantile::P99, Metric::Ttft),
    FigureKey::percentile(Quantile::P50, Metric::Tpot),
    FigureKey::percentile(Quantile::P99, Metric::Tpot),
    FigureKey::percentile(Quantile::P99, Metric::E2e),
    FigureKey::of(Metric::OutputTokens),
    FigureKey::of(Metric::Goodput),
    FigureKey::of(Metric::ErrorRate),
];

/// The figures that changed and that a screen has no row for.
pub(super) fn others_that_changed(rows: &[ComparedRow]) -> Option<Note> {
    let of = |standing| {
        let found = rows.iter().filter(|row| row.standing == standing && !HEADLINE.contains(&row.figure));
        let names: Vec<_> = found.map(|row| row.figure.to_string()).collect();
        (!names.is_empty()).then(|| format!("also {}: {}", verdict(standing), names.join(", ")))
    };
    let said: Vec<_> = [ChangeStanding::Worse, ChangeStanding::Better].into_iter().filter_map(of).collect();
    (!said.is_empty()).then(|| Note::info(said.join("; ")))
}

/// Every figure on both sides, with its change; of several runs a side with the interval and the test of the change.
pub(super) fn table<'a>(
    caption: &str,
    rows: impl Iterator<Item = (String, &'a ComparedRow)>,
    runs: Runs,
) -> Table {
    let several = runs == Runs::Several;
    let range = |row: &ComparedRow, level: &FigureLevel| {
        let (low, high) = level.low.zip(level.high)?;
        Some(format!("{}–{}", scaled(row, low), scaled(row, high)))
    };
    let rows: Vec<_> = rows.collect();
    let mut table = Table::of(caption, &rows)
        .column("", |(label, _)| label.clone())
        .column("baseline", |(_, row)| value(row, &row.baseline))
        .column(("95 %", 3), |(_, row)| range(row, &row.baseline))
        .column("other", |(_, row)| value(row, &row.other))
        .column(("95 %", 3), |(_, row)| range(row, &row.other))
        .column("change", |(_, row)| change(row))
        .column_if(several, ("95 %", 6), |(_, row)| change_interval(row))
        .column_if(several, ("p, Holm", 5), |(_, row)| row.p_holm.map(p_value))
        .column_if(several, ("detectable", 4), |(_, row)| detectable(row))
        .column("verdict", |(_, row)| verdict(row.standing))
        .table();
    let is_headline = |row: &ComparedRow| HEADLINE.contains(&row.figure);
    // Figures of other tools have names of their own.
    if rows.iter().any(|(_, row)| is_headline(row)) {
        table.detail_rows(|place| !is_headline(rows[place].1));
    }
    let marks = rows.iter().flat_map(|(_, row)| [row.baseline.mark, row.other.mark]);
    table.explain_marks(marks, ["too few samples in a run for this percentile", INDICATIVE]);
    table
}

/// The smallest change that so many runs detect, in the unit of the change.
fn detectable(row: &ComparedRow) -> Option<String> {
    let least = row.detectable?;
    Some(match row.figure.kind() {
        FigureKind::Share => format!("{} pt", three_digits(least * 100.0)),
        _ => percent(least),
    })
}

/// A figure's name and unit.
pub(in crate::report::documents) fn label(subject: &FigureKey) -> String {
    match subject.kind() {
        FigureKind::Latency => format!("{subject}, ms"),
        FigureKind::Rate => format!("{subject}, /s"),
        FigureKind::Share => format!("{subject}, %"),
        FigureKind::Count => subject.to_string(),
    }
    .replace("_per_s, /s", ", /s")
}

fn scaled(row: &ComparedRow, value: f64) -> String {
    cell(value * row.figure.kind().display_scale())
}

/// The value of a side; `> limit` where only that is known.
pub(super) fn value(row: &ComparedRow, level: &FigureLevel) -> String {
    let text = match (level.value, level.at_least) {
        (Some(value), _) => scaled(row, value),
        (None, Some(least)) => format!("> {}", scaled(row, least)),
        (None, None) => return NOTHING.to_owned(),
    };
    format!("{text}{}", mark(level.mark))
}

/// A share of the baseline with its sign; of a figure that is a share, points.
pub(super) fn signed(value: f64, unit: &str) -> String {
    let value = value * 100.0;
    let sign = if value < 0.0 { "−" } else { "+" };
    let size = value.abs();
    let digits = if size < 10.0 { format!("{size:.2}") } else { three_digits(size) };
    if digits == "0.00" { format!("0 {unit}") } else { format!("{sign}{digits} {unit}") }
}

/// The change of a figure.
pub(super) fn change(row: &ComparedRow) -> String {
    row_change(row).map_or(NOTHING.to_owned(), |(change, unit)| signed(change.value, unit))
}

/// Its interval.
fn change_interval(row: &ComparedRow) -> Option<String> {
    let (change, unit) = row_change(row)?;
    Some(format!("{} to {}", signed(change.low?, unit), signed(change.high?, unit)))
}

fn row_change(row: &ComparedRow) -> Option<(Interval, &'static str)> {
    match row.figure.kind() {
        FigureKind::Share => Some((row.difference?, "pt")),
        _ => Some((row.change?, "%")),
    }
}

/// What to think of a difference, in a few words.
pub(super) const fn verdict(standing: ChangeStanding) -> &'static str {
    match standing {
        ChangeStanding::Better => "better",
        ChangeStanding::Worse => "worse",
        ChangeStanding::NoSignificantChange => "not significant",
        ChangeStanding::Overlap => "overlap",
        ChangeStanding::Apart => "apart",
        ChangeStanding::Unknown => NOTHING,
    }
}

/// A comparison up to its figures: the verdict, the sides in words by their names, the baseline first, and the conditions
/// that are not the same on all of them.
pub(super) fn begun<'a>(
    title: String,
    gates: impl Iterator<Item = &'a GateJudgement>,
    changed: Vec<String>,
    sides: &[(&str, String)],
    differences: &[Difference],
) -> (Document, Section) {
    let mut section = Section::continued(Level::Summary);
    for (place, (_, side)) in sides.iter().enumerate() {
        section.fact(if place == 0 { "baseline" } else { "against" }, side.as_str());
    }
    for difference in differences {
        let values = difference.values.iter().map(|value| value.as_deref().unwrap_or("not reported"));
        let name = if difference.role == Role::Varied { "varied" } else { "differs" };
        section.fact(name, format!("{}: {}", difference.fact, values.collect::<Vec<_>>().join(" → ")));
    }
    let names: Vec<&str> = sides.iter().map(|(name, _)| *name).collect();
    (Document::new(title).verdict(verdict_line(gates, changed, &names)), section)
}

/// Whether all demands are met, with what changed, in one line.
fn verdict_line<'a>(
    gates: impl Iterator<Item = &'a GateJudgement>,
    changed: Vec<String>,
    names: &[&str],
) -> VerdictLine {
    let gates: Vec<_> = gates.collect();
    let met = gates.iter().filter(|gate| gate.passed()).count();
    let (tone, word) = match gates.len() {
        0 => (Tone::Neutral, "COMPARED"),
        all if met == all => (Tone::Good, "PASSED"),
        _ => (Tone::Bad, "FAILED"),
    };
    let mut parts = Vec::new();
    if !gates.is_empty() {
        parts.push(format!("{met} of {} demands met", gates.len()));
    }
    parts.extend(changed);
    if let Some((baseline, others)) = names.split_first() {
        parts.push(format!("{} against {baseline}", others.join(", ")));
    }
    VerdictLine::new(tone, word, parts.join("; "))
}

/// Whether the demands are met.
pub(super) fn demands(section: &mut Section, gates: &[GateJudgement]) {
    section.notes(gates.iter().map(|gate| Note::new(gate.status.into(), gate.line.clone())));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_detectable_change_has_the_unit_of_the_change() {
        let level = FigureLevel { value: Some(0.9), at_least: None, low: None, high: None, mark: None };
        let row = |figure: FigureKey| ComparedRow {
            figure,
            baseline: level,
            other: level,
            difference: None,
            change: None,
            p: None,
            p_holm: None,
            detectable: Some(0.0903),
            standing: ChangeStanding::NoSignificantChange,
        };
        let share = FigureKey::of(Metric::SloAttainment);
        assert_eq!(detectable(&row(share)).unwrap(), "9.03 pt");
        assert_eq!(detectable(&row(FigureKey::of(Metric::Goodput))).unwrap(), "9.03 %");
    }

    #[test]
    fn changes_have_a_sign_and_a_unit() {
        assert_eq!((signed(0.123, "%"), signed(-0.05, "%")), ("+12.3 %".into(), "−5.00 %".into()));
        assert_eq!(signed(0.0, "pt"), "0 pt");
    }
}
