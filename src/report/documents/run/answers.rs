//! What answers say: their forms, and golden prompts.

use crate::analysis::wording::{counted, seconds};
use crate::analysis::{Passes, Summary};
use crate::report::document::{NOTHING, Note, Section, Table, TableCell, TableColumn, cell, known};
use crate::units::count;

pub(super) fn sections(summary: &Summary) -> [Section; 2] {
    [forms(summary), checks(summary)]
}

fn forms(summary: &Summary) -> Section {
    let mut section = Section::detail("Answers of a form");
    let Some(forms) = &summary.answers else { return section };
    let column = |title: &str, worth: u8| TableColumn::new(title).worth(worth);
    let columns = [
        "".into(),
        column("form", 2),
        "judged".into(),
        column("valid", 3),
        "%".into(),
        "95 % interval".into(),
        column("cut at limit", 1),
    ];
    let mut table = Table::new("Answers of a form", columns);
    for class in &forms.by_class {
        table.row([
            class.class.as_str().into(),
            class.form.into(),
            TableCell::count(class.valid + class.invalid),
            TableCell::count(class.valid),
            percentage(class.valid_share),
            interval(class.interval_low, class.interval_high),
            TableCell::count(class.cut_at_limit),
        ]);
    }
    section.table(table);
    for class in forms.by_class.iter().filter(|class| class.invalid > 0) {
        let faults: Vec<_> = class
            .faults
            .iter()
            .map(|fault| format!("{} {}", count(fault.count), fault.fault.description()))
            .collect();
        section.note(Note::error(format!("{}: {}", class.class, faults.join(", "))));
    }
    section
}

fn checks(summary: &Summary) -> Section {
    let mut section = Section::detail("Checks, in no other figure");
    let Some(quality) = &summary.quality else { return section };
    let mut table = Table::new("Checks", ["", "before", "under load", "%", "95 % interval"]);
    let whole = (quality.checks.len() > 1).then(|| ("all".to_owned(), &quality.before, &quality.under_load));
    let each = quality.checks.iter().map(|check| (check.name.clone(), &check.before, &check.under_load));
    for (name, before, under_load) in each.chain(whole) {
        table.row([
            name.into(),
            passed(before).into(),
            passed(under_load).into(),
            percentage(under_load.pass_rate),
            interval(under_load.interval_low, under_load.interval_high),
        ]);
    }
    section.table(table);
    for (check, example) in
        quality.checks.iter().flat_map(|check| check.examples.iter().map(move |example| (check, example)))
    {
        let when =
            example.released_s.map_or("before the run".to_owned(), |at| format!("after {}", seconds(at)));
        let excerpt = example.excerpt.as_ref().map(|text| format!(": {text:?}")).unwrap_or_default();
        section.note(Note::error(format!("{}, {when}: {}{excerpt}", check.name, example.why)));
    }
    let cut_off = quality.before.cut_off + quality.under_load.cut_off;
    if cut_off > 0 {
        section.remark(format!("{} cut off by the end of the run, not judged", counted(cut_off, "check")));
    }
    section
}

/// `9 of 10`; nothing where none was judged.
fn passed(passes: &Passes) -> String {
    match passes.judged() {
        0 => NOTHING.to_owned(),
        judged => format!("{} of {}", count(passes.passed), count(judged)),
    }
}

fn percentage(share: Option<f64>) -> TableCell {
    known(share.map(|share| share * 100.0)).into()
}

fn interval(low: Option<f64>, high: Option<f64>) -> TableCell {
    let ends = low.zip(high).map(|(low, high)| format!("{} to {}", cell(low * 100.0), cell(high * 100.0)));
    ends.unwrap_or_else(|| NOTHING.to_owned()).into()
}
