//! What is stored of runs and experiments.

mod audit;
pub(crate) mod experiments;
mod listing;
mod open;

pub(crate) use self::audit::audits;
pub(crate) use self::listing::{latest, listed, warn_of_salt};
pub(crate) use self::open::{Stored, is_there, one_result, only_foreign_run, open};
