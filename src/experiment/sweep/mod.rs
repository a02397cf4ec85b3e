//! Sweeps: loads from low to high, and the highest load that meets the objectives.
//!
//! A [`Search`] says which run it wants next ([`SearchStep`]), records what the run found ([`Trial`]), and ends with a
//! [`Sweep`]. It has no clock and no files: the same runs in the same order lead to the same end, whether they are new,
//! run in virtual time, or were stored by an interrupted sweep.

mod answer;
mod experiment;
mod figures;
mod frontier;
mod highest;
mod judge;
mod knee;
mod plan;
mod point;
mod search;
mod trial;
mod whole;

pub use answer::{HighestLoad, StopReason, Sustained};
pub use experiment::{SweepExperiment, SweepRun};
pub(super) use figures::followed;
pub use frontier::{Frontier, FrontierPoint};
pub use knee::Knee;
pub use plan::{Load, LoadAxis, SweepPlan};
pub use point::{LoadClass, PairedLoad, SweepPoint};
pub use search::{Search, SearchStep, Unsearchable};
pub(super) use trial::SERVER_RULES;
pub use trial::{JudgedObjective, Trial, TrialRequest};
pub use whole::{Sweep, Swept, UnreadableSweep};
