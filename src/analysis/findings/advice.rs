//! All advice about a run, the gravest first.

use super::finding::Finding;
use super::finding::FindingKind::{
    self, CannotTell, ClientLate, ColdConnections, CooldownFailures, DrainLimit, Drift, EndWithoutLoad,
    MergedReads, NoSlo, NotSettled, OutsideServer, PageUnread, ShortWindow, UnevenArrivals, WarmUp,
};
use super::{answers, connections, devices, lengths, load, server, uneven};
use crate::analysis::summary::run::Summary;
use crate::analysis::verdict::check::Rule;
use crate::workload::Purpose;

type Advice = fn(&Summary) -> Option<Finding>;

/// The rules, the gravest first.
const RULES: &[Advice] = &[
    load::ending,
    load::not_recovered,
    load::drain_limit,
    load::cap_bound,
    load::asked_waits,
    load::client_late,
    load::cannot_tell,
    load::short_window,
    load::warm_up,
    load::not_settled,
    load::drift,
    uneven::uneven_arrivals,
    load::end_without_load,
    load::cooldown_failures,
    answers::worse_under_load,
    answers::empty_turns,
    answers::wrong_forms,
    answers::unmeasurable_slo,
    answers::no_slo,
    lengths::output_length,
    lengths::prompt_length,
    answers::impossible_usage,
    answers::odd_answers,
    answers::estimated_tokens,
    answers::hidden_tokens,
    answers::token_mismatch,
    answers::merged_reads,
    answers::warm_cache,
    answers::lost_prefixes,
    connections::cold_connections,
    devices::throttled,
    devices::busy_before,
    server::server_restarted,
    server::cache_full,
    devices::power_capped,
    devices::other_devices,
    devices::verbose_logging,
    server::proxy,
    server::outside_server,
    server::page_unread,
];

/// A condition, and the kinds of advice that it silences.
type Silence = (fn(&Summary, &[Finding]) -> bool, &'static [FindingKind]);

/// Conditions that say the same as some advice, or make it wrong, in the order in which they apply.
const SILENCES: &[Silence] = &[
    // The reason has said what was cut off. A longer run of an overloaded server is slower still, and its queue is
    // what opens connections.
    (
        |summary, _| summary.verdict.breaks(Rule::SteadyState),
        &[DrainLimit, ShortWindow, WarmUp, NotSettled, Drift, ColdConnections],
    ),
    // The rest of the run was against no server, and the reason has said so.
    (
        |summary, _| summary.verdict.breaks(Rule::ServerStayed),
        &[CannotTell, DrainLimit, NotSettled, Drift, CooldownFailures, ColdConnections, PageUnread],
    ),
    // It says the same, and how long a window would tell.
    (|_, said| said.iter().any(|finding| finding.kind == CannotTell), &[NotSettled, Drift]),
    // A client that comes late to its own sockets takes its own delay for that of the network.
    (|summary, _| client_may_be_late(summary), &[OutsideServer]),
    // Nobody asked how long answers take.
    (
        |summary, _| summary.run.purpose == Purpose::Smoke,
        &[
            ClientLate,
            CannotTell,
            ShortWindow,
            EndWithoutLoad,
            WarmUp,
            NotSettled,
            Drift,
            UnevenArrivals,
            NoSlo,
            MergedReads,
            ColdConnections,
            OutsideServer,
        ],
    ),
];

fn client_may_be_late(summary: &Summary) -> bool {
    let delivery = &summary.delivery;
    summary.client.is_some_and(|client| client.reads_late())
        || (delivery.tpot_withheld && delivery.may_be_of_client(summary.client.as_ref()))
        || Rule::OF_CLIENT.iter().any(|rule| summary.verdict.breaks(*rule))
}

impl Finding {
    /// Everything that there is to say about a run, the gravest first.
    pub(crate) fn all(summary: &Summary) -> Vec<Self> {
        let mut findings: Vec<_> = RULES.iter().filter_map(|rule| rule(summary)).collect();
        for (silent, kinds) in SILENCES {
            if silent(summary, &findings) {
                findings.retain(|finding| !kinds.contains(&finding.kind));
            }
        }
        findings
    }
}
