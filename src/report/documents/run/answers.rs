//! Sections on what answers say: their forms, and golden prompts.

use crate::analysis::{Accuracy, Passes, Summary};
use crate::record::PartKind;
use crate::report::document::{KeyFigure, Note, Section, Table, cell, known};
use crate::units::{count, counted, joined, listed, numbers, percent, seconds};

pub(super) fn sections(summary: &Summary) -> [Option<Section>; 3] {
    [accuracy(summary), forms(summary), checks(summary)]
}

/// The accuracy as a key figure of a run.
pub(super) fn key_figure(summary: &Summary) -> Option<KeyFigure> {
    let scores = summary.accuracy?;
    let figure = KeyFigure::new("accuracy", scores.accuracy.map_or_else(|| known(None), percent), "");
    let range = interval(scores.interval_low, scores.interval_high).map(|range| format!("95 %: {range} %"));
    Some(figure.below(range.into_iter().chain([format!("{} scored", counted(scores.scored(), "answer"))])))
}

/// Kinds of parts whose accuracy is shown.
const PARTS: [PartKind; 4] = [PartKind::Class, PartKind::Tag, PartKind::Model, PartKind::Server];

fn accuracy(summary: &Summary) -> Option<Section> {
    let all = summary.accuracy?;
    let parts = PARTS.iter().flat_map(|kind| {
        let parts: Vec<_> =
            summary.parts_of(*kind).into_iter().filter_map(|part| Some((&*part.name, part.accuracy?))).collect();
        if parts.len() > 1 { parts } else { Vec::new() }
    });
    let rows: Vec<(&str, Accuracy)> = parts.chain([("all", all)]).collect();
    let table = Table::over("Accuracy", rows)
        .column("", |(name, _)| (*name).to_owned())
        .column("scored", |(_, scores)| scores.scored())
        .column(("right", 3), |(_, scores)| scores.right)
        .column("%", |(_, scores)| percentage(scores.accuracy))
        .column("95 % interval", |(_, scores)| interval(scores.interval_low, scores.interval_high))
        .column(("prompts", 1), |(_, scores)| scores.prompts)
        .column(("wrong, cut at limit", 2), |(_, scores)| scores.cut_at_limit)
        .column(("not completed", 0), |(_, scores)| scores.not_completed);
    let cut = (all.cut_at_limit > 0).then(|| {
        Note::warning(format!(
            "{} of {} wrong answers were cut at their longest length; more `output_tokens` tell a wrong model from one \
             that is not done",
            count(all.cut_at_limit),
            count(all.wrong)
        ))
    });
    let left_out = numbers([
        (all.not_completed, "requests without a complete answer"),
        (all.unscored, "answers that nothing could score"),
    ]);
    let left_out = listed(left_out, ", ").map(|left_out| format!("in no share: {left_out}"));
    Some(
        Section::detail("Accuracy: answers that the rows of the dataset expect")
            .table(table)
            .notes(cut)
            .remark(left_out)
            .more(["prompts"]),
    )
}

fn forms(summary: &Summary) -> Option<Section> {
    let forms = summary.answers.as_ref()?;
    let table = Table::over("Answers of a form", &forms.by_class)
        .column("", |class| class.class.as_str())
        .column(("form", 2), |class| class.form)
        .column("judged", |class| class.valid + class.invalid)
        .column(("valid", 3), |class| class.valid)
        .column("%", |class| percentage(class.valid_share))
        .column("95 % interval", |class| interval(class.interval_low, class.interval_high))
        .column(("cut at limit", 1), |class| class.cut_at_limit);
    let invalid = forms.by_class.iter().filter(|class| class.invalid > 0).map(|class| {
        let faults = class.faults.iter();
        let faults = faults.map(|fault| format!("{} {}", count(fault.count), fault.fault.description()));
        Note::error(format!("{}: {}", class.class, joined(faults, ", ")))
    });
    Some(Section::detail("Answers of a form").table(table).notes(invalid))
}

fn checks(summary: &Summary) -> Option<Section> {
    let quality = summary.quality.as_ref()?;
    let whole = (quality.checks.len() > 1).then_some(("", "all", &quality.before, &quality.under_load));
    let each = quality.checks.iter();
    let each = each.map(|check| ("", check.name.as_str(), &check.before, &check.under_load));
    let slices = quality.slices.iter();
    let slices = slices.map(|slice| ("slice ", slice.name.as_str(), &slice.before, &slice.under_load));
    let table = Table::over("Checks", each.chain(slices).chain(whole))
        .column("", |(kind, name, ..)| format!("{kind}{name}"))
        .column("before", |(_, _, before, _)| passed(before))
        .column("under load", |(.., under_load)| passed(under_load))
        .column("%", |(.., under_load)| percentage(under_load.pass_rate))
        .column("95 % interval", |(.., load)| interval(load.interval_low, load.interval_high));
    let examples = quality.checks.iter().flat_map(|check| {
        check.examples.iter().map(move |example| {
            let when = example.released_s.map_or("before the run".to_owned(), |at| format!("after {}", seconds(at)));
            let excerpt = example.excerpt.as_ref().map(|text| format!(": {text:?}")).unwrap_or_default();
            Note::error(format!("{}, {when}: {}{excerpt}", check.name, example.why))
        })
    });
    let cut_off = quality.before.cut_off + quality.under_load.cut_off;
    let cut_off =
        (cut_off > 0).then(|| format!("{} cut off by the end of the run, not judged", counted(cut_off, "check")));
    Some(Section::detail("Checks, in no other figure").table(table).notes(examples).remark(cut_off))
}

/// `9 of 10`; nothing where none was judged.
fn passed(passes: &Passes) -> Option<String> {
    let judged = passes.judged();
    (judged > 0).then(|| format!("{} of {}", count(passes.passed), count(judged)))
}

fn percentage(share: Option<f64>) -> Option<f64> {
    share.map(|share| share * 100.0)
}

fn interval(low: Option<f64>, high: Option<f64>) -> Option<String> {
    Some(format!("{} to {}", cell(low? * 100.0), cell(high? * 100.0)))
}
