//! All advice about a run, the gravest first.

use super::finding::{Finding, FindingKind};
use super::{answers, connections, devices, load, server, uneven};
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
    answers::output_length,
    answers::prompt_length,
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

impl Finding {
    /// Everything that there is to say about a run, the gravest first.
    pub(crate) fn all(summary: &Summary) -> Vec<Self> {
        let mut findings: Vec<_> = RULES.iter().filter_map(|rule| rule(summary)).collect();
        if summary.verdict.breaks(Rule::SteadyState) {
            // The reason has said what was cut off. A longer run of an overloaded server is slower still, and its
            // queue is what opens connections.
            findings.retain(|finding| {
                !matches!(
                    finding.kind,
                    FindingKind::DrainLimit
                        | FindingKind::ShortWindow
                        | FindingKind::WarmUp
                        | FindingKind::NotSettled
                        | FindingKind::Drift
                        | FindingKind::ColdConnections
                )
            });
        }
        if summary.verdict.breaks(Rule::ServerStayed) {
            // The rest of the run was against no server, and the reason has said so.
            findings.retain(|finding| {
                !matches!(
                    finding.kind,
                    FindingKind::CannotTell
                        | FindingKind::DrainLimit
                        | FindingKind::NotSettled
                        | FindingKind::Drift
                        | FindingKind::CooldownFailures
                        | FindingKind::ColdConnections
                        | FindingKind::PageUnread
                )
            });
        }
        if findings.iter().any(|finding| finding.kind == FindingKind::CannotTell) {
            // It says the same, and how long a window would tell.
            findings.retain(|finding| !matches!(finding.kind, FindingKind::NotSettled | FindingKind::Drift));
        }
        let delivery = &summary.delivery;
        if summary.client.is_some_and(|client| client.reads_late())
            || (delivery.tpot_withheld && delivery.may_be_of_client(summary.client.as_ref()))
            || Rule::OF_CLIENT.iter().any(|rule| summary.verdict.breaks(*rule))
        {
            // A client that comes late to its own sockets takes its own delay for that of the network.
            findings.retain(|finding| finding.kind != FindingKind::OutsideServer);
        }
        if summary.run.purpose == Purpose::Smoke {
            // Nobody asked how long answers take.
            findings.retain(|finding| {
                !matches!(
                    finding.kind,
                    FindingKind::ClientLate
                        | FindingKind::CannotTell
                        | FindingKind::ShortWindow
                        | FindingKind::EndWithoutLoad
                        | FindingKind::WarmUp
                        | FindingKind::NotSettled
                        | FindingKind::Drift
                        | FindingKind::UnevenArrivals
                        | FindingKind::NoSlo
                        | FindingKind::MergedReads
                        | FindingKind::ColdConnections
                        | FindingKind::OutsideServer
                )
            });
        }
        findings
    }
}
