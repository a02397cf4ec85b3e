//! Many runs, one answer: repeats, sweeps, A/B tests, matrices, comparisons, capacity, predictions, diagnoses.
//!
//! An [`Experiment`] says which run comes next and what the runs mean; [`drive`] has its runs carried out by an
//! [`Executor`], against a server or in virtual time.
//!
//! A [`VirtualRun`] is to the simulator what the runner's run is to a server: the same plan, the same window, drain and
//! cool-down, the same records, in virtual time. It is here, above both the generator and the simulator, because
//! neither may depend on the other.

mod ab;
pub mod capacity;
pub mod compare;
mod diagnosis;
mod difference;
mod driver;
mod engine_fit;
mod fitting;
pub mod matrix;
mod prediction;
mod repeats;
mod seeds;
mod spoiled;
mod stored;
mod sweep;
pub mod tune;
mod virtual_time;

pub use ab::*;
pub use diagnosis::*;
pub use difference::{DifferenceScale, PerGpuTrade};
pub use driver::*;
pub use engine_fit::*;
pub use fitting::*;
pub use prediction::{Prediction, predict, run_virtually};
pub use repeats::*;
pub use seeds::{repeats_of, seed_of_run};
pub use spoiled::InvalidRuns;
pub(crate) use spoiled::caution;
pub use sweep::*;
pub use virtual_time::*;
