//! What is stored of runs and experiments.

pub(crate) mod foreign;
mod open;
pub(crate) mod pair;
pub(crate) mod repeats;
pub(crate) mod runs;
pub(crate) mod save;

pub(crate) use self::open::{Stored, open};
pub(crate) use self::runs::{StoredRuns, completed};
