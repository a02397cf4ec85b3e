//! Tables of rules: what a rule is named, where the guide explains it, what it looks at, and what silences it.

use super::findings::finding::FindingKind;
use super::summary::run::Summary;
use super::verdict::check::Rule;
use crate::workload::Purpose;

/// Sentence of a rule, with the figure and the limit, and its cure.
pub(crate) type Said = (String, String);

/// A rule of a table.
#[derive(Debug)]
pub(crate) struct RuleRow<I, T> {
    /// Name of the rule.
    pub(crate) id: I,
    /// The topic of the guide that explains it.
    pub(crate) guide: &'static str,
    /// Test of the evidence.
    pub(crate) test: T,
    /// Rules and conditions that say the same, or make it wrong.
    pub(crate) suppressed_by: &'static [Suppressor],
}

/// Condition that silences a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Suppressor {
    /// A reason of the verdict.
    Reason(Rule),
    /// A reason of the verdict, on a screen alone: fuller reports have room for both.
    OnScreen(Rule),
    /// Another piece of advice.
    Advice(FindingKind),
    /// The purpose of a smoke run: nobody asked how long answers take.
    Smoke,
    /// A window of which no request was run.
    NothingRan,
    /// Skyline's own mock, which has no hardware and no serving flags.
    Mock,
}

impl Suppressor {
    /// Whether it speaks of `run`, as far as its verdict is known.
    pub(crate) fn speaks_of(self, run: &Summary) -> bool {
        match self {
            Self::Reason(rule) => run.verdict.breaks(rule),
            Self::Smoke => run.run.purpose == Purpose::Smoke,
            Self::NothingRan => run.requests.executed() == 0,
            Self::OnScreen(_) | Self::Advice(_) | Self::Mock => false,
        }
    }
}

impl<I: Copy, T> RuleRow<I, T> {
    pub(crate) const fn new(id: I, guide: &'static str, test: T, by: &'static [Suppressor]) -> Self {
        Self { id, guide, test, suppressed_by: by }
    }

    /// Findings of the rules of a table, in its order; `ask` puts a test to the evidence.
    ///
    /// A rule is not asked where something that silences it `speaks`, which knows what the rules before it said.
    pub(crate) fn judge<F>(
        rules: &[Self],
        speaks: impl Fn(Suppressor, &[(I, F)]) -> bool,
        ask: impl Fn(&T) -> Option<F>,
    ) -> Vec<(I, F)> {
        let mut said = Vec::new();
        for rule in rules {
            if !rule.suppressed_by.iter().any(|by| speaks(*by, &said)) {
                said.extend(ask(&rule.test).map(|found| (rule.id, found)));
            }
        }
        said
    }
}
