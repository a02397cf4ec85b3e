//! Loads from low to high, and the highest that meets the objectives.
//!
//! A [`Search`] says which run it wants next ([`SearchStep`]), is told what it said ([`Trial`]), and ends with a [`Sweep`]. It
//! has no clock and no files: the same runs, told in the same order, lead to the same end, whether they are flown now
//! against a server, in virtual time, or were kept by a sweep that was interrupted.

mod answer;
mod bracket;
mod curve;
mod demand;
mod experiment;
mod frontier;
mod highest;
mod judge;
mod knee;
mod load;
mod loads;
mod paired;
mod plan;
mod point;
mod read;
mod readings;
mod refine;
mod search;
mod shape;
mod trial;
mod whole;

pub use answer::{HighestLoad, StopReason, Sustained};
pub use demand::Unsearchable;
pub use experiment::{SweepExperiment, SweepRun};
pub use load::Load;
pub use paired::PairedLoad;
pub use plan::{LoadAxis, SweepPlan};
pub use point::{LoadClass, SweepPoint};
pub use read::UnreadableSweep;
pub use readings::PointFigures;
pub use search::{Search, SearchStep};
pub use shape::{Frontier, FrontierPoint, Knee};
pub(super) use trial::OF_SERVERS;
pub use trial::{Judged, Trial, Wanted};
pub use whole::{Sweep, Swept};
