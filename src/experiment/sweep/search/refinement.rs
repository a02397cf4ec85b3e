//! Tiers of a search, each with its own highest load, and how far that is known.

use super::demand::{SearchDemand, Unsearchable};
use crate::analysis::Tier;
use crate::experiment::sweep::plan::SweepPlan;

/// Demands with a highest load of their own.
#[derive(Clone, Debug)]
pub(in crate::experiment::sweep) struct SearchTier {
    /// Name of the tier. Absent of a sweep without tiers, which is one.
    pub(in crate::experiment::sweep) name: Option<String>,
    /// Objectives of the tier, and last that the server keeps up.
    pub(in crate::experiment::sweep) demands: Vec<SearchDemand>,
    /// Refinement, once the bracket is narrow.
    pub(super) refinement: Option<Refinement>,
}

/// Refinement of a tier.
#[derive(Clone, Debug, Default)]
pub(super) struct Refinement {
    /// Number of trials when it began.
    pub(super) from: usize,
    /// Trials since then whose loads are near its highest, whichever tier wanted them.
    pub(super) runs: Vec<usize>,
}

impl SearchTier {
    /// The tiers of `plan`, whose objectives are in `all`.
    pub(super) fn all(plan: &SweepPlan, all: &[SearchDemand]) -> Result<Vec<Self>, Unsearchable> {
        if plan.tiers.is_empty() {
            return Ok(vec![Self { name: None, demands: all.to_vec(), refinement: None }]);
        }
        let of = |tier: &Tier| {
            let (name, demands) = (Some(tier.name.clone()), SearchDemand::of_tier(tier, all)?);
            Ok(Self { name, demands, refinement: None })
        };
        plan.tiers.iter().map(of).collect()
    }

    /// Runs of its refinement so far.
    pub(super) fn refined(&self) -> usize {
        self.refinement.as_ref().map_or(0, |refinement| refinement.runs.len())
    }
}
