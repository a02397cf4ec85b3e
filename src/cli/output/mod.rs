//! What a verb leaves behind: results in the requested formats, and an exit code.

mod dry_run;
mod formats;
mod lists;
mod place;
mod requested;
mod show;
#[cfg(test)]
mod tests;

#[cfg(test)]
pub(super) use self::dry_run::planned_server;
pub(super) use self::dry_run::{DryRun, planned_load, planned_settings};
pub(super) use self::formats::{AB, FormatArgs, Outputs, RUN, SWEEP};
pub(super) use self::show::{NARROWEST, ShowArgs, WIDEST, advise_repeats, columns, render, render_run};
