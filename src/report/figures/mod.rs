//! The figures of a run one by one, for tables and series.

mod run;
mod sides;

pub(super) use run::{RunFigure, run_figures};
pub(super) use sides::together;
