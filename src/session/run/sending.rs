//! The connections that a run needs: opened ahead of it, and as many as this machine has files and ports for.

use std::time::Duration;

use super::connect::ServerConnection;
use crate::engine::ConnectionLimits;
use crate::record::{PlanFacts, Shard};
use crate::runner::RunOptions;
use crate::workload::WorkloadSpec;

/// Connections opened ahead of a run for each request per second that is planned.
const AHEAD_PER_RATE: f64 = 0.5;

/// The load that this process sends by itself.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sending {
    /// Requests per second, whatever the server does.
    Rate { mean_per_s: f64, peak_per_s: f64 },
    /// A number of users who each wait for their answers.
    Users(u64),
}

impl Sending {
    /// Returns what is sent of a workload, or of one generator's share of it.
    pub(super) fn new(workload: &WorkloadSpec, shard: Option<Shard>) -> Self {
        if let Some(users) = workload.arrival.users() {
            let own = shard.map_or(users, |shard| shard.among_first(users));
            return Self::Users(workload.most_in_flight_of(own));
        }
        let per_arrival = workload.mean_turns() / shard.map_or(1, |shard| shard.of) as f64;
        Self::Rate {
            mean_per_s: workload.arrival.mean_rate_per_s() * per_arrival,
            peak_per_s: workload.arrival.peak_rate_per_s() * per_arrival,
        }
    }

    /// How many connections to open before the run.
    pub(super) fn opened_ahead(self, cap: Option<u64>) -> usize {
        let wanted = match self {
            Self::Rate { mean_per_s, .. } => (mean_per_s * AHEAD_PER_RATE).ceil() as usize,
            Self::Users(users) => users as usize,
        };
        wanted.clamp(4, 256).min(cap.map_or(usize::MAX, |cap| cap as usize))
    }
}

/// The limits of this machine on connections, and what each takes and carries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Connections {
    pub(super) limits: ConnectionLimits,
    pub(super) files_each: u64,
    /// Connections kept open however few are needed.
    pub(super) kept: u64,
    /// Requests that share one.
    pub(super) streams_each: u32,
}

impl Connections {
    /// Connections to these servers, of which so many are kept to each address.
    pub(super) fn to(server: &ServerConnection, kept_each: Option<u64>) -> Self {
        let (limits, files_each) = (server.router.connection_limits(), server.files_per_connection());
        let streams = server.engines().map(|engine| engine.http2.map_or(1, |http2| http2.streams_per_connection)).min();
        let kept = kept_each.unwrap_or_default() * limits.addresses;
        Self { limits, files_each, kept, streams_each: streams.unwrap_or(1) }
    }
}

/// Warns of a run that may have too many requests in flight for this machine. They may need more files or ports than it
/// has.
///
/// How many there will be is the server's doing, so no run is refused for it: a request that meets the limit fails with
/// that reason.
pub(super) fn connection_warning(
    Connections { limits, files_each, kept, streams_each }: Connections,
    options: &RunOptions,
    plan: &PlanFacts,
    sending: Sending,
) -> Option<String> {
    let (most, is_stalled) = match sending {
        Sending::Rate { peak_per_s, .. } => (most_if_stalled(options, plan, peak_per_s), true),
        // All of them are there whether the server stalls or not.
        Sending::Users(users) => (users, false),
    };
    let cap = options.caps.total.filter(|&cap| cap <= most);
    let needed = cap.unwrap_or(most).div_ceil(streams_each.into());
    // Those beyond the kept ones are closed after their answers.
    let closed_per_s = match sending {
        Sending::Rate { mean_per_s, .. } if needed > kept => mean_per_s,
        Sending::Rate { .. } | Sending::Users(_) => 0.0,
    };
    let shortage = limits.shortage(needed.max(kept), closed_per_s, files_each)?;
    Some(if is_stalled && cap.is_none() {
        format!(
            "warning: should the server stall, {shortage}; a request without a connection fails, and the run is INVALID"
        )
    } else {
        format!("warning: {shortage}")
    })
}

