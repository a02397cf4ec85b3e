//! The tables of advice about a run, the gravest first.

use super::row::FindingRow;
use super::{answers, load, server, tokens};
use crate::analysis::judgements::{Finding, FindingKind as Kind, Verdict};
use crate::analysis::rules::Suppressor::{Advice, OnScreen};
use crate::analysis::summary::run::Summary;

/// Every rule, the gravest first.
fn rules() -> impl Iterator<Item = &'static FindingRow> {
    [load::RULES, answers::RULES, tokens::RULES, server::RULES].into_iter().flatten()
}

impl Finding {
    /// Everything that there is to say about a run, the gravest first.
    pub(crate) fn all(summary: &Summary) -> Vec<Self> {
        let said = FindingRow::judge(
            rules(),
            |by, said| match by {
                Advice(other) => said.iter().any(|(kind, _)| *kind == other),
                by => by.speaks_of(summary),
            },
            |rule| (rule.test)(summary).map(|facts| rule.words(facts)),
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
    fn rule(self) -> Option<&'static FindingRow> {
        rules().find(|rule| rule.id == self)
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
    use crate::analysis::findings::row::{GONE, GREW};
    use crate::analysis::judgements::Rule;
    use crate::analysis::rules::Suppressor::{self, Reason, Smoke};
    use crate::guide::Topic;

    #[test]
    fn every_kind_has_a_rule_and_is_silenced_by_rules_before_it() {
        let kinds: Vec<Kind> = rules().map(|rule| rule.id).collect();
        let schema = serde_json::to_value(schemars::schema_for!(Kind)).unwrap();
        let distinct: HashSet<_> = kinds.iter().collect();
        assert_eq!(distinct.len(), schema["oneOf"].as_array().unwrap().len());
        for (place, rule) in rules().enumerate() {
            assert!(Topic::find(rule.guide).is_some(), "{}", rule.guide);
            // So that no two silence each other.
            let stands = |by: &Suppressor| !matches!(by, Advice(kind) if !kinds[..place].contains(kind));
            assert!(rule.suppressed_by.iter().all(stands), "{:?}", rule.id);
            // Of two rules of a kind the second speaks where the first is silent.
            let again = kinds[..place].contains(&rule.id);
            assert_eq!(again, rule.suppressed_by.contains(&Advice(rule.id)), "{:?}", rule.id);
        }
    }

    #[test]
    fn what_says_the_same_silences_a_rule() {
        let heard = |spoke: &[Suppressor]| {
            let speaks = |by: Suppressor, said: &[(Kind, ())]| match by {
                Advice(other) => said.iter().any(|(kind, ())| *kind == other),
                by => spoke.contains(&by),
            };
            let said = FindingRow::judge(rules(), speaks, |_| Some(()));
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
