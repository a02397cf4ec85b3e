//! What a verb leaves behind: results in the requested formats, and an exit code.

mod dry_run;
mod formats;
mod lists;
mod place;
mod requested;
mod show;
#[cfg(test)]
mod tests;

pub(super) use self::dry_run::{
    planned_limits, planned_load, planned_requests, planned_server, planned_settings, show_dry_run,
};
pub(super) use self::formats::{AB, FormatArgs, Outputs, RUN, SWEEP};
pub(super) use self::lists::{OwnFiles, RunList};
pub(super) use self::show::{NARROWEST, ShowArgs, WIDEST, advise_repeats, columns, render, render_run};
