//! The facts about a server by name, each with its source, and what nobody reports.

use crate::analysis::{ReportedFact, Reproduction};
use crate::record::{EngineFacts, Fact};
use crate::report::document::{Table, TableOf};
use crate::units::{counted, listed};

/// The facts that are reported, a row each. Of serving flags there may be hundreds: the row says how many.
pub(crate) fn table<'a>(reproduction: &'a Reproduction, engine: &EngineFacts) -> TableOf<&'a ReportedFact> {
    let flags = engine.serving_flags.len() as u64;
    let value = |fact: &ReportedFact| match fact.name {
        Fact::ServingFlags if flags > 0 && fact.value.len() > LONG => counted(flags, "setting"),
        _ => fact.value.clone(),
    };
    Table::over("What is reported of the server, and by whom", &reproduction.reported)
        .column("fact", |fact| fact.name.name())
        .left("reported by", |fact| fact.source.name())
        .left("value", value)
}

/// Most characters of the flags that are shown as they are.
const LONG: usize = 80;

/// Says what nobody reports of the server, and how to give it.
pub(crate) fn not_reported(reproduction: &Reproduction) -> Option<String> {
    let missing = &reproduction.missing;
    let cure = match missing.iter().find(|fact| fact.is_stated()) {
        Some(fact) => format!(" (give what you know, such as --fact {}=…)", fact.key()),
        None => String::new(),
    };
    Some(listed(missing.iter().map(|fact| fact.name()), ", ")? + &cure)
}
