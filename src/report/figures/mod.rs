//! The figures of a run one by one, for tables and series.

mod accounts;
mod figure;
mod run;
mod sides;

pub(super) use accounts::accounts;
pub(super) use figure::RunFigure;
pub(super) use run::run_figures;
