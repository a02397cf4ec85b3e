//! What answers say: golden prompts and the forms of answers.

use super::grid::{ALWAYS, Grid, NOTHING, cell};
use super::page::{Page, Tone};
use crate::analysis::wording::{counted, seconds};
use crate::analysis::{Passes, Summary};
use crate::units::count;

pub(crate) fn checks(page: &mut Page, summary: &Summary) {
    let Some(quality) = &summary.quality else { return };
    page.heading("Checks, in no other figure");
    let columns = ["", "before", "under load", "%", "95 % interval"];
    let mut grid = Grid::new(&columns.map(|title| (title, ALWAYS)));
    let whole = (quality.checks.len() > 1).then(|| ("all".to_owned(), &quality.before, &quality.under_load));
    let each = quality.checks.iter().map(|check| (check.name.clone(), &check.before, &check.under_load));
    for (name, before, under_load) in each.chain(whole) {
        grid.row([
            name,
            passed(before),
            passed(under_load),
            percentage(under_load.pass_rate),
            interval(under_load.interval_low, under_load.interval_high),
        ]);
    }
    page.grid(grid);
    for (check, example) in
        quality.checks.iter().flat_map(|check| check.examples.iter().map(move |example| (check, example)))
    {
        let when =
            example.released_s.map_or("before the run".to_owned(), |at| format!("after {}", seconds(at)));
        let excerpt = example.excerpt.as_ref().map(|text| format!(": {text:?}")).unwrap_or_default();
        page.entry(Tone::Bad, "  ✗ ", &format!("{}, {when}: {}{excerpt}", check.name, example.why));
    }
    let cut_off = quality.before.cut_off + quality.under_load.cut_off;
    if cut_off > 0 {
        let line = format!("{} cut off by the end of the run, not judged", counted(cut_off, "check"));
        page.entry(Tone::Faint, "    ", &line);
    }
}

pub(crate) fn forms(page: &mut Page, summary: &Summary) {
    let Some(forms) = &summary.answers else { return };
    page.heading("Answers of a form");
    let columns = [
        ("", ALWAYS),
        ("form", 2),
        ("judged", ALWAYS),
        ("valid", 3),
        ("%", ALWAYS),
        ("95 % interval", ALWAYS),
        ("cut at limit", 1),
    ];
    let mut grid = Grid::new(&columns);
    for class in &forms.by_class {
        grid.row([
            class.class.clone(),
            class.form.to_owned(),
            count(class.valid + class.invalid),
            count(class.valid),
            percentage(class.valid_share),
            interval(class.interval_low, class.interval_high),
            count(class.cut_at_limit),
        ]);
    }
    page.grid(grid);
    for class in forms.by_class.iter().filter(|class| class.invalid > 0) {
        let faults: Vec<_> = class
            .faults
            .iter()
            .map(|fault| format!("{} {}", count(fault.count), fault.fault.description()))
            .collect();
        page.entry(Tone::Bad, "  ✗ ", &format!("{}: {}", class.class, faults.join(", ")));
    }
}

/// `9 of 10`; nothing where none was judged.
fn passed(passes: &Passes) -> String {
    match passes.judged() {
        0 => NOTHING.to_owned(),
        judged => format!("{} of {}", count(passes.passed), count(judged)),
    }
}

fn percentage(share: Option<f64>) -> String {
    share.map_or(NOTHING.to_owned(), |share| cell(share * 100.0))
}

fn interval(low: Option<f64>, high: Option<f64>) -> String {
    let ends = low.zip(high).map(|(low, high)| format!("{} to {}", cell(low * 100.0), cell(high * 100.0)));
    ends.unwrap_or_else(|| NOTHING.to_owned())
}
