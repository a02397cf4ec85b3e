//! Limits of simulated clients, and notes on options of clients that never take effect.

use std::time::Duration;

use clap::Args;

use super::values::seconds;
use crate::record::ClientLimits;
use crate::session::{Printer, Stop};
use crate::units::spoken;
use crate::workload::{ClientBehaviour, ClientChange, Overrides, RetryCause, WorkloadSpec};

/// Limits of the clients.
#[derive(Debug, Args)]
#[command(next_help_heading = "Clients")]
pub(in crate::cli) struct ClientLimitArgs {
    /// Keep at most N requests in flight; the others wait, and their waiting counts in latency; with `--rate inf` so
    /// many leave at once. Classes may have caps of their own: `chat=16,batch=4`, beside one of all: `64,batch=4`
    /// [default: no cap]
    #[arg(long, value_name = "N|CLASS=N,…", allow_hyphen_values = true)]
    max_concurrency: Option<ClientLimits>,

    /// Clients give up an attempt that takes longer than this in total [default: the workload's, else no limit]
    #[arg(long, value_name = "TIME", value_parser = seconds, allow_hyphen_values = true)]
    timeout: Option<f64>,

    /// Clients give up an attempt without a first token after this long [default: the workload's, else no limit]
    #[arg(long, value_name = "TIME", value_parser = seconds, allow_hyphen_values = true)]
    first_token_timeout: Option<f64>,
}

impl ClientLimitArgs {
    /// The workload with these limits on each attempt. One whose prompts or answers are no texts is refused: what is
    /// simulated reads and generates them.
    pub(in crate::cli) fn applied(&self, spec: WorkloadSpec) -> Result<WorkloadSpec, Stop> {
        if let Some(inputs) = spec.inputs() {
            return Err(Stop::usage(format!(
                "`{}` has inputs ({}), and what is simulated generates texts\nhint: take `inputs` out of its classes",
                spec.name, inputs.kind
            )));
        }
        if spec.longest_audio().is_some() {
            return Err(Stop::usage(format!(
                "`{}` has audio, and what is simulated reads texts\n\
                 hint: leave --audio out, or take `audio` out of its classes",
                spec.name
            )));
        }
        let (timeout_s, first_token_timeout_s) = (self.timeout, self.first_token_timeout);
        let clients = ClientChange { timeout_s, first_token_timeout_s, ..ClientChange::default() };
        if clients == ClientChange::default() {
            return Ok(spec);
        }
        spec.with(&Overrides { clients, ..Overrides::default() }).map_err(Stop::usage)
    }

    /// The most requests in flight, where that was typed.
    pub(in crate::cli) fn cap(&self) -> Option<u64> {
        self.max_concurrency.as_ref().and_then(|limits| limits.max_concurrency)
    }

    /// Returns the limits that the clients of `spec` enforce. At most `cap` requests are in flight.
    pub(in crate::cli) fn limits(&self, spec: &WorkloadSpec, cap: Option<u64>) -> Result<ClientLimits, Stop> {
        let typed = self.max_concurrency.clone().unwrap_or_default();
        typed.check_classes(spec).map_err(|error| Stop::usage(format!("--max-concurrency: {error}")))?;
        let clients = spec.clients.as_ref();
        Ok(ClientLimits {
            first_token_timeout_s: clients.and_then(|clients| clients.first_token_timeout_s),
            total_timeout_s: clients.and_then(|clients| clients.timeout_s),
            max_concurrency: cap,
            ..typed
        })
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
