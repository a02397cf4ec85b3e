//! What every comparison shows: its sides, their differences, the demands, and each figure with its change.

use crate::analysis::statistics::Estimate;
use crate::analysis::{Direction, FigureKey, FigureKind, FigureLevel, Quantile, Status, selections};
use crate::experiment::caution;
use crate::experiment::compare::{ChangeStanding, ComparedRow, Difference, GateJudgement, Pairing, Role};
use crate::report::document::{Document, Level, NOTHING, Note, Section, Table, TableOf, Tone, VerdictLine, cell, mark};
use crate::report::documents::parts::cells::{INDICATIVE, p_value, with_unit};
use crate::units::{count, counted, joined, listed, percent, span, three_digits};

/// Returns whether a screen has the figure. It has headlines, and percentiles that the user asked for.
pub(super) fn is_headline(figure: &FigureKey) -> bool {
    selections::headlines().any(|key| key == *figure) || figure.quantile().is_some_and(|quantile| !quantile.is_usual())
}

/// The figures that changed and that a screen has no row for.
pub(super) fn others_that_changed(rows: &[ComparedRow]) -> Option<Note> {
    let of = |standing| {
        let found = rows.iter().filter(|row| row.standing == standing && !is_headline(&row.figure));
        let names = listed(found.map(|row| &row.figure), ", ")?;
        Some(format!("also {}: {names}", verdict(standing)))
    };
    let moved = [ChangeStanding::Worse, ChangeStanding::Better, ChangeStanding::Apart];
    listed(moved.into_iter().filter_map(of), "; ").map(Note::info)
}

/// Returns every figure on both sides, with its change. Of several runs a side there are the interval and the test of
/// the change too.
pub(super) fn table<'a>(
    caption: &str,
    rows: impl Iterator<Item = (String, &'a ComparedRow)>,
    pairing: Pairing,
) -> Table {
    let (several, tested) = (!pairing.is_of_single_runs(), pairing != Pairing::OneRunEach);
    let range = |row: &ComparedRow, level: &FigureLevel| {
        let (low, high) = level.low.zip(level.high)?;
        Some(format!("{}–{}", scaled(row, low), scaled(row, high)))
    };
    let rows: Vec<_> = rows.collect();
    // Without a verdict a p95 between the median and the p99 says little.
    let is_between =
        |row: &ComparedRow| row.standing == ChangeStanding::Unknown && row.figure.quantile() == Some(Quantile::P95);
    let bare = |(_, row): &(_, &ComparedRow)| change_interval(row).is_none() && row_change(row).is_some();
    let why = "no 95 % interval, so no verdict: too few requests or runs, or they differ too much";
    let table = Table::over(caption, &rows)
        .column("", |(label, _)| label.clone())
        .column("baseline", |(_, row)| value(row, &row.baseline))
        .column(("95 %", 3), |(_, row)| range(row, &row.baseline))
        .column("other", |(_, row)| value(row, &row.other))
        .column(("95 %", 3), |(_, row)| range(row, &row.other))
        .column("change", |(_, row)| change(row))
        .column_where_known(("95 %", 6), |(_, row)| change_interval(row))
        .column_if(tested, ("p", 5), |(_, row)| row.p.map(p_value))
        .column_if(several, ("detectable", 4), |(_, row)| detectable(row))
        .column("verdict", |(_, row)| verdict(row.standing))
        .detail_rows(|_, (_, row)| !is_headline(&row.figure) || is_between(row))
        .explain(rows.iter().any(bare).then_some((NOTHING, why)));
    explain_levels(table, rows.iter().flat_map(|(_, row)| [&row.baseline, &row.other])).into()
}

