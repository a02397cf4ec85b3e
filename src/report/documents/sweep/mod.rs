//! A sweep as a document: the answer, the loads from low to high, the shape of the curve, and why it ended.

mod curves;
pub(super) mod latencies;
mod loads;
mod pairs;
mod reasons;
mod setup;
#[cfg(test)]
mod tests;

use crate::analysis::wording::counted;
use crate::experiment::{Diagnosis, LoadClass, Sweep};
use crate::report::document::{Document, Level, Note, NoteKind, Section, Tone, VerdictLine};
use crate::report::documents::parts::diagnosis;

pub(in crate::report::documents) use self::loads::table as loads_table;

/// The sweep as a document.
pub fn document(sweep: &Sweep) -> Document {
    let mut document = Document::new(format!("Sweep of {}", sweep.workload.name))
        .verdict(verdict(sweep))
        .about(setup::about(sweep));
    document.add([reasons::section(sweep), answer(sweep), setup::section(sweep), loads::section(sweep)]);
    document.add([loads::objectives(sweep), loads::intervals(sweep), curves(sweep), shape(sweep)]);
    document.add([pairs::section(sweep), diagnosis::section(&Diagnosis::of_sweep(sweep)), end(sweep)]);
    document
}

/// The answer, or what was found where no objective asks for one; nothing that an INVALID sweep says is good.
fn verdict(sweep: &Sweep) -> VerdictLine {
    let open = sweep.points.iter().any(|point| point.class == LoadClass::Undecided);
    let (tone, word, sentence) = match (&sweep.answer, &sweep.knee) {
        (Some(answer), _) if answer.passed.is_some() => (Tone::Good, "PASSED", answer.sentence.clone()),
        (Some(answer), _) if answer.failed.is_some() && !open => {
            (Tone::Bad, "FAILED", answer.sentence.clone())
        }
        (Some(answer), _) => (Tone::Neutral, "UNDECIDED", answer.sentence.clone()),
        (None, Some(knee)) => (Tone::Neutral, "MEASURED", knee.sentence.clone()),
        (None, None) => {
            let loads = counted(sweep.points.len() as u64, "load");
            (Tone::Neutral, "MEASURED", format!("{loads}; the curve has no knee"))
        }
    };
    let (tone, word) = if sweep.valid { (tone, word) } else { (Tone::Bad, "INVALID") };
    VerdictLine::new(tone, word, sentence)
}

fn answer(sweep: &Sweep) -> Section {
    let mut section = Section::continued(Level::Summary);
    if let Some(sustained) = &sweep.sustained {
        let kind = match (sustained.held, sustained.undecided || sustained.unknown.is_some()) {
            (true, _) => NoteKind::Met,
            (false, false) => NoteKind::Missed,
            (false, true) => NoteKind::Undecided,
        };
        section.note(Note::new(kind, sustained.sentence.clone()));
    }
    section
}

/// Latency and throughput over the load.
fn curves(sweep: &Sweep) -> Section {
    let mut section = Section::page("Over the load");
    let mut charts = latencies::all(sweep).into_iter().chain(curves::throughput(sweep));
    section.charts(charts.next().map(|first| latencies::with_bars(sweep, first)));
    section.charts(charts);
    section
}

/// The knee, and the loads that no other dominates.
fn shape(sweep: &Sweep) -> Section {
    let mut section = Section::detail("Shape of the curve");
    section.facts("knee", sweep.knee.as_ref().map(|knee| knee.sentence.clone()));
    section.facts("Pareto frontier", curves::frontiers(sweep).map(curves::in_words));
    section.charts(curves::frontier_charts(sweep));
    section
}

/// Why there are no more loads, and what else to know.
fn end(sweep: &Sweep) -> Section {
    let mut section = Section::detail("End");
    section.text(sweep.stopped_sentence.clone());
    if sweep.valid {
        reasons::add(&mut section, sweep);
    }
    section.notes(sweep.notes.iter().map(Note::info));
    section.more(["sweep"]);
    section
}
