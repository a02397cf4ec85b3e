//! When requests arrive: the declared processes, their rates over time, and how they are read from a spec.

pub(super) mod clients;
pub(super) mod pattern;
pub(super) mod rate;
pub(super) mod scenario;
pub(super) mod stages;
pub(super) mod think_time;

pub use clients::{Client, GapFamily, GapForm, RateSpread};
pub use pattern::ArrivalPattern;
pub use rate::RateProfile;
pub use scenario::Scenario;
pub use stages::{LoadSpike, RateStage, RateState, Spike};
pub use think_time::ThinkTime;
