//! How clients behave when an answer is late or refused.

use std::time::Duration;

use clap::Args;
use strum::VariantNames;

use super::values::{duration, one_of, some_time, whole};
use crate::record::ClientLimits;
use crate::session::Printer;
use crate::units::spoken;
use crate::workload::{ClientBehaviour, ClientChange, Jitter, RetryCause};

/// Retries and hedges, in place of the workload's `[clients]`.
#[derive(Debug, Args)]
#[command(next_help_heading = "Clients")]
pub(super) struct ClientArgs {
    /// Send a request again after a failure, at most N times. Its latency counts from its scheduled moment,
    /// so it includes the failed attempts and the waits between them; --timeout and its like are then limits
    /// on each attempt. A request that waits for a retry is in flight and keeps its slot [default: the
    /// workload's, else 0]
    #[arg(long, value_name = "N", value_parser = whole::<u32>(0..=1_000), allow_negative_numbers = true)]
    retries: Option<u32>,

    /// What is retried: HTTP statuses, `timeout` (this client's own limits), `connect`, `reset`, with commas
    /// between them [default: the workload's, else 429,503]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    retry_on: Vec<RetryCause>,

    /// Wait before the first retry; it doubles from one retry to the next. A server's Retry-After may be longer
    /// [default: the workload's, else 500ms]
    #[arg(long, value_name = "TIME", value_parser = duration, allow_hyphen_values = true)]
    backoff: Option<Duration>,

    /// Longest wait before a retry, unless the server's Retry-After is longer [default: the workload's, else 8s]
    #[arg(long, value_name = "TIME", value_parser = duration, allow_hyphen_values = true)]
    backoff_max: Option<Duration>,

    /// What part of each wait is drawn at random: `full`, the upper half (`equal`), or `none`; the draws
    /// follow the seed [default: the workload's, else full]
    #[arg(long, value_name = "FORM", value_parser = one_of::<Jitter>(Jitter::VARIANTS))]
    jitter: Option<Jitter>,

    /// Send a second, identical request after this long without a first token; the first of the two to give a token is
    /// kept, the other is cancelled [default: the workload's, else never]
    #[arg(long, value_name = "TIME", value_parser = some_time, allow_hyphen_values = true)]
    hedge_after: Option<Duration>,
}

impl ClientArgs {
    /// What it changes in a workload.
    pub(super) fn change(&self) -> ClientChange {
        let seconds = |time: Option<Duration>| time.map(|time| time.as_secs_f64());
        ClientChange {
            retries: self.retries,
            retry_on: self.retry_on.clone(),
            backoff_s: seconds(self.backoff),
            backoff_max_s: seconds(self.backoff_max),
            jitter: self.jitter,
            hedge_after_s: seconds(self.hedge_after),
            ..ClientChange::default()
        }
    }
}

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
