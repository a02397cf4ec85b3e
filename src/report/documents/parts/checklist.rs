//! A trust checklist: as a table with its cures, and in one line.

use crate::analysis::{Checklist, Status};
use crate::report::document::{Section, Table};

/// Words of an item's standing: met, not met, not known from the result.
pub(crate) const WORDS: [&str; 3] = ["met", "not met", "not reported"];
/// Characters of the short form: one line of a screen.
const LINE: usize = 78;

/// All items, each with the figure and the cure.
pub(crate) fn section(checklist: &Checklist) -> Section {
    let table = Table::over("Checklist", &checklist.items)
        .column("item", |item| item.rule.name())
        .left("standing", |item| item.standing.choose(WORDS))
        .left("what is known", |item| match &item.cure {
            Some(cure) => format!("{} → {cure}", item.sentence),
            None => item.sentence.clone(),
        });
    let topics = checklist.items.iter().map(|item| item.rule.topic());
    Section::page(format!("Checklist: {}", met(checklist))).table(table).more(topics)
}

/// `9 of 14 items met`.
pub(crate) fn met(checklist: &Checklist) -> String {
    format!("{} of {} items met", checklist.met, checklist.items.len())
}

/// The names of the items of this standing.
pub(crate) fn names(checklist: &Checklist, standing: Status) -> Vec<&'static str> {
    let items = checklist.items.iter().filter(|item| item.standing == standing);
    items.map(|item| item.rule.name()).collect()
}

/// Says how many items are met. It names as many others as a line has room for.
pub(crate) fn in_brief(checklist: &Checklist) -> String {
    let head = format!("Checklist: {}", met(checklist));
    let open = [Status::Missed, Status::Undecided].map(|of| (of.choose(WORDS), names(checklist, of)));
    let Some((standing, names)) = open.into_iter().find(|(_, names)| !names.is_empty()) else { return head };
    let line = |shown: usize| {
        let end = if shown < names.len() { ", …" } else { "" };
        format!("{head}; {standing}: {}{end}", names[..shown].join(", "))
    };
    let fits = |line: &String| line.chars().count() <= LINE;
    (1..=names.len()).rev().map(line).find(fits).unwrap_or(head)
}
