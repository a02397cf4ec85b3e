//! What a comparison compares: its sides, their differences, the demands.

use crate::analysis::Status;
use crate::experiment::compare::{Difference, GateJudgement, Role};
use crate::report::document::{Note, Section, Tone, VerdictLine};

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
pub(super) fn verdict<'a>(
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
    section.notes(gates.iter().map(|gate: &GateJudgement| {
        let status: Status = gate.status;
        Note::new(status.into(), gate.line.clone())
    }));
}