/// Says what the marks of figures mean.
pub(super) fn explain_levels<'a, R: Copy>(
    table: TableOf<R>,
    levels: impl Iterator<Item = &'a FigureLevel>,
) -> TableOf<R> {
    let marks = levels.map(|level| level.mark);
    table.explain_marks(marks, ["too few samples in a run for this percentile", INDICATIVE])
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
    with_unit(&subject.to_string(), subject.kind())
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

/// Returns a share of the baseline with its sign. Of a figure that is a share it returns points.
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

/// Returns the interval of the change.
pub(super) fn change_interval(row: &ComparedRow) -> Option<String> {
    let (change, unit) = row_change(row)?;
    span(change.ends(), " to ", |end| signed(end, unit))
}

fn row_change(row: &ComparedRow) -> Option<(Estimate, &'static str)> {
    match row.figure.kind() {
        FigureKind::Share => Some((row.difference?, "pt")),
        _ => Some((row.change?, "%")),
    }
}

/// Returns the least that a figure changed, as a share of the baseline. `None` unless only that is known.
pub(super) fn least_change(row: &ComparedRow) -> Option<f64> {
    let least = row.other.at_least.filter(|_| row.change.is_none())? / row.baseline.value? - 1.0;
    (least > 0.0).then_some(least)
}

/// Says how many figures are worse and how many are better, by more than chance.
pub(super) fn in_numbers(rows: &[ComparedRow]) -> String {
    let is_worse = |row: &ComparedRow| match row.standing {
        ChangeStanding::Worse => Some(true),
        ChangeStanding::Better => Some(false),
        ChangeStanding::Apart => {
            let rose = row.difference.map(|by| by.value > 0.0).or(least_change(row).map(|_| true))?;
            Some(rose == (row.figure.metric.info().better == Direction::Less))
        }
        _ => None,
    };
    let of = |worse| rows.iter().filter(|row| is_worse(row) == Some(worse)).count() as u64;
    let tested = rows.iter().filter(|row| row.p.is_some()).count() as u64;
    match (of(true), of(false)) {
        (0, 0) if rows.iter().all(|row| row.standing == ChangeStanding::Unknown) => {
            "no figure has an interval that tells a change from chance".to_owned()
        }
        (0, 0) => "no figure changed by more than chance".to_owned(),
        (worse, better) => {
            let moved = rows.iter().filter(|row| is_worse(row).is_some());
            let by_chance = || format!("; chance alone moves some of {} figures so far", count(tested));
            let chance = moved.clone().all(ComparedRow::is_one_of_many).then(by_chance).unwrap_or_default();
            format!("{} worse, {} better{chance}", counted(worse, "figure"), count(better))
        }
    }
}

/// Says in a few words what to think of a difference.
pub(super) const fn verdict(standing: ChangeStanding) -> &'static str {
    match standing {
        ChangeStanding::Better => "better",
        ChangeStanding::Worse => "worse",
        ChangeStanding::NoSignificantChange => "not significant",
        ChangeStanding::Apart => "apart",
        ChangeStanding::Unknown => NOTHING,
    }
}

/// Conditions that a screen has room for.
const CONDITIONS: usize = 4;