/// Returns the most requests in flight at a server that answers nothing. They are what is sent at the peak rate until
/// the first of them meet their limit, or until the run stops waiting.
fn most_if_stalled(options: &RunOptions, plan: &PlanFacts, peak_rate_per_s: f64) -> u64 {
    let whole = Duration::from_nanos(plan.window_end.as_nanos()) + options.drain;
    let stay = options.timeouts.total.map_or(whole, |limit| limit.min(whole));
    (peak_rate_per_s * stay.as_secs_f64()).ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;
    use crate::generator::ConcurrencyCaps;
    use crate::runner::Timeouts;

    const LIMITS: ConnectionLimits =
        ConnectionLimits { files: Some(4_096), ports: Some(3_000), addresses: 1, held: 0, held_on: Duration::ZERO };
    const OWN: Connections = Connections { limits: LIMITS, files_each: 1, kept: 0, streams_each: 1 };

    /// Returns what is said of 100 requests/s, each limited to `timeout_s`, over 50 s. The drain is 10 s, and there are
    /// 4,096 files and 3,000 ports.
    fn said(timeout_s: u64, cap: Option<u64>, files_each: u64) -> Option<String> {
        let options = RunOptions {
            caps: ConcurrencyCaps { total: cap, classes: Vec::new() },
            timeouts: Timeouts { total: Some(Duration::from_secs(timeout_s)), ..Timeouts::default() },
            drain: Duration::from_secs(10),
            ..RunOptions::default()
        };
        let plan = PlanFacts {
            hash: String::new(),
            warmup_requests: 0,
            measured_requests: 5_000,
            window_start: Timestamp::ZERO,
            window_end: Timestamp::from_secs_f64(50.0),
        };
        let sending = Sending::Rate { mean_per_s: 100.0, peak_per_s: 100.0 };
        connection_warning(Connections { files_each, ..OWN }, &options, &plan, sending)
    }

    #[test]
    fn without_a_cap_a_stalled_server_decides() {
        let files = said(600, None, 1).unwrap();
        assert!(
            files.starts_with("warning: should the server stall, 6,000 connections at a time need 6,064 open files")
                && files.contains("`ulimit -n 6064`"),
            "{files}"
        );
        let ports = said(35, None, 1).unwrap();
        assert!(ports.contains("stall, 3,500 connections") && ports.contains("ip_local_port_range"), "{ports}");
        assert_eq!(said(30, None, 1), None, "3,000 at the most");
        assert!(said(30, None, 2).is_some(), "with both ends in this process");
    }

    #[test]
    fn users_are_as_many_as_they_are() {
        let plan = PlanFacts {
            hash: String::new(),
            warmup_requests: 4_000,
            measured_requests: 0,
            window_start: Timestamp::ZERO,
            window_end: Timestamp::from_secs_f64(50.0),
        };
        let said = |users, cap, streams_each| {
            let caps = ConcurrencyCaps { total: Some(cap).filter(|cap| *cap > 0), classes: Vec::new() };
            let options = RunOptions { caps, ..RunOptions::default() };
            connection_warning(Connections { streams_each, ..OWN }, &options, &plan, Sending::Users(users))
        };
        assert!(said(4_000, 0, 1).unwrap().starts_with("warning: 4,000 connections at a time"));
        assert_eq!((said(3_000, 0, 1), said(4_000, 3_000, 1), said(4_000, 0, 100)), (None, None, None));
        assert_eq!(Sending::Users(100).opened_ahead(Some(7)), 7);
        assert_eq!(Sending::Users(100).opened_ahead(None), 100);
    }

    #[test]
    fn a_cap_is_taken_at_its_word_where_it_can_bind() {
        assert_eq!(said(600, Some(3_000), 1), None);
        assert!(said(600, Some(3_001), 1).unwrap().starts_with("warning: 3,001 connections at a time"));
        assert_eq!(said(10, Some(100_000), 1), None, "1,000 at the most");
    }

    #[test]
    fn connections_that_are_closed_or_kept_take_ports_too() {
        let plan = PlanFacts {
            hash: String::new(),
            warmup_requests: 0,
            measured_requests: 50,
            window_start: Timestamp::ZERO,
            window_end: Timestamp::from_secs_f64(1.0),
        };
        let caps = ConcurrencyCaps { total: Some(10), classes: Vec::new() };
        let options = RunOptions { caps, ..RunOptions::default() };
        let said = |held_on, kept| {
            let sending = Sending::Rate { mean_per_s: 50.0, peak_per_s: 50.0 };
            let limits = ConnectionLimits { held_on, ..LIMITS };
            connection_warning(Connections { limits, kept, ..OWN }, &options, &plan, sending)
        };
        assert_eq!(said(Duration::ZERO, 3_000), None);
        assert!(said(Duration::ZERO, 3_001).unwrap().starts_with("warning: 3,001 connections at a time need"));
        for (kept, closed) in [(0, true), (9, true), (10, false)] {
            let said = said(Duration::from_mins(1), kept);
            let words = "10 connections at a time and those closed within a minute need 3,010";
            assert_eq!(said.as_ref().is_some_and(|said| said.contains(words)), closed, "{kept} kept: {said:?}");
        }
    }
}
