//! Notes on options of clients that never take effect.

use std::time::Duration;

use crate::record::ClientLimits;
use crate::session::Printer;
use crate::units::spoken;
use crate::workload::{ClientBehaviour, RetryCause};

/// Prints what clients that have these limits never do, although it is asked for, and the cure.
pub(in crate::cli) fn note_idle(clients: Option<&ClientBehaviour>, limits: &ClientLimits, printer: Printer) {
    clients.into_iter().flat_map(|clients| idle(clients, limits)).for_each(|note| printer.words(&note));
}

fn idle(clients: &ClientBehaviour, limits: &ClientLimits) -> impl Iterator<Item = String> {
    let to_first = [limits.first_token_timeout_s, limits.total_timeout_s].into_iter().flatten();
    let to_first = to_first.min_by(f64::total_cmp);
    let waits_for_ever = to_first.or(limits.between_tokens_timeout_s).is_none();
    let never_retried = clients.retries > 0 && waits_for_ever && clients.retry_on.contains(&RetryCause::Timeout);
    let never_retried = never_retried.then(|| {
        "note: clients try again after a timeout, and wait without a limit; give --timeout, such as --timeout 30s"
            .to_owned()
    });
    let spoken = |seconds: f64| spoken(Duration::from_secs_f64(seconds));
    let never_hedged = clients.hedge_after_s.zip(to_first).filter(|(after, limit)| after >= limit);
    let never_hedged = never_hedged.map(|(after, limit)| {
        format!(
            "note: no request is hedged, since clients wait {} for a first token and hedge after {}; lower \
             --hedge-after",
            spoken(limit),
            spoken(after)
        )
    });
    [never_retried, never_hedged].into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_happens_is_noted() {
        let clients = ClientBehaviour {
            retries: 1,
            retry_on: vec![RetryCause::Timeout],
            hedge_after_s: Some(2.0),
            ..ClientBehaviour::default()
        };
        let notes = |total_timeout_s| {
            idle(&clients, &ClientLimits { total_timeout_s, ..ClientLimits::default() }).collect::<Vec<_>>()
        };
        assert!(matches!(&notes(None)[..], [note] if note.contains("give --timeout")));
        assert!(matches!(&notes(Some(2.0))[..], [note] if note.contains("wait 2 s") && note.contains("--hedge-after")));
        assert_eq!(notes(Some(2.1)), [""; 0]);
    }
}