/// Begins the document of a comparison, up to its figures. It has the verdict, the sides in words by their names, the
/// baseline first, and what is said of the conditions that are not the same on all of them, or that not all report.
pub(super) fn begun(
    title: String,
    verdict: VerdictLine,
    sides: &[(&str, String)],
    mut conditions: Vec<(&'static str, String)>,
) -> Document {
    let place = |number| if number == 0 { "baseline" } else { "against" };
    let sides: Vec<_> = sides.iter().enumerate().map(|(number, (_, side))| (place(number), side.clone())).collect();
    let hidden = conditions.split_off(conditions.len().min(CONDITIONS));
    let more = (!hidden.is_empty()).then(|| format!("… and {} more (--full)", hidden.len()));
    // Of many sides the verdict has the names.
    let (shown, on_page) = if sides.len() > 2 { (Vec::new(), sides) } else { (sides, Vec::new()) };
    let section = |level: Level, facts: Vec<(&'static str, String)>| {
        Section::continued(level).named(facts.into_iter().map(|(name, value)| (name, [value])))
    };
    Document::new(title).verdict(verdict).with([
        section(Level::Page, on_page),
        section(Level::Summary, [shown, conditions].concat()),
        Section::continued(Level::Brief).text(more),
        section(Level::Page, hidden),
    ])
}

/// The conditions that differ.
pub(super) fn conditions(differences: &[Difference]) -> Vec<(&'static str, String)> {
    let fact = |difference: &Difference| {
        let values = difference.values.iter().map(|value| value.as_deref().unwrap_or("not reported"));
        let name = if difference.role == Role::Varied { "varied" } else { "differs" };
        (name, format!("{}: {}", difference.fact, joined(values, " → ")))
    };
    differences.iter().map(fact).collect()
}

/// Sides whose names stand in the verdict.
const NAMED: usize = 3;

/// Says in one line whether all demands are met, with what changed. Where `invalid` sides are compared on request, it
/// says that first.
pub(super) fn verdict_line<'a>(
    gates: impl Iterator<Item = &'a GateJudgement>,
    changed: Vec<String>,
    sides: &[(&str, String)],
    invalid: usize,
) -> VerdictLine {
    let gates: Vec<_> = gates.collect();
    let of = |status| gates.iter().filter(|gate| gate.status == status).count();
    let (met, undecided) = (of(Status::Met), of(Status::Undecided));
    let (tone, word) = match gates.iter().all(|gate| gate.passes) {
        _ if invalid > 0 => (Tone::Bad, "INVALID"),
        _ if gates.is_empty() => (Tone::Neutral, "COMPARED"),
        true if met == gates.len() => (Tone::Good, "PASSED"),
        true => (Tone::Neutral, "UNDECIDED"),
        false => (Tone::Bad, "FAILED"),
    };
    let mut parts: Vec<_> = caution(invalid, sides.len(), "side").into_iter().collect();
    if !gates.is_empty() {
        let open = if undecided > 0 { format!(", {undecided} undecided") } else { String::new() };
        parts.push(format!("{met} of {} demands met{open}", gates.len()));
    }
    parts.extend(changed);
    if let Some(((baseline, _), others)) = sides.split_first() {
        let names: Vec<&str> = others.iter().map(|(name, _)| *name).collect();
        let compared = if names.len() > NAMED { format!("{} others", names.len()) } else { names.join(", ") };
        parts.push(format!("{compared} against {baseline}"));
    }
    VerdictLine::new(tone, word, parts.join("; "))
}

/// Lists the demands that a side did not meet. A screen has no room for that side's section.
pub(super) fn unmet(side: &str, gates: &[GateJudgement]) -> Section {
    let unmet = gates.iter().filter(|gate| !gate.passes);
    let note = |gate: &GateJudgement| Note::new(gate.status, format!("{side}: {}", gate.line));
    Section::continued(Level::Brief).notes(unmet.map(note))
}

/// Whether each of the demands is met.
pub(super) fn demands(gates: &[GateJudgement]) -> impl Iterator<Item = Note> {
    gates.iter().map(|gate| Note::new(gate.status, gate.line.clone()))
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
        let share = FigureKey::from_metric(Metric::SloAttainment);
        assert_eq!(detectable(&row(share)).unwrap(), "9.03 pt");
        assert_eq!(detectable(&row(FigureKey::from_metric(Metric::Goodput))).unwrap(), "9.03 %");
    }

    #[test]
    fn an_interval_may_have_one_end() {
        let level = FigureLevel { value: Some(1.0), at_least: None, low: None, high: None, mark: None };
        let shown = |low, high| {
            let change = Some(Estimate { value: 0.3, low, high });
            let figure = FigureKey::from_metric(Metric::Goodput);
            let (p, standing) = (None, ChangeStanding::NoSignificantChange);
            let row = ComparedRow {
                figure,
                baseline: level,
                other: level,
                difference: change,
                change,
                p,
                p_holm: p,
                detectable: None,
                standing,
            };
            change_interval(&row)
        };
        let (least, most) = (f64::NEG_INFINITY, f64::INFINITY);
        assert_eq!(shown(0.2, most).unwrap(), "over +20.0 %");
        assert_eq!(shown(least, 0.4).unwrap(), "under +40.0 %");
        assert_eq!(shown(0.2, 0.4).unwrap(), "+20.0 % to +40.0 %");
        assert_eq!(shown(least, most), None);
    }

    #[test]
    fn changes_have_a_sign_and_a_unit() {
        assert_eq!((signed(0.123, "%"), signed(-0.05, "%")), ("+12.3 %".into(), "−5.00 %".into()));
        assert_eq!(signed(0.0, "pt"), "0 pt");
    }
}
