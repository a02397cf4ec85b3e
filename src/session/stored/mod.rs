//! What is stored of runs and experiments.

pub(crate) mod pair;
pub(crate) mod save;
