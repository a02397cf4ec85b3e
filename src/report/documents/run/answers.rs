//! What answers say: their forms, and golden prompts.

use crate::analysis::{Passes, Summary};
use crate::report::document::{Note, Section, Table, cell};
use crate::units::{count, counted, joined, seconds};

pub(super) fn sections(summary: &Summary) -> [Option<Section>; 2] {
    [forms(summary), checks(summary)]
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
