//! The SLO of a run: targets, attainment, goodput, and what missed it.

use crate::analysis::{Part, SloTarget, Summary};
use crate::record::PartKind;
use crate::report::document::{Level, NOTHING, Section};
use crate::report::documents::parts::cells::bounds;
use crate::units::{count, counted, joined, listed, numbers, percent, three_digits};
use crate::workload::Slo;

/// Classes that a screen has room for.
const SHOWN: usize = 4;

/// Classes that missed their SLO, the worst first, where there are several.
pub(super) fn in_brief(summary: &Summary) -> Section {
    let classes = summary.parts_of(PartKind::Class).into_iter();
    let classes = classes.filter_map(|class| Some((class.slo.slo_attainment?, class.name.as_str())));
    let mut classes: Vec<(f64, &str)> = classes.collect();
    classes.sort_by(|one, other| one.0.total_cmp(&other.0));
    let any = classes.len() > 1 && classes.iter().any(|(met, _)| *met < 1.0);
    let line = any.then(|| {
        let shown = classes.iter().take(SHOWN).map(|(met, name)| format!("{name} {}", percent(*met)));
        let more = if classes.len() > SHOWN { ", …" } else { "" };
        format!("SLO met by class: {}{more}", joined(shown, ", "))
    });
    Section::continued(Level::Brief).text(line)
}

pub(super) fn section(summary: &Summary) -> Option<Section> {
    let slo = Some(&summary.slo).filter(|slo| slo.declared)?;
    let (with, others) = match slo.scheduled - slo.with_slo {
        0 => (counted(slo.scheduled, "scheduled request"), String::new()),
        free => (
            format!("{} with an SLO", counted(slo.with_slo, "request")),
            format!("; {} of {} have none", count(free), count(slo.scheduled)),
        ),
    };
    let line = match (slo.slo_attainment, slo.met, slo.goodput_per_s) {
        (Some(attainment), Some(met), Some(goodput)) => format!(
            "{} of {with} met it ({}); goodput {} requests/s{others}",
            percent(attainment),
            count(met),
            three_digits(goodput)
        ),
        _ => format!("{NOTHING}: how many of {with} met it is unknown, and so is goodput{others}"),
    };
    let misses = numbers([
        (slo.over_ttft.unwrap_or(0), "over TTFT"),
        (slo.over_tpot.unwrap_or(0), "over TPOT"),
        (slo.over_e2e, "over e2e"),
        (slo.of_another_form, "of another form"),
        (slo.not_completed, "not completed"),
    ]);
    let wrong = (slo.wrong > 0).then(|| format!("{} complete, which goodput does not count", count(slo.wrong)));
    let section = Section::detail("SLO")
        .facts("wrong answers", wrong)
        .facts("targets", targets(summary))
        .fact("attainment", line);
    let late = summary.deadlines.map(|deadlines| {
        format!(
            "{} of {} came late (after TTFT bound + i × TPOT bound), to {} of {}",
            percent(deadlines.deadline_miss),
            counted(deadlines.tokens, "token"),
            count(deadlines.late_requests),
            counted(deadlines.requests, "request")
        )
    });
    Some(section.facts("misses", listed(misses, ", ")).facts("lateness", late))
}

/// Every target; none where each group has one, which its table then shows.
fn targets(summary: &Summary) -> Vec<String> {
    let kinds = [PartKind::Class, PartKind::Priority].map(|kind| summary.parts_of(kind));
    let in_tables = kinds.iter().any(|parts| parts.len() > 1 && parts.iter().all(|part| shared(part).is_some()));
    if in_tables {
        return Vec::new();
    }
    let mut all: Vec<&SloTarget> = Vec::new();
    for target in kinds.iter().flatten().flat_map(|part| &part.slo_targets) {
        if !all.contains(&target) {
            all.push(target);
        }
    }
    let line = |target: &&SloTarget| {
        if all.len() == 1 {
            return bounds(target.slo);
        }
        let tenant = target.tenant.as_ref().map(|name| format!(", {name}")).unwrap_or_default();
        format!("{}, {}{tenant}: {}", target.class, target.priority, bounds(target.slo))
    };
    all.iter().map(line).collect()
}

/// The SLO of a part, where all of its requests have the same.
pub(super) fn shared(part: &Part) -> Option<Slo> {
    let first = part.slo_targets.first()?.slo;
    part.slo_targets.iter().all(|target| target.slo == first).then_some(first)
}
