//! Stored sweeps against a baseline.

use super::rows::{begun, conditions, demands, label, signed, table, unmet, verdict_line};
use super::side_names::rename;
use crate::analysis::FigureLevel;
use crate::experiment::compare::{AnswerOfSide, ComparedSweeps, Pairing, SweepAgainst};
use crate::experiment::{HighestLoad, Load};
use crate::report::chart::{Axis, LineStyle, Palette, Plot, Point, Series};
use crate::report::document::{Chart, Document, KeyFigure, Level, Note, Section, Table, cell};
use crate::units::{counted, joined, listed, span, three_digits};

/// Curves that a chart distinguishes: four colours, solid and dashed.
const MOST_CURVES: usize = 8;

/// Sweeps whose answers a screen has room for.
const MOST_ANSWERS: usize = 12;

/// The comparison of sweeps as a document.
pub fn compared_sweeps(compared: &ComparedSweeps) -> Document {
    let mut compared = compared.clone();
    rename(
        &compared.differences,
        compared.answers.iter_mut().map(|answer| &mut answer.side),
        compared.against.iter_mut().map(|against| &mut against.side),
    );
    let compared = &compared;
    let gates = compared.against.iter().flat_map(|against| &against.gates);
    let sides: Vec<_> = compared.answers.iter().map(|answer| (answer.side.as_str(), in_words(answer))).collect();
    let title = format!("{} compared", counted(sides.len() as u64, "sweep"));
    let invalid = compared.answers.iter().filter(|answer| !answer.valid).count();
    let verdict = verdict_line(gates, Vec::new(), &sides, invalid);
    let several = compared.against.len() > 1;
    let each = compared.against.iter().flat_map(|against| {
        let section = one(against);
        // Of many sweeps a screen has the answers alone.
        let [section, unmet] = if several {
            [section.at(Level::Page), unmet(&against.side, &against.gates)]
        } else {
            [section, Section::continued(Level::Brief)]
        };
        [section, unmet, by_load(against)]
    });
    begun(title, verdict, &sides, conditions(&compared.differences))
        .headline(headline(&compared.answers))
        .with([answers(&compared.answers), curves(compared)])
        .with(each)
}

/// Returns the change of the highest load of two sweeps. Of more it is the highest load; `None` where it is not known
/// of all.
fn headline(answers: &[AnswerOfSide]) -> Option<KeyFigure> {
    let loads: Vec<f64> = answers.iter().map(highest).collect::<Option<_>>()?;
    if let ([baseline, other], [before, after]) = (answers, loads.as_slice()) {
        let said = format!("the highest load of {} against {}", other.side, baseline.side);
        return Some(KeyFigure::new(said, signed(after / before - 1.0, "%"), ""));
    }
    let (best, load) = answers.iter().zip(loads).max_by(|one, other| one.1.total_cmp(&other.1))?;
    let unit = match best.answer.as_ref()?.passed {
        Some(load) if load.users().is_some() => load.kind().to_owned(),
        _ => format!("{}/s", best.begun.name()),
    };
    let said = format!("{} has the highest load of {}", best.side, answers.len());
    Some(KeyFigure::new(said, three_digits(load), unit))
}

/// The highest load of a sweep that can be trusted.
fn highest(answer: &AnswerOfSide) -> Option<f64> {
    let found = answer.answer.as_ref().filter(|_| answer.valid)?;
    found.estimate.or(found.passed.map(Load::amount)).filter(|load| *load > 0.0)
}

/// Names the best sweep, as in `the best within the objectives: max_num_seqs 128, 71.2/s`. It says what leaves room for
/// chance. `None` where fewer than two sweeps have a highest load, or those are not of one kind.
fn best(answers: &[AnswerOfSide]) -> Option<String> {
    let mut found: Vec<_> =
        answers.iter().filter_map(|answer| Some((answer, answer.answer.as_ref()?, highest(answer)?))).collect();
    found.sort_by(|one, other| other.2.total_cmp(&one.2));
    let [(best, answer, load), others @ ..] = found.as_slice() else { return None };
    let like = |answer: &HighestLoad| answer.passed.or(answer.failed);
    let kind = |answer: &HighestLoad| like(answer).map(Load::kind);
    if others.is_empty() || others.iter().any(|(_, other, _)| kind(other) != kind(answer)) {
        return None;
    }
    let shown = match like(answer)? {
        Load::Rate(_) => Load::Rate(*load).to_string(),
        of_users => format!("{} {}", three_digits(*load), of_users.kind()),
    };
    let may_be_as_good = |other: &HighestLoad| {
        answer.crossing().zip(other.crossing()).is_none_or(|(best, other)| other.high >= best.low)
    };
    let near = others.iter().filter(|(_, other, _)| may_be_as_good(other)).map(|(side, ..)| &side.side);
    let doubt = listed(near, ", ").map_or(String::new(), |near| format!("; not surely more than {near}"));
    Some(format!("the best within the objectives: {}, {shown}{doubt}", best.side))
}

