//! The table of advice about a run, the gravest first.

use super::finding::{Finding, FindingKind as Kind};
use super::{answers, connections, devices, lengths, load, server, uneven};
use crate::analysis::rules::Suppressor::{Advice, OnScreen, Reason, Smoke};
use crate::analysis::rules::{RuleRow, Said, Suppressor};
use crate::analysis::summary::run::Summary;
use crate::analysis::verdict::check::{Rule, Verdict};

/// An overload: its reason says what was cut off, a longer run is slower still, and the queue opens connections.
const GREW: Suppressor = Reason(Rule::SteadyState);
/// A server that is gone: the rest of the run was against none.
const GONE: Suppressor = Reason(Rule::ServerStayed);
/// Advice that says the same, and how long a window would tell.
const UNCLEAR: Suppressor = Advice(Kind::CannotTell);
/// Lateness of the client, which takes its own delay for that of the network.
const LATE: [Suppressor; 4] =
    [Reason(Rule::ScheduleLag), Reason(Rule::ClientStarved), Reason(Rule::HostStalls), Smoke];
/// A reason that says that the window was cut short.
const CUT: &[Suppressor] = &[OnScreen(Rule::WholeWindow)];
/// A reason that says that usage is impossible.
const IMPOSSIBLE: &[Suppressor] = &[OnScreen(Rule::TokenIdentity)];
/// Reasons that say that tokens do not add up.
const APART: &[Suppressor] = &[OnScreen(Rule::TokenIdentity), OnScreen(Rule::CounterIdentity)];

type Row = RuleRow<Kind, fn(&Summary) -> Option<Said>>;

const RULES: &[Row] = &[
    Row::new(Kind::Interrupted, "validity", load::interrupted, CUT),
    Row::new(Kind::CutOff, "validity", load::cut_off, CUT),
    Row::new(Kind::Metastable, "overload", load::metastable, &[]),
    Row::new(Kind::NotRecovered, "overload", load::not_recovered, &[Advice(Kind::Metastable)]),
    Row::new(Kind::DrainLimit, "validity", load::drain_limit, &[GREW, GONE]),
    Row::new(Kind::CapBound, "first-run", load::cap_bound, &[]),
    Row::new(Kind::AskedWaits, "overload", load::asked_waits, &[]),
    Row::new(Kind::ClientLate, "validity", load::client_late, &[Smoke]),
    Row::new(Kind::CannotTell, "validity", load::cannot_tell, &[GONE, Smoke]),
    Row::new(Kind::ShortWindow, "validity", load::short_window, &[GREW, Smoke]),
    Row::new(Kind::WarmUp, "validity", load::warm_up, &[GREW, Smoke]),
    Row::new(Kind::NotSettled, "validity", load::not_settled, &[GREW, GONE, UNCLEAR, Smoke]),
    Row::new(Kind::Drift, "validity", load::drift, &[GREW, GONE, UNCLEAR, Smoke]),
    Row::new(Kind::UnevenArrivals, "workloads", uneven::uneven_arrivals, &[Smoke]),
    Row::new(Kind::EndWithoutLoad, "validity", load::end_without_load, &[Smoke]),
    Row::new(Kind::CooldownFailures, "validity", load::cooldown_failures, &[GONE]),
    Row::new(Kind::WorseUnderLoad, "prompts", answers::worse_under_load, &[]),
    Row::new(Kind::EmptyTurns, "conversations", answers::empty_turns, &[]),
    Row::new(Kind::WrongForms, "prompts", answers::wrong_forms, &[]),
    Row::new(Kind::UnmeasurableSlo, "objectives", answers::unmeasurable_slo, &[]),
    Row::new(Kind::NoSlo, "workloads", answers::no_slo, &[Smoke]),
    Row::new(Kind::OutputLength, "workloads", lengths::output_length, &[]),
    Row::new(Kind::PromptLength, "workloads", lengths::prompt_length, &[]),
    Row::new(Kind::ImpossibleUsage, "workloads", answers::impossible_usage, IMPOSSIBLE),
    Row::new(Kind::OddAnswers, "workloads", answers::odd_answers, &[]),
    Row::new(Kind::EstimatedTokens, "workloads", answers::estimated_tokens, &[]),
    Row::new(Kind::HiddenTokens, "workloads", answers::hidden_tokens, &[]),
    Row::new(Kind::TokenMismatch, "workloads", answers::token_mismatch, APART),
    Row::new(Kind::MergedReads, "validity", answers::merged_reads, &[Smoke]),
    Row::new(Kind::WarmCache, "prompts", answers::warm_cache, &[]),
    Row::new(Kind::LostPrefixes, "prompts", answers::lost_prefixes, &[]),
    Row::new(Kind::ColdConnections, "first-run", connections::cold_connections, &[GREW, GONE, Smoke]),
    Row::new(Kind::Throttled, "server", devices::throttled, &[]),
    Row::new(Kind::BusyBefore, "server", devices::busy_before, &[]),
    Row::new(Kind::ServerRestarted, "server", server::server_restarted, &[]),
    Row::new(Kind::CacheFull, "server", server::cache_full, &[]),
    Row::new(Kind::PowerCapped, "server", devices::power_capped, &[]),
    Row::new(Kind::OtherDevices, "server", devices::other_devices, &[]),
    Row::new(Kind::VerboseLogging, "server", devices::verbose_logging, &[]),
    Row::new(Kind::Proxy, "first-run", server::proxy, &[]),
    Row::new(Kind::OutsideServer, "server", server::outside_server, &LATE),
    Row::new(Kind::PageUnread, "server", server::page_unread, &[GONE]),
];

