//! A sweep as a document: the answer, the loads from low to high, the shape of the curve, and why it ended.

mod curves;
pub(super) mod latencies;
mod limits;
mod loads;
mod reasons;
mod setup;
#[cfg(test)]
mod tests;

use crate::analysis::Status;
use crate::experiment::{Diagnosis, HighestLoad, LoadClass, Sweep, TierAnswer};
use crate::report::document::{Document, KeyFigure, Level, Note, Section, Tone, VerdictLine};
use crate::report::documents::parts::diagnosis;
use crate::units::{counted, listed, span, three_digits};

pub(in crate::report::documents) use self::loads::table as loads_table;

/// The sweep as a document.
pub fn document(sweep: &Sweep) -> Document {
    let [decides, more] = curves(sweep);
    let reasons = (!sweep.valid).then(|| reasons::add(Section::continued(Level::Summary), sweep));
    Document::new(format!("Sweep of {}", sweep.workload.name))
        .verdict(verdict(sweep))
        .headline(headline(sweep))
        .about(setup::about(sweep))
        .with(reasons)
        .with([answer(sweep), limits::tiers(sweep), decides, loads::section(sweep), setup::section(sweep)])
        .with([
            limits::answers(sweep),
            loads::objectives(sweep),
            loads::intervals(sweep),
            loads::server(sweep),
            more,
            shape(sweep),
        ])
        .with([diagnosis::section(&Diagnosis::of_sweep(sweep)), end(sweep)])
}

/// Returns the answer, or what was found where no objective asks for one. Nothing that an INVALID sweep says is good.
fn verdict(sweep: &Sweep) -> VerdictLine {
    let open = sweep.points.iter().any(|point| point.class == LoadClass::Undecided);
    let (tone, word, sentence) = match (&sweep.answer, &sweep.knee) {
        (Some(answer), _) if answer.passed.is_some() => (Tone::Good, "PASSED", found(sweep, answer)),
        (Some(answer), _) if answer.failed.is_some() && !open => (Tone::Bad, "FAILED", found(sweep, answer)),
        (Some(answer), _) => (Tone::Neutral, "UNDECIDED", found(sweep, answer)),
        (None, Some(knee)) => (Tone::Neutral, "MEASURED", knee.sentence.clone()),
        (None, None) => {
            let loads = counted(sweep.points.len() as u64, "load");
            (Tone::Neutral, "MEASURED", format!("{loads}; the curve has no knee"))
        }
    };
    let (tone, word) = if sweep.valid { (tone, word) } else { (Tone::Bad, "INVALID") };
    VerdictLine::new(tone, word, sentence)
}

/// The answer in a sentence; of tiers, the highest load of each.
fn found(sweep: &Sweep, answer: &HighestLoad) -> String {
    let of = |tier: &TierAnswer| format!("{} of {}", limits::highest(sweep, &tier.answer), tier.name);
    let tiers = listed(sweep.tiers.iter().map(of), ", ");
    tiers.map_or_else(|| answer.sentence.clone(), |tiers| format!("the highest loads that meet their tier: {tiers}"))
}

/// The highest load that meets the objectives, or the knee.
fn headline(sweep: &Sweep) -> Option<KeyFigure> {
    let unit = latencies::load_unit(sweep).replace(" requested", "");
    let Some(answer) = &sweep.answer else {
        let knee = sweep.knee.as_ref()?;
        return Some(KeyFigure::new("knee of the curve", three_digits(knee.load.amount()), unit));
    };
    let name = match sweep.tiers.as_slice() {
        [] => format!("is the highest load that meets {}", sweep.plan.objectives_in_words()),
        _ => "is the highest load that meets every tier".to_owned(),
    };
    let found = three_digits(answer.estimate.unwrap_or(answer.passed?.amount()));
    let found = if answer.failed.is_none() { format!("≥ {found}") } else { found };
    let interval = answer.crossing().and_then(|found| span(found.ends(), " to ", three_digits));
    let interval = interval.map(|ends| format!("95 % interval {ends}"));
    Some(KeyFigure::new(name, found, unit).below(interval.into_iter().chain(limits::tokens(sweep, answer))))
}

fn answer(sweep: &Sweep) -> Section {
    // Tiers have their table.
    let answer = sweep.answer.as_ref().filter(|_| sweep.tiers.is_empty());
    let sustained = sweep.sustained.as_ref().map(|sustained| {
        let status = match (sustained.held, sustained.undecided || sustained.unknown.is_some()) {
            (true, _) => Status::Met,
            (false, false) => Status::Missed,
            (false, true) => Status::Undecided,
        };
        Note::new(status, sustained.sentence.clone())
    });
    Section::continued(Level::Summary)
        .facts("limits", answer.and_then(|answer| limits::by_objective(sweep, answer)))
        .facts("agents", answer.and_then(limits::shares))
        .facts("throughput", answer.and_then(|answer| limits::throughput(sweep, answer)))
        .facts("step time", sweep.step_time.as_ref().map(|line| line.sentence.clone()))
        .notes(sustained)
        .notes(sweep.accuracy.as_ref().map(|found| {
            let sentence = found.sentence.clone();
            if found.change.difference() < 0.0 { Note::warning(sentence) } else { Note::info(sentence) }
        }))
}

/// The latencies that decide, and what is completed, over the load; then the others.
fn curves(sweep: &Sweep) -> [Section; 2] {
    let mut throughput = curves::throughput(sweep).into_iter();
    let mut charts = latencies::that_decide(sweep, &latencies::answered(sweep)).into_iter();
    let first = charts.next().map(|first| latencies::with_bars(sweep, first));
    let decides = Section::page("Over the load")
        .charts(first)
        .charts(charts.chain(throughput.next()))
        .charts(curves::accuracy(sweep));
    let others = latencies::others(sweep).into_iter().chain(throughput);
    [decides, Section::page("Other figures over the load").charts(others)]
}

/// The knee, and the loads that no other dominates.
fn shape(sweep: &Sweep) -> Section {
    Section::detail("Shape of the curve")
        .facts("knee", sweep.knee.as_ref().map(|knee| knee.sentence.clone()))
        .facts("Pareto frontier", curves::frontiers(sweep).map(curves::in_words))
        .charts(curves::frontier_charts(sweep))
}

/// Says why there are no more loads, and what else to know.
fn end(sweep: &Sweep) -> Section {
    let end = Section::detail("End").text([&sweep.stopped_sentence]);
    let end = if sweep.valid { reasons::add(end, sweep) } else { end };
    end.notes(sweep.notes.iter().map(Note::info)).more(["sweep"])
}
