//! What is stored of runs and experiments.

pub(crate) mod experiments;
pub(crate) mod foreign;
mod open;
pub(crate) mod run;
pub(crate) mod save;

pub(crate) use self::open::{Stored, open};
pub(crate) use self::run::{JudgedRun, open_folder};
