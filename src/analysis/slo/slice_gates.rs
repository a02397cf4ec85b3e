//! The gates on slices of golden prompts: which slices have one, and whether they passed it.

use super::judgement::Status;
use crate::analysis::figures::part::PartKind;
use crate::analysis::summary::run::Summary;

/// An objective on the pass rate of one slice of golden prompts, judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SliceGate<'s> {
    /// The slice.
    pub slice: &'s str,
    /// Whether the objective was met; undecided where no check of the slice ended.
    pub status: Status,
}

impl Summary {
    /// The objectives on the pass rates of slices, such as `check_pass_rate of slice safety >= 95%`, in their order; none
    /// where no slice has one.
    pub fn slice_gates(&self) -> impl Iterator<Item = SliceGate<'_>> {
        self.objectives.iter().filter_map(|judged| {
            let part = judged.objective.key.part.as_ref()?;
            (part.kind == Some(PartKind::Slice))
                .then_some(SliceGate { slice: &part.name, status: judged.status })
        })
    }

    /// The slices that have a gate and did not pass it, each once.
    pub fn failed_slices(&self) -> Vec<&str> {
        let mut failed = Vec::new();
        for gate in self.slice_gates().filter(|gate| gate.status == Status::Missed) {
            if !failed.contains(&gate.slice) {
                failed.push(gate.slice);
            }
        }
        failed
    }
}
