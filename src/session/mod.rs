//! One run, end to end, and what runs and experiments leave on disk: executed, stored, locked, resumed.

pub(crate) mod campaign;
mod collector;
pub(crate) mod command_line;
mod console;
pub(crate) mod datasets;
pub(crate) mod exits;
pub(crate) mod folder;
pub(crate) mod hooks;
mod planned;
pub(crate) mod profiling;
pub(crate) mod run;
pub(crate) mod save;
pub(crate) mod settings;
pub(crate) mod simulated;
pub(crate) mod stored;
pub(crate) mod stored_run;
mod whole_file;

pub(crate) use self::campaign::dir::ExperimentDir;
pub(crate) use self::collector::Collector;
pub(crate) use self::console::{Exit, Interrupts, Printer, Stop, all, both, outlive_file_limits, wait_for_the_end};
pub(crate) use self::datasets::Opened;
pub(crate) use self::planned::{PlannedRun, survey};
pub(crate) use self::whole_file::{try_whole_file, whole_file};