/// A sweep in a sentence.
fn in_words(answer: &AnswerOfSide) -> String {
    let verdict = if answer.valid { "" } else { "; INVALID" };
    let started = answer.started_at.strftime("%Y-%m-%d %H:%M UTC");
    let found = answer.answer.as_ref().map_or("no objectives were set", |answer| answer.sentence.as_str());
    format!("{}, {started}: {found}{verdict}", answer.side)
}

fn answers(answers: &[AnswerOfSide]) -> Section {
    let interval = |found: &HighestLoad| span(found.crossing()?.ends(), "–", three_digits);
    let sides = answers.iter().map(|answer| (answer, answer.answer.as_ref()));
    let table = Table::over("Highest load by side", sides)
        .column("", |(answer, _)| answer.side.clone())
        .column("passed", |(_, found)| Some(found?.passed?.to_string()))
        .column("failed", |(_, found)| Some(found?.failed?.to_string()))
        .column("estimate", |(_, found)| found?.estimate.map(three_digits))
        .column("95 %", |(_, found)| interval(found?))
        .in_brief(&(0..MOST_ANSWERS), "sweep");
    Section::summary("Highest load that meets the objectives").table(table).text(best(answers))
}

fn one(against: &SweepAgainst) -> Section {
    let apart = against.loads.is_empty().then(|| {
        Note::advice(
            "the two measured no load in common: run the second sweep with --rates and the baseline's loads to compare \
             them load by load",
        )
    });
    let confounded =
        against.loads.iter().flat_map(|at| at.confounded.in_words(&format!("{} at {}", against.side, at.load)));
    Section::summary(format!("{} against the baseline", against.side))
        .notes(demands(&against.gates))
        .text([&against.sentence])
        .notes(confounded.map(Note::warning))
        .notes(apart)
}

/// Every figure at every load that both measured.
fn by_load(against: &SweepAgainst) -> Section {
    let rows = against.loads.iter().flat_map(|at| at.rows.iter().map(move |row| (at, row)));
    let rows = rows.map(|(at, row)| (format!("{} {}", at.load, label(&row.figure)), row));
    let single = against.loads.iter().any(|at| at.pairing == Pairing::OneRunEach);
    let advice = "one run of a load cannot show a small difference: run the sweeps with --repeats 3 or more";
    Section::detail(format!("{} against the baseline, load by load", against.side))
        .table(table(&format!("{}, load by load", against.side), rows, Pairing::Independent))
        .notes(single.then(|| Note::advice(advice)))
        .more(single.then_some("compare"))
}

fn curves(compared: &ComparedSweeps) -> Section {
    let left_out = match compared.answers.len().saturating_sub(MOST_CURVES) {
        0 => None,
        more => Some(format!("{more} more not drawn")),
    };
    let whiskers = Some("whiskers: 95 % intervals over runs".to_owned());
    let drawn: [(&str, &str, Option<String>, Read); 2] = [
        ("p99 TTFT over load", "p99 TTFT, ms", whiskers, |side| &side.ttft_p99_ms),
        ("Output tokens over load", "tokens/s", None, |side| &side.output_tokens_per_s),
    ];
    let chart = |(title, axis, hint, read): (&str, &str, Option<String>, Read)| {
        let hint = joined(hint.into_iter().chain(left_out.clone()), "; ");
        let chart = Chart::new(title, curve(compared, axis, read)?);
        Some(chart.hint(hint).behind(levels(compared, read)))
    };
    Section::page("The curves").charts(drawn.into_iter().filter_map(chart)).charts(throughput_against_latency(compared))
}

