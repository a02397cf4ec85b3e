//! Stored runs or repeats, or runs of several tools, against a baseline.

use super::over_time;
use super::rows::{self, begun, change, conditions, demands, label, signed, unmet, value, verdict_line};
use super::{side_names, why};
use crate::analysis::statistics::Estimate;
use crate::analysis::{FigureKind, Metric, Quantile, VerdictOutcome};
use crate::experiment::compare::{
    AgainstBaseline, AgainstForeign, AnySideDescription, ChangeStanding, Compared, ComparedForeign, ComparedRow,
    Pairing, SideDescription,
};
use crate::report::chart::{self, Axis, Palette, Plot, Point, ReferenceLine};
use crate::report::document::{Chart, Document, KeyFigure, Level, Note, Section};
use crate::report::documents::parts::cells::{grouped, versioned};
use crate::report::documents::parts::diagnosis;
use crate::units::{counted, joined, three_digits};

/// The comparison of runs as a document.
pub fn compared(stored: &Compared) -> Document {
    let mut compared = stored.clone();
    side_names::rename(
        &compared.differences,
        compared.sides.iter_mut().map(|side| &mut side.name),
        compared.against.iter_mut().map(|against| &mut against.side),
    );
    let compared = &compared;
    // With several sides, no single change can stand for all.
    let (changed, answer) = match compared.against.as_slice() {
        [only] => {
            let in_numbers = (!only.rows.is_empty()).then(|| rows::in_numbers(&only.rows));
            (only.rows.iter().filter_map(in_brief).chain(in_numbers).collect(), headline(compared, only))
        }
        _ => (Vec::new(), None),
    };
    let gates = compared.against.iter().flat_map(|against| &against.gates);
    let folders = stored.sides.iter().map(|side| side.name.as_str());
    let sides = compared.sides.iter().zip(folders);
    let sides: Vec<_> = sides.map(|(side, folder)| (side.name.as_str(), side_in_words(side, folder))).collect();
    let title = format!("{} stored sides compared", compared.sides.len());
    let invalid = compared.sides.iter().filter(|side| !side.valid).count();
    let verdict = verdict_line(gates, changed, &sides, invalid);
    let each = compared.against.iter().flat_map(|against| {
        let section = one(compared, against);
        // Of many sides a screen has the course over time.
        if compared.trend.is_some() {
            [section.at(Level::Page), unmet(&against.side, &against.gates)]
        } else {
            let others = rows::others_that_changed(&against.rows);
            [section, Section::continued(Level::Brief).notes(others)]
        }
    });
    begun(title, verdict, &sides, conditions(&compared.differences))
        .headline(answer)
        .with(each)
        .with(compared.trend.iter().flat_map(|trend| over_time::sections(compared, trend)))
}

/// The change of the first 95th percentile.
fn headline(compared: &Compared, against: &AgainstBaseline) -> Option<KeyFigure> {
    let row = against.rows.iter().find(|row| in_brief(row).is_some())?;
    let by = row.change.map(|by| by.value);
    let shown = match by.or(rows::least_change(row))? {
        times if times >= TIMES => format!("{}×", three_digits(times + 1.0)),
        share => signed(share, "%"),
    };
    let over = if by.is_none() { "> " } else { "" };
    let baseline = compared.sides.first().map_or("", |side| side.name.as_str());
    let name = format!("{} of {} against {baseline}", row.figure.title(), against.side);
    let unit = match row.figure.kind() {
        FigureKind::Latency => " ms",
        FigureKind::Rate => "/s",
        FigureKind::Share => " %",
        FigureKind::Count | FigureKind::Cost => "",
    };
    let figures = format!("{} → {}{unit}", value(row, &row.baseline), value(row, &row.other));
    let interval = rows::change_interval(row).map(|interval| format!("95 % interval {interval}"));
    Some(KeyFigure::new(name, format!("{over}{shown}"), "").below([figures].into_iter().chain(interval)))
}

/// The change from which on it is said as a multiple.
const TIMES: f64 = 2.0;

/// Describes a side in a sentence. It gives its name, its folder where that is another, when it ran, and how much of it
/// there is.
fn side_in_words(side: &SideDescription, folder: &str) -> String {
    let folder = if folder == side.name { String::new() } else { format!("in {folder}, ") };
    let runs = match side.counted_runs {
        1 => String::new(),
        runs => format!("{}, ", counted(runs, "run")),
    };
    let verdict = match side.outcome {
        VerdictOutcome::Valid => String::new(),
        other => format!("; {}", other.word()),
    };
    format!(
        "{}: {folder}{}, seed {}, {runs}{}, {} on {}, {}{verdict}",
        side.name,
        side.workload,
        side.seed,
        counted(side.requests, "request"),
        side.model,
        versioned(&side.engine, side.server_version.as_deref()),
        side.started_at.strftime("%Y-%m-%d %H:%M UTC"),
    )
}

