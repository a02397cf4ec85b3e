//! Runs of several tools against a baseline.

use super::rows::{self, Runs};
use super::sides::{demands, differences, sides, verdict};
use crate::analysis::wording::counted;
use crate::experiment::compare::{AgainstForeign, AnySideDescription, ComparedForeign};
use crate::report::document::{Document, Level, Note, Section};

/// What a reader must know of every such comparison.
const ADVICE: [&str; 3] = [
    "latencies of other tools cover the completed requests of the whole run, its beginning and its end included; those of \
     Skyline the requests of its window, with cut-off ones as lower bounds",
    "rates are not compared: theirs are totals over the whole run, ours those of a window in which load keeps coming",
    "one run a side cannot show a small difference: its intervals cover what varies inside a run, not between runs",
];

/// The comparison of runs of several tools as a document.
pub fn compared_foreign(compared: &ComparedForeign) -> Document {
    let gates = compared.against.iter().flat_map(|against| &against.gates);
    let names: Vec<_> = compared.sides.iter().map(|side| side.name.as_str()).collect();
    let title = format!("{} of several tools compared", counted(compared.sides.len() as u64, "run"));
    let mut document = Document::new(title).verdict(verdict(gates, Vec::new(), &names));
    let mut setup = Section::continued(Level::Summary);
    sides(&mut setup, compared.sides.iter().map(in_words));
    differences(&mut setup, &compared.differences);
    for unchecked in &compared.unchecked {
        setup.fact(
            "unchecked",
            format!("{}: not reported by {}", unchecked.fact, unchecked.missing_in.join(", ")),
        );
    }
    for side in &compared.sides {
        setup.notes(side.reservations.iter().map(|text| Note::warning(format!("{}: {text}", side.name))));
    }
    document.add([setup]);
    document.add(compared.against.iter().map(one));
    let mut advice = Section::detail("How to read this comparison");
    advice.notes(ADVICE.map(Note::info));
    document.add([advice]);
    document
}

fn in_words(side: &AnySideDescription) -> String {
    let verdict = match side.valid {
        Some(true) => "",
        Some(false) => "; INVALID",
        None => "; no verdict",
    };
    format!("{}: {}, {} completed{verdict}", side.name, side.tool, counted(side.completed, "request"))
}

fn one(against: &AgainstForeign) -> Section {
    let mut section = Section::summary(format!("{} against the baseline: one run a side", against.side));
    demands(&mut section, &against.gates);
    section.table(rows::table(&format!("Change of {}", against.side), &against.rows, Runs::One));
    for (names, of) in [(&against.only_baseline, "the baseline"), (&against.only_here, &*against.side)] {
        if !names.is_empty() {
            section.fact(format!("only in {of}"), names.join(", "));
        }
    }
    section
}
