//! What is stored of runs and experiments.

mod audit;
mod compared;
pub(crate) mod experiments;
mod listing;
mod open;

pub(crate) use self::audit::audits;
pub(crate) use self::compared::ComparedResults;
pub(crate) use self::listing::{latest, listed, warn_of_salt};
pub(crate) use self::open::{Stored, await_runs, one_result, open};