/// The change of a 95th percentile, which readers look for first.
fn in_brief(row: &ComparedRow) -> Option<String> {
    let metric = row.figure.metric;
    let is_first =
        row.figure.quantile() == Some(Quantile::P95) && matches!(metric, Metric::Ttft | Metric::Tpot | Metric::E2e);
    let name = is_first.then(|| metric.title())?;
    let least = rows::least_change(row).map(|least| format!("over {}", signed(least, "%")));
    let change = row.change.map(|_| change(row)).or(least)?;
    let standing = match row.standing {
        ChangeStanding::Unknown => String::new(),
        known => format!(" ({})", rows::verdict(known)),
    };
    Some(format!("p95 {name} {change}{standing}"))
}

/// Says how the runs of both sides belong together, and what follows.
const fn pairing_in_words(pairing: Pairing) -> &'static str {
    match pairing {
        Pairing::OneRunEach => "one run a side, of plans of their own",
        Pairing::SamePlan => "one run a side, requests of the same plan paired",
        Pairing::Independent => "repeats of plans of their own, Welch's t",
        Pairing::Paired => "repeats of the same plans, paired t",
    }
}

fn one(compared: &Compared, against: &AgainstBaseline) -> Section {
    let pairing = pairing_in_words(against.pairing);
    let trades = against.per_gpu_trade.iter();
    Section::summary(format!("{} against the baseline: {pairing}", against.side))
        .notes(demands(&against.gates))
        .table(rows::table(&format!("Change of {}", against.side), labelled(&against.rows), against.pairing))
        .notes(trades.map(|trade| Note::info(trade.in_words(&against.side))))
        .charts(changes(against))
        .notes(against.warm_like_cold.iter().map(|seen| diagnosis::with_cure(seen, None)))
        .notes(closed_and_open(compared, against).map(Note::warning))
        .notes(against.confounded.in_words(&against.side).map(Note::warning))
        .notes((against.pairing == Pairing::OneRunEach).then(|| Note::warning(OTHER_PLANS)))
        .notes(advice(compared, against).into_iter().map(Note::advice))
        .more(["compare"])
}

/// Figures by their names and units.
fn labelled(rows: &[ComparedRow]) -> impl Iterator<Item = (String, &ComparedRow)> {
    rows.iter().map(|row| (label(&row.figure), row))
}

/// Largest change that is drawn where it stands. One figure that grew a hundredfold leaves no room for the others.
const FURTHEST: f64 = 3.0;

/// The change of every figure, under one axis.
fn changes(against: &AgainstBaseline) -> Option<Chart> {
    let marked = against.rows.iter().filter(|row| row.figure.kind() != FigureKind::Share).filter_map(|row| {
        let changed = row.change.or(rows::least_change(row).map(Estimate::bare))?;
        let palette = match row.standing {
            ChangeStanding::Better => Palette::Third,
            ChangeStanding::Worse => Palette::Second,
            _ => Palette::First,
        };
        let (by, (low, high)) = (changed.value, changed.ends());
        let at_least = by > FURTHEST || row.change.is_none();
        let [low, high] = [low, high].map(|end| end.filter(|_| !at_least).map(|end| end.min(FURTHEST) * 100.0));
        let point = Point { low, high, at_least, ..Point::at(by.min(FURTHEST) * 100.0, 0.0, String::new()) };
        let words = format!(
            "{}: {} → {}, {} ({})",
            label(&row.figure),
            value(row, &row.baseline),
            value(row, &row.other),
            row.change.map_or_else(|| format!("over {}", signed(by, "%")), |_| change(row)),
            rows::verdict(row.standing)
        );
        Some((chart::Row::new(row.figure.to_string(), words), palette, Some(point)))
    });
    let marked: Vec<_> = marked.collect();
    let axis = |ends: Vec<f64>| Axis::around("change, %", ends.into_iter().chain([0.0]));
    let description = format!("Change of {} figures of {} against the baseline", marked.len(), against.side);
    let plot =
        Plot::marked_rows(description, axis, marked)?.with_rules([ReferenceLine::Place(0.0, "no change".to_owned())]);
    let hint = "left of the line: less than the baseline; whiskers: 95 % intervals; arrows: more than that";
    Some(Chart::new("Change against the baseline", plot).hint(hint))
}

/// Said of single runs of plans of their own.
const OTHER_PLANS: &str = "the runs have plans of their own, so chance gave them other requests and only a large \
    change shows: run both with the same workload and --seed";