impl Finding {
    /// Everything that there is to say about a run, the gravest first.
    pub(crate) fn all(summary: &Summary) -> Vec<Self> {
        let said = Row::judge(
            RULES,
            |by, said| match by {
                Advice(other) => said.iter().any(|(kind, _)| *kind == other),
                by => by.speaks_of(summary),
            },
            |test| test(summary),
        );
        said.into_iter().map(|(kind, (sentence, cure))| Self { kind, sentence, cure }).collect()
    }

    /// Whether a screen leaves it out, since a reason of the verdict says the same.
    pub(crate) fn is_said_by(&self, verdict: &Verdict) -> bool {
        let mut by = self.kind.rule().into_iter().flat_map(|rule| rule.suppressed_by);
        by.any(|by| matches!(by, OnScreen(rule) if verdict.breaks(*rule)))
    }
}

impl Kind {
    fn rule(self) -> Option<&'static Row> {
        RULES.iter().find(|rule| rule.id == self)
    }

    /// The topic of the guide that explains it.
    pub fn topic(self) -> &'static str {
        self.rule().map_or("validity", |rule| rule.guide)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::guide::Topic;

    #[test]
    fn every_kind_has_one_rule_and_is_silenced_by_rules_before_it() {
        let kinds: Vec<Kind> = RULES.iter().map(|rule| rule.id).collect();
        let schema = serde_json::to_value(schemars::schema_for!(Kind)).unwrap();
        let distinct: HashSet<_> = kinds.iter().collect();
        assert_eq!((kinds.len(), distinct.len()), (schema["oneOf"].as_array().unwrap().len(), RULES.len()));
        for (place, rule) in RULES.iter().enumerate() {
            assert!(Topic::find(rule.guide).is_some(), "{}", rule.guide);
            // So that no two silence each other.
            let stands = |by: &Suppressor| !matches!(by, Advice(kind) if !kinds[..place].contains(kind));
            assert!(rule.suppressed_by.iter().all(stands), "{:?}", rule.id);
        }
    }

    #[test]
    fn what_says_the_same_silences_a_rule() {
        let heard = |spoke: &[Suppressor]| {
            let speaks = |by: Suppressor, said: &[(Kind, ())]| match by {
                Advice(other) => said.iter().any(|(kind, ())| *kind == other),
                by => spoke.contains(&by),
            };
            let said = Row::judge(RULES, speaks, |_| Some(()));
            said.into_iter().map(|(kind, ())| kind).collect::<Vec<_>>()
        };
        let all = heard(&[]);
        assert!(all.contains(&Kind::CannotTell) && all.contains(&Kind::DrainLimit), "{all:?}");
        assert!(!all.contains(&Kind::Drift) && !all.contains(&Kind::NotRecovered), "{all:?}");
        let gone = heard(&[GONE]);
        assert!([Kind::CannotTell, Kind::Drift, Kind::PageUnread].iter().all(|kind| !gone.contains(kind)));
        assert!(!heard(&[Smoke]).contains(&Kind::NoSlo) && heard(&[Smoke]).contains(&Kind::DrainLimit));
        let cold = |by| heard(&[by]).contains(&Kind::ColdConnections);
        assert!(!cold(GREW) && !cold(GONE) && cold(Reason(Rule::ScheduleLag)));
        assert!(!heard(&[Reason(Rule::ScheduleLag)]).contains(&Kind::OutsideServer));
    }
}
