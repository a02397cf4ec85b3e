//! What every comparison shows: its sides, their differences, the demands, and each figure with its change.

use crate::analysis::wording::percent;
use crate::analysis::{FigureKey, FigureKind, FigureLevel};
use crate::experiment::compare::{ChangeStanding, ComparedRow, Difference, GateJudgement, Interval, Role};
use crate::report::document::{ALWAYS, NOTHING, Note, Section, Table, Tone, VerdictLine, cell, mark};
use crate::units::three_digits;

/// How many runs a side has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Runs {
    One,
    Several,
}

/// Every figure on both sides, with its change; of several runs a side with the interval and the test of the change.
pub(super) fn table(caption: &str, rows: &[ComparedRow], runs: Runs) -> Table {
    let mut columns = vec![
        ("", ALWAYS),
        ("baseline", ALWAYS),
        ("95 %", 3),
        ("here", ALWAYS),
        ("95 %", 3),
        ("change", ALWAYS),
    ];
    if runs == Runs::Several {
        columns.extend([("95 %", 6), ("p, Holm", 5), ("detectable", 4)]);
    }
    columns.push(("verdict", ALWAYS));
    let mut table = Table::new(caption, columns);
    for row in rows {
        table.row(cells(row, runs));
    }
    let all = [
        ("*", "too few samples in a run for this percentile"),
        ("~", "indicative: in a run, fewer than ten samples lie above it"),
    ];
    for (sign, meaning) in all {
        let mut levels = rows.iter().flat_map(|row| [row.baseline, row.other]);
        if levels.any(|level| mark(level.mark) == sign) {
            table.explain(sign, meaning);
        }
    }
    table
}

fn cells(row: &ComparedRow, runs: Runs) -> Vec<String> {
    let level = |level: &FigureLevel| {
        let ends = level.low.zip(level.high);
        let range = |(low, high)| format!("{}–{}", scaled(row, low), scaled(row, high));
        [value(row, level), ends.map_or(NOTHING.to_owned(), range)]
    };
    let mut cells = vec![label(&row.figure)];
    cells.extend(level(&row.baseline));
    cells.extend(level(&row.other));
    cells.push(change(row));
    if runs == Runs::Several {
        cells.push(change_interval(row));
        cells.push(p_value(row));
        cells.push(detectable(row));
    }
    cells.push(verdict(row.standing).to_owned());
    cells
}

/// The smallest change that so many runs detect, in the unit of the change.
fn detectable(row: &ComparedRow) -> String {
    match (row.detectable, row.figure.kind()) {
        (None, _) => NOTHING.to_owned(),
        (Some(least), FigureKind::Share) => format!("{} pt", three_digits(least * 100.0)),
        (Some(least), _) => percent(least),
    }
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
    cell(if row.figure.kind() == FigureKind::Share { value * 100.0 } else { value })
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

/// The p-value of a change, corrected for all figures (Holm).
pub(super) fn p_value(row: &ComparedRow) -> String {
    match row.p_holm {
        None => NOTHING.to_owned(),
        Some(p) if p < 0.001 => "<0.001".to_owned(),
        Some(p) => format!("{p:.3}"),
    }
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
pub(super) fn change_interval(row: &ComparedRow) -> String {
    let ends = row_change(row).and_then(|(change, unit)| Some((change.low?, change.high?, unit)));
    ends.map_or(NOTHING.to_owned(), |(low, high, unit)| {
        format!("{} to {}", signed(low, unit), signed(high, unit))
    })
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

/// The baseline, then the sides that are compared with it.
pub(super) fn sides(section: &mut Section, sides: impl Iterator<Item = String>) {
    for (place, side) in sides.enumerate() {
        section.fact(if place == 0 { "baseline" } else { "against" }, side);
    }
}

/// The conditions that are not the same on all sides.
pub(super) fn differences(section: &mut Section, differences: &[Difference]) {
    for difference in differences {
        let values: Vec<_> =
            difference.values.iter().map(|value| value.as_deref().unwrap_or("not reported")).collect();
        let name = if difference.role == Role::Varied { "varied" } else { "differs" };
        section.fact(name, format!("{}: {}", difference.fact, values.join(" → ")));
    }
}

/// Whether all demands are met, with what changed, in one line.
pub(super) fn verdict_line<'a>(
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

/// What became of the demands.
pub(super) fn demands(section: &mut Section, gates: &[GateJudgement]) {
    section.notes(gates.iter().map(|gate| Note::new(gate.status.into(), gate.line.clone())));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Metric;

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
        assert_eq!(detectable(&row(share)), "9.03 pt");
        assert_eq!(detectable(&row(FigureKey::of(Metric::Goodput))), "9.03 %");
    }

    #[test]
    fn changes_have_a_sign_and_a_unit() {
        assert_eq!((signed(0.123, "%"), signed(-0.05, "%")), ("+12.3 %".into(), "−5.00 %".into()));
        assert_eq!(signed(0.0, "pt"), "0 pt");
    }
}
