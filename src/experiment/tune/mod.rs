//! Tuning: which flags of a server serve most within the objectives, for each accelerator.
//!
//! Variants race against the load that the best of them surely meets: one start and one short run drop most of them.
//! Those that are left run longer, against what is the best then. The runs of a round and a load have the same seed and
//! length, so that variants get the same requests at the same moments. A [`Forecaster`] says which variant to
//! try first; only runs drop one.

mod axes;
mod decision;
mod experiment;
mod file;
mod forecast;
mod history;
mod outlook;
mod predictor;
mod result;
mod state;
#[cfg(test)]
mod tests;

pub use axes::{AxisValue, TuneAxis, TuneCandidate};
pub use decision::TuneDecision;
pub use experiment::{TuneExperiment, TuneRun};
pub use file::TuneSpec;
pub use forecast::TuneForecast;
pub use history::{LOAD_WORDS, TuneTrial};
pub use outlook::{Forecast, Forecaster, Lever, Outlook};
pub use predictor::Predictor;
pub use result::{ForecastScore, Tune, TuneStanding, TuneVariant};
pub use state::{NamedAxis, TuneRuns, TuneStopped};
