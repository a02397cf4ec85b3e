//! When requests arrive: the declared processes, their rates over time, and how they are read from a spec.

pub(super) mod clients;
pub(super) mod gaps;
pub(super) mod pattern;
pub(super) mod rate;
mod read;
pub(super) mod think_time;

pub use clients::{Client, RateSpread};
pub use gaps::{GapFamily, GapForm};
pub use pattern::{ArrivalPattern, RateStage, RateState, Spike};
pub use rate::RateProfile;
pub use think_time::ThinkTime;
