//! Repeats: several runs of one workload with independent seeds, summarised together.
//!
//! Requests inside one run depend on one another, because a queue remembers; whole runs with seeds of their own do not.
//! So one run gives one figure, and the spread of the runs' figures says how sure their mean is: the method of
//! replication and deletion (Law, *Simulation Modeling and Analysis*, 5th edition, section 9.5.2), the warm-up being
//! what is deleted. A bias that every run has, as that of a p99 from few requests, is no part of the spread: longer
//! runs cure it, more of them do not.

mod experiment;
mod figures;
mod judgement;
mod summary;
#[cfg(test)]
mod tests;
mod verdict;

pub use experiment::{RepeatRun, RepeatsExperiment};
pub use judgement::AcrossJudgement;
pub use summary::{NotRepeats, RepeatedRun, Repeats};
