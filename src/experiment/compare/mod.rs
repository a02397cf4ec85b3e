//! Compares stored runs with a baseline: conditions that must match, and changes with their significance.

mod any_side;
mod change;
mod compared;
mod condition;
mod confounded;
mod foreign;
mod gate;
mod pairs;
mod row;
mod side;
mod sweeps;
#[cfg(test)]
mod tests;
mod why;

pub use any_side::{AnySide, AnySideDescription, Unchecked};
pub use change::{ChangeStanding, Pairing};
pub use compared::{AgainstBaseline, Compared, NotComparable};
pub use condition::{Condition, Difference, Role};
pub use confounded::Confounders;
pub use foreign::{AgainstForeign, ComparedForeign, NotComparableForeign};
pub use gate::{Gate, GateJudgement, Margin};
pub use row::{ComparedRow, RunTrend, TrendLine};
pub use side::{ComparedSide, SideDescription, SideUnit};
pub use sweeps::{AnswerOfSide, AtLoad, ComparedSweeps, SweepAgainst, SweepSide};
pub use why::{DefinitionStep, ExplainedFigure, Explanation, FigureRange, RecountedFigure};
