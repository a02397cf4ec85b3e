//! Advice on one of several servers: the dead one, and the slow one.

use crate::analysis::parts::slower::SLOWER_BAR;
use crate::analysis::rules::{RuleFact, facts};
use crate::analysis::summary::run::Summary;
use crate::units::{count, counted, listed, three_digits};

/// Fewest requests without an answer that say that a server is dead.
const FEWEST: u64 = 3;

/// Finds servers that completed none of their requests while others completed some.
pub(super) fn dead(run: &Summary) -> Option<Vec<RuleFact>> {
    let group = run.servers.as_ref()?;
    let parts = run.parts_of(group.kind);
    parts.iter().find(|part| part.completed > 0)?;
    let dead = parts.iter().zip(&group.each).filter(|(part, _)| part.completed == 0 && part.failed >= FEWEST);
    let said = dead.map(|(part, server)| {
        let [requests, failed] = [counted(part.requests, "request"), count(part.failed)];
        let example = server.failure.as_deref().unwrap_or_default();
        format!("{} completed none of its {requests}, and {failed} of them failed, such as: {example}", part.name)
    });
    listed(said, "; ").map(|said| facts![said])
}

/// Finds servers that are slower than the others by more than chance.
pub(super) fn slow(run: &Summary) -> Option<Vec<RuleFact>> {
    let group = run.servers.as_ref()?;
    let others = if group.each.len() == 2 { "the other" } else { "the middle one of the others" };
    let said = group.each.iter().filter_map(|server| {
        let by = server.slower.first()?;
        let [value, low, high, of] = [by.by_ms.value, by.by_ms.low, by.by_ms.high, by.others_ms].map(three_digits);
        let sure = if by.grows { "and growing".to_owned() } else { format!("{low} to {high} ms") };
        Some(format!(
            "{} is slower than {others}: its mean {} is {value} ms longer ({sure}) than {of} ms",
            server.name,
            by.metric.title()
        ))
    });
    listed(said, "; ").map(|said| facts![said, SLOWER_BAR])
}
