//! Judges a result by every rule that applies.

use super::evidence::Evidence;
use super::item::{Checklist, ChecklistItem, ChecklistRule, Found, ItemStanding};
use super::{reporting, traffic};

type Judge = fn(&Evidence) -> Found;

impl Checklist {
    const RULES: [(ChecklistRule, Judge); 15] = [
        (ChecklistRule::Lengths, traffic::lengths),
        (ChecklistRule::Arrivals, traffic::arrivals),
        (ChecklistRule::OpenLoop, traffic::open_loop),
        (ChecklistRule::WarmUp, traffic::warm_up),
        (ChecklistRule::Window, traffic::window),
        (ChecklistRule::TrafficMix, traffic::traffic_mix),
        (ChecklistRule::PrefixCache, traffic::prefix_cache),
        (ChecklistRule::QualityGate, reporting::quality_gate),
        (ChecklistRule::Errors, reporting::errors),
        (ChecklistRule::Repeats, reporting::repeats),
        (ChecklistRule::TailLatency, reporting::tail_latency),
        (ChecklistRule::BothPhases, reporting::both_phases),
        (ChecklistRule::Hardware, reporting::hardware),
        (ChecklistRule::Serving, reporting::serving),
        (ChecklistRule::SeveralLoads, reporting::several_loads),
    ];

    /// Judges a result by what is known of it; `None` of a smoke run and of a simulation, which measure no server.
    pub fn from_evidence(evidence: &Evidence) -> Option<Self> {
        if !evidence.source.is_measurement() {
            return None;
        }
        let item = |&(rule, judge): &(ChecklistRule, Judge)| {
            let (standing, sentence, usual) = judge(evidence)?;
            let own = evidence.cures.iter().find(|(of, _)| *of == rule).map(|(_, cure)| *cure);
            let cure = (standing != ItemStanding::Met).then(|| own.unwrap_or(usual).to_owned());
            Some(ChecklistItem { rule, standing, sentence, cure })
        };
        let items: Vec<_> = Self::RULES.iter().filter_map(item).collect();
        let met = items.iter().filter(|item| item.standing == ItemStanding::Met).count() as u64;
        Some(Self { met, items })
    }
}