/// Output tokens per second against the p99 of TTFT. Each sweep has a curve up to where its server is full.
fn throughput_against_latency(compared: &ComparedSweeps) -> Option<Chart> {
    let at = |side: &AnswerOfSide| -> Vec<(Load, f64, f64)> {
        let levels = side.ttft_p99_ms.iter().filter(|(load, _)| !side.saturated.contains(load));
        let both = levels.filter_map(|(load, ttft)| {
            let (_, tokens) = side.output_tokens_per_s.iter().find(|(other, _)| other == load)?;
            Some((*load, ttft.value?, tokens.value?))
        });
        both.collect()
    };
    let series = each_drawn(compared, |side| {
        let points = at(side).into_iter().map(|(load, ttft, tokens)| {
            let words = format!("{}, {load}: {} tokens/s at p99 TTFT {} ms", side.side, cell(tokens), cell(ttft));
            Point::at(ttft, tokens, words)
        });
        points.collect()
    });
    let points = || series.iter().flat_map(Series::marked);
    let (xs, ys): (Vec<f64>, Vec<f64>) = points().map(|point| (point.x, point.y)).unzip();
    if xs.is_empty() {
        return None;
    }
    let rows = compared.answers.iter().flat_map(|side| at(side).into_iter().map(move |of| (&*side.side, of)));
    let table = Table::over("Output tokens against p99 TTFT", rows)
        .column("side", |(side, _)| side.to_owned())
        .column("load", |(_, (load, ..))| load.to_string())
        .column("p99 TTFT, ms", |(_, (_, ttft, _))| ttft)
        .column("tokens/s", |(.., (.., tokens))| tokens);
    let description = format!("Output tokens against p99 TTFT of {} sweeps", compared.answers.len());
    let (x, y) = (Axis::fitting("p99 TTFT, ms", xs), Axis::from_zero("tokens/s", ys));
    let chart = Chart::new("Output tokens against p99 TTFT", Plot::new(description, x, y, series));
    Some(chart.hint("up and left is better; loads that overload a server are left out").behind(table))
}

type Read = fn(&AnswerOfSide) -> &Vec<(Load, FigureLevel)>;

/// The figures behind a chart, side by side.
fn levels(compared: &ComparedSweeps, read: Read) -> Table {
    let at_least = |level: &FigureLevel| level.at_least.map(|least| format!("> {}", cell(least)));
    let sides = compared.answers.iter();
    let rows = sides.flat_map(|side| read(side).iter().map(|(load, level)| (&*side.side, load, level)));
    Table::over("Figures by load", rows)
        .column("side", |(side, ..)| side.to_owned())
        .column("load", |(_, load, _)| load.to_string())
        .column("figure", |(.., level)| level.value.map(cell).or_else(|| at_least(level)))
        .column("95 % from", |(.., level)| level.low)
        .column("to", |(.., level)| level.high)
        .into()
}

/// One figure of all sweeps over their loads; nothing where no sweep has it.
fn curve(compared: &ComparedSweeps, title: &str, read: Read) -> Option<Plot> {
    let mut series = each_drawn(compared, |side| {
        let points = read(side).iter().filter_map(|(load, level)| {
            let y = level.value.or(level.at_least)?;
            let words = format!("{}, {load}: {}", side.side, cell(y));
            let (low, high, at_least) = (level.low, level.high, level.value.is_none());
            Some(Point { low, high, at_least, ..Point::at(load.amount(), y, words) })
        });
        points.collect()
    });
    if series.iter().all(|series| series.marked().is_empty()) {
        return None;
    }
    Series::raise(&mut series, None);
    let points = || series.iter().flat_map(Series::marked);
    let loads: Vec<f64> = points().map(|point| point.x).collect();
    let heights: Vec<f64> = points().flat_map(|point| [Some(point.y), point.high]).flatten().collect();
    let first = compared.answers.first();
    let unit = match first.and_then(|side| read(side).first()) {
        Some((load, _)) if load.users().is_some() => load.kind().to_owned(),
        _ => {
            format!("{}/s requested", first.map_or("requests", |side| side.begun.name()))
        }
    };
    let description = format!("{title} over load of {} sweeps", compared.answers.len());
    Some(Plot::new(description, Axis::fitting(&unit, loads), Axis::fitting(title, heights), series))
}

/// Returns a series for each sweep that is drawn. Each has a colour and line of its own.
fn each_drawn(compared: &ComparedSweeps, points: impl Fn(&AnswerOfSide) -> Vec<Point>) -> Vec<Series> {
    let lines = [(LineStyle::Solid, ""), (LineStyle::Dashed, " (dashed)")].into_iter();
    let looks = lines.flat_map(|line| Palette::SERIES.map(|palette| (palette, line)));
    let series = compared.answers.iter().zip(looks).map(|(side, (palette, (line, ending)))| {
        Series::points(format!("{}{ending}", side.side), palette, line, points(side))
    });
    series.collect()
}
