//! Judges a result by every rule that applies.

use super::evidence::{Evidence, ResultSource};
use super::{reporting, traffic};
use crate::analysis::judgements::{Checklist, ChecklistItem, ChecklistRule as Rule, Found, Status};
use crate::analysis::rules::RuleRow;
use crate::analysis::rules::Suppressor::{self, Mock};

/// A rule's name in a table, and its test.
type Row = RuleRow<Rule, (&'static str, fn(&Evidence) -> Found)>;

const fn row(rule: Rule, name: &'static str, test: fn(&Evidence) -> Found, by: &'static [Suppressor]) -> Row {
    Row::new(rule, "validity", (name, test), by)
}

const RULES: &[Row] = &[
    row(Rule::Lengths, "lengths", traffic::lengths, &[]),
    row(Rule::Arrivals, "arrivals", traffic::arrivals, &[]),
    row(Rule::OpenLoop, "open loop", traffic::open_loop, &[]),
    row(Rule::WarmUp, "warm-up", traffic::warm_up, &[]),
    row(Rule::Window, "window", traffic::window, &[]),
    row(Rule::TrafficMix, "traffic mix", traffic::traffic_mix, &[]),
    row(Rule::PrefixCache, "prefix cache", traffic::prefix_cache, &[]),
    row(Rule::QualityGate, "quality gate", reporting::quality_gate, &[]),
    row(Rule::Errors, "errors", reporting::errors, &[]),
    row(Rule::Repeats, "repeats", reporting::repeats, &[]),
    row(Rule::TailLatency, "tail latency", reporting::tail_latency, &[]),
    row(Rule::BothPhases, "both phases", reporting::both_phases, &[]),
    row(Rule::Hardware, "hardware", reporting::hardware, &[Mock]),
    row(Rule::Serving, "model and flags", reporting::serving, &[Mock]),
    row(Rule::SeveralLoads, "several loads", reporting::several_loads, &[]),
];

impl Rule {
    fn row(self) -> Option<&'static Row> {
        RULES.iter().find(|row| row.id == self)
    }

    /// Returns the rule's name in a table.
    pub fn name(self) -> &'static str {
        self.row().map_or("", |row| row.test.0)
    }

    /// The topic of the guide that explains it.
    pub fn topic(self) -> &'static str {
        self.row().map_or("validity", |row| row.guide)
    }
}

impl Checklist {
    /// Judges a result by what is known of it. `None` of a smoke run and of a simulation, which measure no server.
    pub fn from_evidence(evidence: &Evidence) -> Option<Self> {
        if !evidence.source.is_measurement() {
            return None;
        }
        let is_mock = evidence.source == ResultSource::Mock;
        let judged = Row::judge(RULES, |by, _| by == Mock && is_mock, |row| (row.test.1)(evidence));
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
