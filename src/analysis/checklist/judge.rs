//! Judges a result by every rule that applies.

use super::evidence::{Evidence, ResultSource};
use super::item::{Checklist, ChecklistItem, ChecklistRule as Rule, Found};
use super::{reporting, traffic};
use crate::analysis::rules::RuleRow;
use crate::analysis::rules::Suppressor::Mock;
use crate::analysis::slo::judgement::Status;

type Row = RuleRow<Rule, fn(&Evidence) -> Found>;

const RULES: &[Row] = &[
    Row::new(Rule::Lengths, "validity", traffic::lengths, &[]),
    Row::new(Rule::Arrivals, "validity", traffic::arrivals, &[]),
    Row::new(Rule::OpenLoop, "validity", traffic::open_loop, &[]),
    Row::new(Rule::WarmUp, "validity", traffic::warm_up, &[]),
    Row::new(Rule::Window, "validity", traffic::window, &[]),
    Row::new(Rule::TrafficMix, "validity", traffic::traffic_mix, &[]),
    Row::new(Rule::PrefixCache, "validity", traffic::prefix_cache, &[]),
    Row::new(Rule::QualityGate, "validity", reporting::quality_gate, &[]),
    Row::new(Rule::Errors, "validity", reporting::errors, &[]),
    Row::new(Rule::Repeats, "validity", reporting::repeats, &[]),
    Row::new(Rule::TailLatency, "validity", reporting::tail_latency, &[]),
    Row::new(Rule::BothPhases, "validity", reporting::both_phases, &[]),
    Row::new(Rule::Hardware, "validity", reporting::hardware, &[Mock]),
    Row::new(Rule::Serving, "validity", reporting::serving, &[Mock]),
    Row::new(Rule::SeveralLoads, "validity", reporting::several_loads, &[]),
];

impl Rule {
    /// The topic of the guide that explains it.
    pub fn topic(self) -> &'static str {
        RULES.iter().find(|rule| rule.id == self).map_or("validity", |rule| rule.guide)
    }
}

impl Checklist {
    /// Judges a result by what is known of it; `None` of a smoke run and of a simulation, which measure no server.
    pub fn from_evidence(evidence: &Evidence) -> Option<Self> {
        if !evidence.source.is_measurement() {
            return None;
        }
        let is_mock = evidence.source == ResultSource::Mock;
        let judged = Row::judge(RULES, |by, _| by == Mock && is_mock, |row| (row.test)(evidence));
        let item = |(rule, (standing, sentence, usual)): (Rule, (Status, String, &str))| {
            let own = evidence.cures.iter().find(|(of, _)| *of == rule).map(|(_, cure)| *cure);
            let cure = (standing != Status::Met).then(|| own.unwrap_or(usual).to_owned());
            ChecklistItem { rule, standing, sentence, cure }
        };
        let items: Vec<_> = judged.into_iter().map(item).collect();
        let met = items.iter().filter(|item| item.standing == Status::Met).count() as u64;
        Some(Self { met, items })
    }
}