/// Coordinated omission, where one of the two sides is a closed loop.
fn closed_and_open(compared: &Compared, against: &AgainstBaseline) -> Option<String> {
    let other = compared.sides.iter().find(|side| side.name == against.side)?;
    let (closed, open) = match [compared.sides.first()?, other] {
        [closed, open] | [open, closed] if closed.load.is_closed() && !open.load.is_closed() => {
            (&closed.name, &open.name)
        }
        _ => return None,
    };
    Some(format!(
        "what {open} takes longer at the same requests/s is what the closed loop of {closed} hides (coordinated \
         omission): its users wait for slow answers, and the requests that would have come meanwhile are not measured"
    ))
}

/// Returns what a reader must know of the figures.
fn advice(compared: &Compared, against: &AgainstBaseline) -> Vec<&'static str> {
    if against.pairing.is_of_single_runs() {
        return vec![
            "one run a side cannot show a small difference: its intervals cover what varies inside a run, not between \
             runs. Repeat both sides with --repeats 5 and compare their folders, or run skyline ab",
        ];
    }
    let is_short = compared.sides.iter().any(|side| side.counted_runs < 5);
    let short = "few runs make wide intervals: 5 or more a side are advised (--repeats 5)";
    let detectable = "detectable: a change that so many runs detect with 80 % power; not significant does not prove \
        that there is none";
    is_short.then_some(short).into_iter().chain([detectable]).collect()
}

/// Facts that a reader must know of every comparison of runs of several tools.
const FOREIGN_ADVICE: [&str; 3] = [
    "latencies of other tools cover the completed requests of the whole run, its beginning and its end included; those \
     of Skyline the requests of its window, with cut-off ones as lower bounds",
    "rates are not judged: theirs are totals over the whole run, ours those of a window in which load keeps coming",
    "one run a side cannot show a small difference: its intervals cover what varies inside a run, not between runs",
];

/// The comparison of runs of several tools as a document.
pub fn compared_foreign(compared: &ComparedForeign) -> Document {
    let gates = compared.against.iter().flat_map(|against| &against.gates);
    let sides: Vec<_> = compared.sides.iter().map(|side| (side.name.as_str(), any_side_in_words(side))).collect();
    let title = format!("{} of several tools compared", counted(compared.sides.len() as u64, "run"));
    let unchecked = compared.unchecked.iter().map(|unchecked| {
        let line = format!("{}: not reported by {}", unchecked.fact, unchecked.missing_in.join(", "));
        ("unchecked", line)
    });
    let conditions = conditions(&compared.differences).into_iter().chain(unchecked).collect();
    let invalid = compared.sides.iter().filter(|side| side.valid == Some(false)).count();
    let verdict = verdict_line(gates, Vec::new(), &sides, invalid);
    let each = compared.against.iter().enumerate().flat_map(|(place, against)| {
        let section = one_foreign(against);
        let why = against.why.iter().flat_map(why::sections);
        // Of many sides a screen has the first.
        let all: Vec<_> = if place > 0 {
            let why = why.map(|section| section.at(Level::Page));
            [section.at(Level::Page), unmet(&against.side, &against.gates)].into_iter().chain(why).collect()
        } else {
            [section].into_iter().chain(why).collect()
        };
        all
    });
    let others = compared.against.len().saturating_sub(1) as u64;
    let more = (others > 0).then(|| format!("… and {} (--full)", counted(others, "more side")));
    let how = Section::detail("How to read this comparison")
        .notes(FOREIGN_ADVICE.map(Note::info))
        .more(["compare", "other-tools"]);
    begun(title, verdict, &sides, conditions).with(each).with([
        Section::continued(Level::Brief).text(more),
        reservations(&compared.sides),
        how,
    ])
}

/// Returns what a reader must know of the sides. Each of it is there once, with the sides that it is about.
fn reservations(sides: &[AnySideDescription]) -> Section {
    let all = sides.iter().flat_map(|side| side.reservations.iter().map(move |text| (&side.name, text)));
    let note = |(text, names)| Note::warning(format!("{}: {text}", joined(names, ", ")));
    Section::continued(Level::Summary).notes(grouped(all).into_iter().map(note))
}

fn any_side_in_words(side: &AnySideDescription) -> String {
    let verdict = match side.valid {
        Some(true) => "",
        Some(false) => "; INVALID",
        None => "; no verdict",
    };
    format!("{}: {}, {} completed{verdict}", side.name, side.tool, counted(side.completed, "request"))
}

fn one_foreign(against: &AgainstForeign) -> Section {
    let only = [(&against.only_baseline, "the baseline"), (&against.only_here, &*against.side)];
    let only = only.into_iter().filter(|(names, _)| !names.is_empty());
    Section::summary(format!("{} against the baseline: one run a side", against.side))
        .notes(demands(&against.gates))
        .table(rows::table(&format!("Change of {}", against.side), labelled(&against.rows), Pairing::OneRunEach))
        .named(only.map(|(names, of)| (format!("only in {of}"), [names.join(", ")])))
}
