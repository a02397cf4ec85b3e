//! Sweeps: loads from low to high, and the highest load that meets the objectives.
//!
//! A [`Search`] says which run it wants next ([`SearchStep`]), records what the run found ([`Trial`]), and ends with a
//! [`Sweep`]. It has no clock and no files: the same runs in the same order lead to the same end, whether they are new,
//! run in virtual time, or were stored by an interrupted sweep.

mod accuracy;
mod answer;
mod experiment;
mod highest;
mod load;
mod plan;
mod point;
mod probe;
mod search;
mod shape;
mod step_time;
mod strip;
mod trial;
mod whole;

pub use accuracy::AccuracyOverLoad;
pub use answer::{HighestLoad, ObjectiveLimit, StopReason, Sustained, TierAnswer};
pub use experiment::{SweepExperiment, SweepRun};
pub use load::Load;
pub use plan::{ArrivalUnit, LoadAxis, SweepPlan, either_way};
pub use point::{LoadClass, SweepPoint};
pub use probe::{CapacityProbe, MeasuredCapacity};
pub(super) use search::Bracket;
pub use search::{Search, SearchStep, Unsearchable};
pub use shape::{Frontier, FrontierPoint, Knee};
pub use step_time::StepTimeLine;
pub use trial::{JudgedObjective, Trial, TrialRequest};
pub use whole::{Sweep, Swept};
